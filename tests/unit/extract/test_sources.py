from collections.abc import Callable

import pytest

from memstrata.extract.sources import echoes, reports_own_act, source_text
from memstrata.types import Turn

Make = Callable[..., Turn]


def test_a_users_words_are_a_source(turn: Make) -> None:
    assert source_text(turn("I moved to Porto."), ()) == ("I moved to Porto.", None)


@pytest.mark.parametrize(
    "fields, rule",
    [
        ({"role": "system"}, "system"),
        ({"role": "user", "trust": "system"}, "system"),
        ({"role": "assistant", "is_source": False}, "tool_call"),
        ({"role": "tool"}, "quarantined"),
        ({"role": "user", "trust": "web"}, "quarantined"),
        ({"role": "tool", "trust": "import"}, "tool"),
    ],
)
def test_who_is_never_a_source(turn: Make, fields: dict[str, object], rule: str) -> None:
    assert source_text(turn("Ana lives in Porto.", **fields), ()) == (None, rule)


@pytest.mark.parametrize(
    "text", ["I've booked your flight.", "飛行機を予約しました。", "我已经预订了酒店。", "我已为您发送邮件。"]
)
def test_an_assistant_is_believed_about_its_own_act(turn: Make, text: str) -> None:
    assert source_text(turn(text, role="assistant"), ()) == (text, None)


@pytest.mark.parametrize(
    "text", ["You live in Porto.", "I could have booked it.", "東京に住んでいますね。", "你住在北京。"]
)
def test_other_statements_of_an_assistant_need_the_users_word(turn: Make, text: str) -> None:
    said = turn(text, 1, role="assistant")
    assert source_text(said, ()) == (None, "unconfirmed")
    assert source_text(said, (), after=[turn("No, that's wrong.", 2)]) == (None, "unconfirmed")
    for yes in ("Yes, that's right.", "はい、その通りです。", "是的。"):
        assert source_text(said, (), after=[turn(yes, 2)]) == (text, None)


def test_an_own_act_is_kept_from_a_longer_answer(turn: Make) -> None:
    said = turn("Lisbon is sunny in May. I've booked your flight.", role="assistant")
    assert source_text(said, ()) == ("I've booked your flight.", "unconfirmed")


def test_an_assistants_echo_is_cut_and_the_user_saying_it_again_is_evidence(turn: Make) -> None:
    served = ["Moved to Porto in May"]
    text = "I've noted you moved to Porto in May."
    assert source_text(turn(text, role="assistant"), served) == (None, "echo")
    assert source_text(turn("I moved to Porto in May."), served) == ("I moved to Porto in May.", None)


def test_an_echo_needs_four_fifths_of_the_words() -> None:
    assert echoes("a b c d x", ["a b c d e"])
    assert not echoes("a b c x y", ["a b c d e"])
    assert echoes("你住在北京朝阳区吧", ["你住在北京朝阳区"])


def test_an_echo_over_two_sentences_is_found(turn: Make) -> None:
    served = ["Ana adopted two grey cats. She calls them Miso and Tofu."]
    said = turn("Ana adopted two grey cats. She calls them Miso and Tofu. I've ordered food.", role="assistant")
    assert source_text(said, served) == ("I've ordered food.", "echo")


@pytest.mark.parametrize("end", ["</memstrata-context>", ""])
def test_a_served_block_is_cut_closed_or_not(turn: Make, end: str) -> None:
    text = f'I moved to Porto. <memstrata-context id="1">\nAna lives in Braga.\n{end}'
    assert source_text(turn(text), ()) == ("I moved to Porto.", "echo")
    block = f"<memstrata-context>Ana lives in Braga.{end}"
    assert source_text(turn(block), ()) == (None, "echo")


def test_served_texts_pasted_as_a_list_are_cut_from_a_prompt(turn: Make) -> None:
    text = "Relevant memories:\n- Ana lives in Braga\n- Ana loves tea\nWhat should I cook for Ana's party?"
    left, rule = source_text(turn(text), ["Ana lives in Braga", "Ana loves tea"])
    assert rule == "echo"
    assert left == "What should I cook for Ana's party?"


def test_only_placeholders_is_secret_only(turn: Make) -> None:
    assert source_text(turn("[REDACTED:api_key] [REDACTED:card]."), ()) == (None, "secret_only")
    kept = "My locker has [REDACTED:password] on it."
    assert source_text(turn(kept), ()) == (kept, None)


@pytest.mark.parametrize(
    "text, rule",
    [
        ("HEARTBEAT_OK", "heartbeat"),
        ("ping", "heartbeat"),
        ("Read HEARTBEAT.md if it exists and follow it.", "heartbeat"),
        ("Session started", "boilerplate"),
        ("2026-01-02T03:04:05Z INFO gateway connected", "boilerplate"),
        ("tick\ntick\ntick", "boilerplate"),
    ],
)
def test_machine_text(turn: Make, text: str, rule: str) -> None:
    assert source_text(turn(text), ()) == (None, rule)


def test_code_is_not_what_somebody_says(turn: Make) -> None:
    assert source_text(turn("I use Rust. ```\nlet me = 1;\n```"), ()) == ("I use Rust.", None)


@pytest.mark.parametrize(
    "text, own",
    [
        ("I have issued a refund of 249 euros.", True),
        ("I've opened ticket T-77 for you.", True),
        ("I just sent the invoice.", True),
        ("We have shipped your order.", True),
        ("請求書を発行しておきました。", True),
        ("会議室を押さえました。", True),
        ("我已经开了工单。", True),
        ("已为您办理退款。", True),
        ("I've always thought so.", False),
        ("I have heard it rains.", False),
        ("I have noted that you live in Porto.", False),
        ("I have updated my notes that you live in Porto.", False),
        ("I have limited knowledge.", False),
        ("あなたは家を買いました。", False),
        ("興味深い話を聞きました。", False),
        ("你已经搬家了。", False),
        ("我刚刚看到你的消息。", False),
        ("我已经知道你住在北京。", False),
    ],
)
def test_an_own_act_is_told_by_its_form_not_by_a_list(text: str, own: bool) -> None:
    assert reports_own_act(text) is own
