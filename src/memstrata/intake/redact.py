"""Redaction: the first step of every write, before a byte is stored. A secret becomes `[REDACTED:kind]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memstrata.errors import SettingsError
from memstrata.intake.passwords import find_passwords
from memstrata.intake.secrets import Span, find_cards, find_ibans, find_secrets
from memstrata.types import Message, Part

Finder = Callable[[str], Iterator[Span]]

FINDERS: Mapping[str, Finder] = {
    "secrets": find_secrets,
    "cards": find_cards,
    "passwords": find_passwords,
    "ibans": find_ibans,
}
DEFAULT = ("secrets", "cards", "passwords")

_MARKER = re.compile(r"\[REDACTED:[a-z0-9_-]{1,64}\]")
_KIND = re.compile(r"[a-z0-9_-]{1,64}")
_ZERO_WIDTH = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
# Full-width forms, and the digits of other scripts, as the ASCII that the patterns are written in; one for one.
_FOLD = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | {0x3000: 0x20}
    | {zero + digit: 0x30 + digit for zero in (0x0660, 0x06F0, 0x0966) for digit in range(10)}
)
# Keys of metadata and tool arguments whose whole value is a secret, matched at the end of the snake-cased key.
_SECRET_KEY = re.compile(
    r"(?:\A|[_\-. ])(?:(?P<passwords>password|passwd|pwd|passphrase|passcode|pin|パスワード|暗証番号|密码|密碼)"
    r"|(?P<secrets>secret|credentials?|authorization|(?:api|access|secret|private|auth|client|refresh|session|bearer|id)"
    r"_?(?:key|token|secret)s?))\Z"
)  # fmt: skip
_KIND_OF_KEY = {"passwords": "password", "secrets": "api_key"}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Redactor:
    """Replaces secrets in texts and messages. Redacting what is redacted changes nothing.

    Args:
        redact: which groups to find, of "secrets" (keys, tokens, private keys, credentials in URLs), "cards",
            "passwords" (labelled ones) and "ibans"; () finds none but the user's own patterns.
        patterns: the user's own, {kind: regular expression}; the whole match is replaced. They see the text with
            zero-width characters removed and full-width letters, digits and signs as ASCII.

    Raises:
        SettingsError: an unknown group, a kind that is not of `a-z 0-9 _ -`, or a pattern that does not compile.

    >>> Redactor().redact("the card is 4111 1111 1111 1111, ok?")
    ('the card is [REDACTED:card], ok?', ('card',))
    """

    def __init__(
        self, redact: Sequence[str] = DEFAULT, patterns: Mapping[str, str | re.Pattern[str]] | None = None
    ) -> None:
        if isinstance(redact, str) or not all(group in FINDERS for group in redact):
            raise SettingsError(f"redact takes a list of {', '.join(FINDERS)}, not {redact!r}")
        self._groups = frozenset(redact)
        self._finders = [FINDERS[group] for group in FINDERS if group in self._groups]
        self._finders += [_finder(kind, pattern) for kind, pattern in (patterns or {}).items()]

    def redact(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The text without its secrets, and the kinds of what was found, in order of appearance."""
        kinds: dict[str, None] = {}
        # What stands beside a replaced secret can be one more, so go on until nothing is found. Each round turns at
        # least one character that was outside a marker into part of one: it ends.
        while spans := self._spans(text):
            pieces, done = [], 0
            for start, end, kind in spans:
                pieces += [text[done:start], f"[REDACTED:{kind}]"]
                kinds[kind] = None
                done = end
            text = "".join([*pieces, text[done:]])
        return text, tuple(kinds)

    def redact_message(self, message: Message) -> Message:
        """The message with its text, name, id, parts and metadata (keys and values, at any depth) redacted; the kinds
        found are added to `redacted`."""
        if not self._finders:
            return message
        kinds: dict[str, None] = dict.fromkeys(message.redacted)

        def clean(text: str) -> str:
            redacted, found = self.redact(text)
            kinds.update(dict.fromkeys(found))
            return redacted

        def clean_or_none(text: str | None) -> str | None:
            return None if text is None else clean(text)

        def clean_value(value: Any, secret: str | None = None) -> Any:
            """`secret` is the kind that the key above promises."""
            if isinstance(value, Mapping):
                return clean_mapping(value)
            if isinstance(value, (list, tuple)):
                return [clean_value(item, secret) for item in value]
            if value is None or isinstance(value, bool):
                return value
            written = value if isinstance(value, str) else str(value)
            if secret is not None and written.strip() and not _MARKER.search(written):
                kinds[secret] = None
                return f"[REDACTED:{secret}]"
            redacted = clean(written)
            return value if redacted == written else redacted

        def clean_mapping(mapping: Mapping[str, Any]) -> dict[str, Any]:
            cleaned: dict[str, Any] = {}
            for key, value in mapping.items():
                name = clean(key)
                twins = 1
                while name in cleaned:  # two secrets used as keys of one mapping
                    twins += 1
                    name = f"{clean(key)} ({twins})"
                cleaned[name] = clean_value(value, self._secret_of_key(key))
            return cleaned

        def clean_part(part: Part) -> Part:
            return Part(part.type, clean_or_none(part.ref), clean_or_none(part.caption), clean_mapping(part.data))

        cleaned = replace(
            message,
            text=clean(message.text),
            name=clean_or_none(message.name),
            id=clean_or_none(message.id),
            parts=tuple(clean_part(part) for part in message.parts),
            metadata=clean_mapping(message.metadata),
        )
        return replace(cleaned, redacted=tuple(kinds))

    def _secret_of_key(self, key: str) -> str | None:
        """The kind of secret that a key such as `api_key` or `dbPassword` holds, when its group is to be redacted."""
        found = _SECRET_KEY.search(_CAMEL.sub("_", key).lower())
        if found is None or found.lastgroup not in self._groups:
            return None
        return _KIND_OF_KEY[found.lastgroup]

    def _spans(self, text: str) -> list[Span]:
        """What to replace: disjoint, in order, never a marker alone."""
        if not self._finders:
            return []
        view, places = _view(text)
        found = [span for finder in self._finders for span in finder(view) if span[1] > span[0]]
        if not found:
            return []
        if places is not None:
            found = [(places[start], places[end - 1] + 1, kind) for start, end, kind in found]
        return _merge(found, [match.span() for match in _MARKER.finditer(text)])


def _view(text: str) -> tuple[str, list[int] | None]:
    """The text as the patterns see it, and the place of each of its characters when some were left out."""
    if text.isascii():
        return text, None
    places = None
    if _ZERO_WIDTH.search(text):
        places = [place for place, char in enumerate(text) if not _ZERO_WIDTH.match(char)]
        text = "".join(text[place] for place in places)
    return text.translate(_FOLD), places


def _merge(spans: list[Span], markers: list[tuple[int, int]]) -> list[Span]:
    """Overlapping spans as one, of the longest one's kind; a span that cuts a marker takes it whole."""
    widened: list[Span] = []
    for start, end, kind in spans:
        touched = [marker for marker in markers if marker[0] < end and start < marker[1]]
        if any(first <= start and end <= last for first, last in touched):
            continue
        begin = min([start, *(first for first, _ in touched)])
        stop = max([end, *(last for _, last in touched)])
        widened.append((begin, stop, kind))
    merged: list[Span] = []
    longest = 0
    for start, end, kind in sorted(widened, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            before = merged[-1]
            if end - start > longest:
                longest, before = end - start, (before[0], before[1], kind)
            merged[-1] = (before[0], max(before[1], end), before[2])
        else:
            longest = end - start
            merged.append((start, end, kind))
    return merged


def _finder(kind: str, pattern: str | re.Pattern[str]) -> Finder:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise SettingsError(f"the redaction kind {kind!r} must be of lower-case letters, digits, _ and -")
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise SettingsError(f"the redaction pattern for {kind!r} does not compile: {error}") from error

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            yield match.start(), match.end(), kind

    return find
