"""Named things in a text."""

from __future__ import annotations

from memstrata.text.tokens import normalise


def names(text: str, *, speaker: str | None = None) -> tuple[str, ...]:
    """Surface forms of named things."""
    return ()


def name_key(name: str) -> str:
    """A name normalised for equality."""
    return normalise(name)
