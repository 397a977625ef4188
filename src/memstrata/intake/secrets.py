"""What secrets look like: tables of patterns and the finders that use them. `redact.py` decides what to do with them.

A finder takes the view of a text (full-width forms folded, zero-width characters gone) and yields spans
`(start, end, kind)`. Each begins with a cheap test, so that prose without a long token, a label or 13 digits costs
microseconds. All repeats that can fail late are bounded or start at a boundary: no text makes a pattern quadratic.

Provider tokens come from two places. detect-secrets knows thirteen kinds exactly; its patterns are read from its
detectors' public `denylist` and searched here, since `analyze_string` gives only the first group of some ("glpat" of a
GitLab token). Left out, with the reason: OpenAI (only keys of before 2024), GitHub (no fine-grained tokens), Stripe
(cuts the key after 24 characters), JWT (cuts the signature off), npm (only .npmrc lines), private keys (only the
header line), basic auth (no password with `!` or `$`), Artifactory, IBM and public IP (match plain words and numbers),
keyword and entropy (made for source code). Those that people paste are in `PROVIDER_TOKENS`.
Importing the library takes some 200 ms, so it is imported at the first text that holds a token-like run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from memstrata.text.patterns import regex

Span = tuple[int, int, str]

# Kind -> how the token looks after a boundary. A run is taken to its end, so that nothing of a longer one remains.
PROVIDER_TOKENS: Mapping[str, str] = {
    "anthropic_key": r"sk-ant-[A-Za-z0-9_-]{12,}",
    "openai_key": r"sk-(?=[a-z_-]{0,200}[A-Z0-9]|[a-z]{16})[A-Za-z0-9_-]{16,}|sess-[A-Za-z0-9]{32,}",
    "github_token": r"gh[pousr]_[A-Za-z0-9_]{16,}|github_pat_[A-Za-z0-9_]{20,}",
    "stripe_key": r"[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{16,}",
    "slack_token": r"xox[a-z]-[A-Za-z0-9-]{12,}|xox[a-z]\.xox[a-z]-[A-Za-z0-9-]{12,}|xapp-[A-Za-z0-9-]{16,}",
    "google_key": r"AIza[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}",
    "npm_token": r"npm_[A-Za-z0-9]{30,}",
    "huggingface_token": r"(?:hf|api_org)_[A-Za-z0-9]{20,}",
    "gitlab_token": r"gl[a-z]{2,6}-[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_]{2,}){0,3}",
    "jwt": r"eyJ[A-Za-z0-9_=-]{8,4000}\.[A-Za-z0-9_=-]{4,}(?:\.[A-Za-z0-9_=-]*){0,3}",
    "azure_key": r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,}",
    "api_key": (
        r"(?:gsk|r8|nvapi|pplx|xai|ntn|lin_api|sbp|glsa|glc|dckr_pat|dop_v1|shpat|shpss|shppa|rnd|tvly|fw|AGE-SECRET-KEY)"
        r"[_-][A-Za-z0-9_-]{16,}|hvs\.[A-Za-z0-9_-]{20,}|dapi[0-9a-f]{32}"
    ),
}  # fmt: skip
# detect-secrets' detector -> (module, kind).
LIBRARY_DETECTORS: Mapping[str, tuple[str, str]] = {
    "AWSKeyDetector": ("aws", "aws_key"),
    "AzureStorageKeyDetector": ("azure_storage_key", "azure_key"),
    "CloudantDetector": ("cloudant", "cloudant_key"),
    "DiscordBotTokenDetector": ("discord", "discord_token"),
    "GitLabTokenDetector": ("gitlab_token", "gitlab_token"),
    "MailchimpDetector": ("mailchimp", "mailchimp_key"),
    "PypiTokenDetector": ("pypi_token", "pypi_token"),
    "SendGridDetector": ("sendgrid", "sendgrid_key"),
    "SlackDetector": ("slack", "slack_token"),
    "SoftlayerDetector": ("softlayer", "softlayer_key"),
    "SquareOAuthDetector": ("square_oauth", "square_key"),
    "TelegramBotTokenDetector": ("telegram_token", "telegram_token"),
    "TwilioKeyDetector": ("twilio", "twilio_key"),
}
_TOKEN_RUN = regex(r"[A-Za-z0-9_\-+/=.~:]{16,}")
_LIBRARY_RUN = regex(r"[A-Za-z0-9_+/-]{20,}")  # shorter than any real token that the library knows
_UUID = regex(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PROVIDER = regex(
    "(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in PROVIDER_TOKENS.items()) + ")"
)
_REST_OF_RUN = regex(r"[A-Za-z0-9_=-]*")

_PEM = regex(
    r"-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}"
    r"(?:(?:(?!-{2,5} ?BEGIN).){0,20000}?-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}"
    # Truncated: header fields and base64 lines, as far as they go.
    r"|(?:(?:\s|\\[nr])+(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,100}|[A-Za-z0-9+/=]{16,}))*"
    r"(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{1,64}(?:\.{3}|…)?(?=\s*(?:\Z|\n)))?)",
    re.DOTALL,
)
_PEM_TAIL = regex(r"-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
_BASE64_BEFORE = regex(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{16,}(?:\s+[A-Za-z0-9+/=]+)*\s*\Z")
_PUTTY = regex(
    r"PuTTY-User-Key-File-\d:(?:(?!PuTTY-User).){0,20000}?(?:Private-MAC:\s*[0-9a-fA-F]+|(?=PuTTY-User)|\Z)", re.DOTALL
)

# Only the password goes; who and where stay readable. Up to the last @ before the path.
_URL_PASSWORD = regex(r"(?<=://)[^\s/:@?#\"'<>]{0,128}:([^\s/\"'<>]{1,256})@(?=[A-Za-z0-9\[])")
_URL_QUERY = regex(
    r"[?&;](?:(?:access_|auth_|id_|refresh_)?token|sig|(?:X-Amz-)?signature|secret|passwd|pwd|auth)=([^&\s#\"'<>]{8,})",
    re.I,
)

# A label, what may stand between, and a value.
_QUOTE_AFTER_LABEL = r"[\"'`*\\]{0,4}"
_IS = r"\s*(?:[:=]|:=|=>|\bis(?: now)?\b|\bwas\b|\bare\b)\s*[\"'`*\\]{0,4}"
_API_LABEL = regex(
    r"(?:(?:api|access|secret|private|auth|client|encryption|signing|session|refresh|webhook|master|account|bot|app"
    r"|service|storage|subscription)[ _-]?(?:access[ _-]?)?(?:key|token|secret)|(?<![A-Za-z])(?:token|secret))"
    + _QUOTE_AFTER_LABEL + _IS + r"([A-Za-z0-9_\-+/=.~]{12,})"
    r"|(?:API ?キー|アクセス ?(?:キー|トークン)|シークレット(?:キー)?|トークン|秘密鍵|密钥|密鑰|金鑰|令牌|私钥)"
    r"[^!-~\n。！？]{0,8}[:=\s]{0,3}[\"'`]?([A-Za-z0-9_\-+/=.~]{12,})",
    re.I,
)  # fmt: skip
_LABELLED_RUN = regex(r"[A-Za-z0-9_\-+/=.~]{12,}")  # the least that a labelled key or a bearer token has
_BEARER = regex(
    r"(?i:\bbearer|\bauthorization: ?(?:token|basic)|\bbasic)\s+(?=[a-z\-]{0,200}[A-Z0-9])([A-Za-z0-9._~+/=-]{12,})"
)
_SEED_PHRASE = regex(
    r"(?:seed|recovery|mnemonic|secret|backup) (?:phrase|words)\b[\"']?(?:\s*[:=]|\s+is)\s*[\"']?"
    r"((?:[a-z]{3,8}[ ,]+){11,23}[a-z]{3,8})\b", re.I
)  # fmt: skip
API_CUES = (
    *("key", "token", "secret", "bearer", "basic", "phrase", "words"),
    *("キー", "トークン", "シークレット", "秘密鍵", "密钥", "密鑰", "金鑰", "令牌", "私钥"),
)


@lru_cache(maxsize=1)
def _library_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    import importlib

    found: list[tuple[str, re.Pattern[str]]] = []
    for name, (module, kind) in LIBRARY_DETECTORS.items():
        detector = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)
        found.extend((kind, pattern) for pattern in detector.denylist)
    return tuple(found)


def find_secrets(text: str) -> Iterator[Span]:
    """Keys, tokens, private keys, credentials in URLs, and secrets with a label."""
    if _TOKEN_RUN.search(text):
        yield from _provider_tokens(text)
    if "://" in text:
        yield from _groups(_URL_PASSWORD, text, "url_credentials")
        yield from _groups(_URL_QUERY, text, "url_credentials")
    if "PRIVATE KEY" in text or "PuTTY" in text:
        yield from _private_keys(text)
    lowered = text.lower()
    if not any(cue in lowered for cue in API_CUES):
        return
    yield from _groups(_SEED_PHRASE, text, "seed_phrase")
    if _LABELLED_RUN.search(text):
        yield from (span for span in _groups(_API_LABEL, text, "api_key") if _is_random(text[span[0] : span[1]]))
        yield from _groups(_BEARER, text, "bearer_token")


def _provider_tokens(text: str) -> Iterator[Span]:
    for match in _PROVIDER.finditer(text):
        yield match.start(), match.end(), str(match.lastgroup)
    if any(not _UUID.fullmatch(run.group()) for run in _LIBRARY_RUN.finditer(text)):
        for kind, pattern in _library_patterns():
            for match in pattern.finditer(text):
                start = match.start()
                if start and text[start].isalnum() and text[start - 1].isascii() and text[start - 1].isalnum():
                    continue  # in the middle of a longer run, such as base64 of a picture
                rest = _REST_OF_RUN.match(text, match.end())
                yield start, rest.end() if rest else match.end(), kind


def _private_keys(text: str) -> Iterator[Span]:
    covered = 0
    for match in _PEM.finditer(text):
        covered = match.end()
        yield match.start(), match.end(), "private_key"
    for match in _PEM_TAIL.finditer(text, covered):
        from_ = max(covered, match.start() - 8000)
        before = _BASE64_BEFORE.search(text[from_ : match.start()])
        covered = match.end()
        yield (from_ + before.start() if before else match.start()), match.end(), "private_key"
    for match in _PUTTY.finditer(text):
        yield match.start(), match.end(), "private_key"


def _groups(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[Span]:
    """The spans of whichever group matched."""
    for match in pattern.finditer(text):
        if match.lastindex:
            yield match.start(match.lastindex), match.end(match.lastindex), kind


def _is_random(value: str) -> bool:
    """Letters and digits mixed, as keys are and words are not."""
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


# Card numbers: prefix and length of the networks (ISO/IEC 7812), then Luhn. Prefixes keep order numbers, epochs and
# snowflake ids out, of which one in ten passes Luhn by chance.
_CARD_RUN = regex(r"(?<![A-Za-z0-9_+])(?<![0-9][.,])[0-9](?:[\s\-‐-―]{0,2}[0-9]){12,}(?![A-Za-z0-9_])")
_CARD_GROUP = regex(r"[0-9]+")
_CARD_SHAPE = regex(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"  # Visa
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720|220[0-4])[0-9]{12}"  # Mastercard, Mir
    r"|3[47][0-9]{13}"  # American Express
    r"|3(?:0[0-59]|[689][0-9])[0-9]{11,16}"  # Diners
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12,15}"  # JCB
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2}|62[0-9]{2}|60[0-9]{2}|8[12][0-9]{2})[0-9]{12,15}"  # Discover, UnionPay, RuPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])[0-9]{9,15}"  # Maestro
)
_AMEX_GROUPS, _DINERS_GROUPS = [4, 6, 5], [4, 6, 4]


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B).

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def find_cards(text: str) -> Iterator[Span]:
    """Card numbers of 13 to 19 digits, whole or in the groups that cards print, with spaces or dashes."""
    for run in _CARD_RUN.finditer(text):
        groups = [(match.start(), match.end()) for match in _CARD_GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1], "card"
                first = last
            first += 1


def _card_from(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """The last group of the longest card that begins with group `first`."""
    digits = ""
    found = None
    for last in range(first, len(groups)):
        digits += text[groups[last][0] : groups[last][1]]
        if len(digits) > 19:
            break
        if not _CARD_SHAPE.fullmatch(digits) or not luhn(digits):
            continue
        lengths = [end - start for start, end in groups[first : last + 1]]
        even = len(set(lengths[:-1])) <= 1 and lengths[-1] <= lengths[0]
        if even or lengths in (_AMEX_GROUPS, _DINERS_GROUPS):
            found = last
    return found


_IBAN = regex(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")


def find_ibans(text: str) -> Iterator[Span]:
    """International bank account numbers whose check digits are right (ISO 13616, mod 97)."""
    for match in _IBAN.finditer(text):
        compact = match.group().replace(" ", "")
        if int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1:
            yield match.start(), match.end(), "iban"
