"""What a string may hold: the checks that ids, names and texts share. Each returns the fault in words, or None."""

from __future__ import annotations

from memstrata.text.patterns import regex

MAX_ID_CHARS = 256

_UNSTORABLE = regex(r"[\x00\ud800-\udfff]")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def fault_in_text(text: str) -> str | None:
    """The first character that no UTF-8 database column takes: a null byte or a lone surrogate.

    >>> fault_in_text("a\\x00b")
    'has a null byte at character 1: remove it (is this binary data?)'
    """
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    if found.group() == "\x00":
        return f"has a null byte at character {found.start()}: remove it (is this binary data?)"
    return f"has the lone surrogate U+{ord(found.group()):04X} at character {found.start()}: decode the text as UTF-8"


def fault_in_id(value: object) -> str | None:
    """Why a value cannot be an id or a name: 1 to 256 characters, not only white space, no control characters.

    Everything else is allowed (`%`, `_`, `.`, `:`, `/`): ids are only ever compared for equality.

    >>> fault_in_id(7)
    "must be a string, not int: pass str(id), for example '7'"
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return f"must be a string, not {type(value).__name__}"
    if isinstance(value, int):
        return f"must be a string, not int: pass str(id), for example '{value}'"
    if not value or value.isspace():
        return "is empty: pass at least one character, or leave it out"
    if len(value) > MAX_ID_CHARS:
        return f"has {len(value)} characters: the limit is {MAX_ID_CHARS}; pass a hash or a shorter id"
    found = _CONTROL.search(value)
    if found is not None:
        return f"has the control character or surrogate U+{ord(found.group()):04X} at character {found.start()}"
    return None
