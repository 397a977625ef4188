"""Keywords of a text."""

from __future__ import annotations

from memstrata.text.tokens import content_words


def keywords(text: str, *, limit: int = 8) -> tuple[str, ...]:
    """Content words of a text."""
    return tuple(dict.fromkeys(content_words(text)))[:limit]
