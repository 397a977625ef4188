"""Secrets go, prose stays. Every secret is made up; tokens are put together so that no scanner takes them for one."""

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memstrata.errors import SettingsError
from memstrata.intake.redact import Redactor
from memstrata.intake.secrets import PROVIDER_TOKENS, _library_patterns, luhn
from memstrata.types import Message, Part

REDACTOR = Redactor()
RUN = "abcdefghijKLMNOPQRST0123456789abcdefghijKLMN"
PEM = "PRIVATE " + "KEY-----"

TOKENS = [
    ("sk-" + RUN[:40], "openai_key"),
    ("sk-proj-" + RUN, "openai_key"),
    ("sk-ant-api03-" + RUN, "anthropic_key"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "aws_key"),
    ("ghp_" + RUN[:36], "github_token"),
    ("github_pat_11ABCDEFG0" + RUN, "github_token"),
    ("glpat-" + RUN[:20], "gitlab_token"),
    ("xoxb-1234567890-1234567890-" + RUN[:24], "slack_token"),
    ("sk_live_" + RUN, "stripe_key"),
    ("AIza" + RUN[:35], "google_key"),
    ("npm_" + RUN[:36], "npm_token"),
    ("pypi-AgEIcHlwaS5vcmc" + RUN * 2, "pypi_token"),
    ("hf_" + RUN[:34], "huggingface_token"),
    ("123456789:" + RUN[:35], "telegram_token"),
    ("SG." + RUN[:22] + "." + RUN[:43], "sendgrid_key"),
    ("SK" + "0123456789abcdef" * 2, "twilio_key"),
    ("AccountKey=" + RUN * 2, "azure_key"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "jwt"),
]
CARDS = [
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "5555555555554444",
    "2223003122003222",
    "3782 822463 10005",
    "3056 930902 5904",
    "6011111111111117",
    "3530111333300000",
    "6200000000000005",
    "４１１１１１１１１１１１１１１１",
    "4222222222222",
]
SAID = [
    # text, the secret in it, kind
    ("password: hunter2", "hunter2", "password"),
    ("my password is hunter2.", "hunter2", "password"),
    ("My password is swordfish.", "swordfish", "password"),
    ("log in with password=swordfish&next=1", "swordfish", "password"),
    ("the wifi password for the guest network is Blue-42-Sky", "Blue-42-Sky", "password"),
    ("I use password hunter2 there", "hunter2", "password"),
    ('{"password": "correct horse"}', "correct horse", "password"),
    ("DB_PASSWORD=s3cr3t", "s3cr3t", "password"),
    ("pwd: letmein", "letmein", "password"),
    ("my pin is 4821", "4821", "password"),
    ("パスワードは hunter2 です", "hunter2", "password"),
    ("パスワード：swordfish", "swordfish", "password"),
    ("暗証番号は4821です", "4821", "password"),
    ("パスワードを hunter2 に変更した", "hunter2", "password"),
    ("我的密码是abc123", "abc123", "password"),
    ("密码：qwerty", "qwerty", "password"),
    ("密碼是「天王蓋地虎」", "天王蓋地虎", "password"),
    ("my password is p\u200bass\u200bw0rd!", "w0rd", "password"),
    ("api key: abcd1234efgh5678", "abcd1234efgh5678", "api_key"),
    ("APIキーは abcd1234efgh5678 です", "abcd1234efgh5678", "api_key"),
    ("aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG", "api_key"),
    ("Authorization: Bearer abcdef123456ABCDEF", "abcdef123456ABCDEF", "bearer_token"),
    ("https://user:p@ss!$@host/x", "p@ss!$", "url_credentials"),
    ("postgres://u:pw@db/x", "pw@", "url_credentials"),
    ("https://x.test/?access_token=abcdefgh1234", "abcdefgh1234", "url_credentials"),
    (f"-----BEGIN RSA {PEM}\nMIIEabcdefghijklmnop\nabcd==\n-----END RSA {PEM}", "MIIE", "private_key"),
    (f"here: -----BEGIN {PEM}\nMIIEabcdefghijklmnop\nabcdefghijklmnop12\nabc==\n\nthanks", "abc==", "private_key"),
    (f"-----BEGIN {PEM}\\nMIIEabcdefghijklmnop\\nabcdefghijklmnop12", "abcdefghijklmnop12", "private_key"),
    (f"MIIEabcdefghijklmnop\nabc==\n-----END RSA {PEM}", "MIIE", "private_key"),
    ("seed phrase: " + "apple banana cherry " * 4, "banana", "seed_phrase"),
]
CLEAN = """the password reset page
I forgot my password: what should I do?
my password is wrong
password is required
The password is too short, it must be 8 characters
password: 8-16 characters
The password is not working
I changed my password to something better
the passcode for the lock is on the fridge
a password manager is a good idea
order 1234567890123456
order no. 4111111111111112
on 2023-05-08 at 12:30
call +1 415 555 2671 or +49 151 23456789 or 090-1234-5678
550e8400-e29b-41d4-a716-446655440000
commit 0b6f1b4f9c2a7d8e6b5a4c3d2e1f0a9b8c7d6e5f
ISBN 978-3-16-148410-0
9783161484100
the key to happiness is responsibility
パスワードはGoogleのものです
パスワードを忘れました
密码忘记了
密码是6位数字
密码2023年更新
passed: true
the token is a word
secret: nobody knows
my API key is not working anymore
basic understanding of networks
Bearer of bad news-and-responsibilities
https://example.com/my-very-long-blog-post-about-things?id=12345678901234
mail me at ana.silva@example.com
Years 2023 2024 2025 2026
1683547200000 and 1683547200000000 and 1683547200000000000
1111 2222 3333 4444
4111 Maple Street, 94103
http://localhost:8080/@user/repo
先月アナと猫二匹と一緒にポルトに引っ越しました。
上个月我和安娜带着两只猫搬到了波尔图。""".splitlines()


@pytest.mark.parametrize(("token", "kind"), TOKENS, ids=[kind for _, kind in TOKENS])
@pytest.mark.parametrize("around", ["{}", "use {}, please", "鍵は{}です", "密钥是{}。", "x={}\n", '"{}"'])
def test_tokens_go_whole(token: str, kind: str, around: str) -> None:
    text, kinds = REDACTOR.redact(around.format(token))
    assert token[-8:] not in text
    assert token[4:] not in text
    assert kinds == (kind,)


@pytest.mark.parametrize("token", [token for token, _ in TOKENS])
def test_tokens_cut_by_zero_width_characters_go_too(token: str) -> None:
    text, kinds = REDACTOR.redact(f"use {token[:6]}\u200b{token[6:9]}\ufeff{token[9:]} now")
    assert text == f"use [REDACTED:{kinds[0]}] now"


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("around", ["{}", "card {} 12/26 123", "番号は{}です", "卡号{}。", "2 cards: {}"])
def test_cards_go(card: str, around: str) -> None:
    text, kinds = REDACTOR.redact(around.format(card))
    assert text == around.format("[REDACTED:card]")
    assert kinds == ("card",)


@pytest.mark.parametrize(("text", "secret", "kind"), SAID)
def test_labelled_secrets_go(text: str, secret: str, kind: str) -> None:
    redacted, kinds = REDACTOR.redact(text)
    assert secret not in redacted
    assert kinds == (kind,)
    assert REDACTOR.redact(redacted) == (redacted, ())


@pytest.mark.parametrize("text", CLEAN)
def test_prose_and_numbers_stay(text: str) -> None:
    assert REDACTOR.redact(text) == (text, ())


def test_the_rest_of_the_text_stays() -> None:
    text, kinds = REDACTOR.redact(
        f"Hi Ana! my password is hunter2, card 4111 1111 1111 1111, key {TOKENS[0][0]}. 終わり"
    )
    assert text == (
        "Hi Ana! my password is [REDACTED:password], card [REDACTED:card], key [REDACTED:openai_key]. 終わり"
    )
    assert set(kinds) == {"password", "card", "openai_key"}


@given(st.from_regex("4[0-9]{14}", fullmatch=True))
def test_of_ten_last_digits_one_makes_a_card(body: str) -> None:
    found = [digit for digit in "0123456789" if luhn(body + digit)]
    assert len(found) == 1
    for digit in "0123456789":
        assert REDACTOR.redact(body + digit)[1] == (("card",) if digit == found[0] else ())


ALPHABET = st.sampled_from(
    [token for token, _ in TOKENS]
    + CARDS
    + [text for text, _, _ in SAID]
    + CLEAN
    + [
        "password",
        "password is ",
        ": ",
        "=",
        "[REDACTED:card]",
        "[REDACTED:",
        "]",
        "'",
        '"',
        " ",
        "\n",
        "\u200b",
        "://",
    ]
    + ["パスワードは", "密码是", "4111", "1111", "-", "@", "sk-", "a1b2c3d4"]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(ALPHABET | st.text(max_size=5), max_size=6).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once, _ = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == (once, ())


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
@pytest.mark.parametrize("kind", PROVIDER_TOKENS)
def test_whatever_a_provider_pattern_makes_goes(kind: str, data: st.DataObject) -> None:
    token = data.draw(
        st.from_regex(PROVIDER_TOKENS[kind].replace("(?=[a-z_-]{0,200}[A-Z0-9]|[a-z]{16})", "A1"), fullmatch=True)
    )
    text, kinds = REDACTOR.redact(f"it is {token}, yes")
    assert kinds
    assert token not in text


PRINTABLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
LIBRARY = [
    pattern for _, pattern in _library_patterns() if "(?!" not in pattern.pattern and "(?<" not in pattern.pattern
]


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
@pytest.mark.parametrize("pattern", LIBRARY, ids=lambda pattern: pattern.pattern[:24])
def test_nothing_the_library_knows_is_left(pattern: re.Pattern[str], data: st.DataObject) -> None:
    token = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=PRINTABLE))
    assume(re.search(r"[A-Za-z0-9_+/-]{20,}", token))  # the pattern also makes shorter ones, which no provider does
    text, kinds = REDACTOR.redact(f"it is {token} yes")
    assert kinds
    assert not pattern.search(text)


def test_groups_can_be_chosen() -> None:
    text = f"password: hunter2, 4111111111111111, {TOKENS[0][0]}, DE89 3704 0044 0532 0130 00"
    assert Redactor(()).redact(text) == (text, ())
    assert Redactor(("cards",)).redact(text)[1] == ("card",)
    assert Redactor(("passwords",)).redact(text)[1] == ("password",)
    assert Redactor(("secrets",)).redact(text)[1] == ("openai_key",)
    assert Redactor(("ibans",)).redact(text)[1] == ("iban",)
    assert Redactor(("ibans",)).redact("DE88 3704 0044 0532 0130 00")[1] == ()


def test_own_patterns() -> None:
    redactor = Redactor((), {"staff": r"EMP-\d{4}"})
    assert redactor.redact("ask EMP-1234 or ＥＭＰ-５６７８, password: hunter2") == (
        "ask [REDACTED:staff] or [REDACTED:staff], password: hunter2",
        ("staff",),
    )
    greedy = Redactor((), {"all": ".+"})
    assert greedy.redact("a b [REDACTED:card] c") == ("[REDACTED:all]", ("all",))
    assert greedy.redact("[REDACTED:all]") == ("[REDACTED:all]", ())


@pytest.mark.parametrize(
    ("redact", "patterns"),
    [("secrets", None), (("secret",), None), ((), {"x": "("}), ((), {"Upper": "a"}), ((), {"": "a"}), ((), {"x": 3})],
)
def test_bad_settings(redact: object, patterns: object) -> None:
    with pytest.raises(SettingsError):
        Redactor(redact, patterns)  # type: ignore[arg-type]


def test_every_field_of_a_message() -> None:
    token = TOKENS[0][0]
    message = Message(
        role="user",
        text=f"it is {token}",
        name=f"Ana {token}",
        id=token,
        parts=(
            Part("image", f"https://u:hunter2@host/{token}", f"shows {token}", {"sha256": "0" * 64, "size": 3}),
            Part("tool_call", "c1", None, {"name": "login", "arguments": {"password": "hunter2", "n": [1, token]}}),
        ),
        metadata={
            token: 1,
            TOKENS[1][0]: 2,
            "deep": [{"note": f"x {token}"}],
            "apiKey": "plain",
            "db_password": 12345,
            "card": 4111111111111111,
            "tokens": 23,
            "ok": True,
            "none": None,
            "ratio": 0.5,
        },
    )
    redacted = REDACTOR.redact_message(message)
    assert token not in repr(redacted)
    assert "hunter2" not in repr(redacted)
    assert redacted.metadata == {
        "[REDACTED:openai_key]": 1,
        "[REDACTED:openai_key] (2)": 2,
        "deep": [{"note": "x [REDACTED:openai_key]"}],
        "apiKey": "[REDACTED:api_key]",
        "db_password": "[REDACTED:password]",
        "card": "[REDACTED:card]",
        "tokens": 23,
        "ok": True,
        "none": None,
        "ratio": 0.5,
    }
    assert redacted.parts[0].data == {"sha256": "0" * 64, "size": 3}
    assert set(redacted.redacted) == {"openai_key", "url_credentials", "password", "api_key", "card"}
    again = REDACTOR.redact_message(redacted)
    assert again == redacted
    assert message.text == f"it is {token}"


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "-eyJ", "-sk-", "1 ", "4", "://a:", "xoxb-", "bearer ", "api_key=", "4111 1111 1111 1111 "),
        *("password ", "password: ", "password '", "パスワード", "密码是", "\u200b1", "PuTTY-User-Key-File-2:"),
        *(f"-----BEGIN {PEM}\n", f"-----END {PEM}\n"),
    ],
)
def test_long_repetitive_text_is_read_to_its_end(piece: str) -> None:
    redacted, _ = REDACTOR.redact(piece * (100_000 // len(piece)))  # a pattern that backtracked would take minutes here
    assert REDACTOR.redact(redacted)[0] == redacted
