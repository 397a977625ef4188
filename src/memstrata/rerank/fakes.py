"""A reranker that needs no model, for tests: ours, and those of programs that use memstrata."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memstrata.errors import ClosedError
from memstrata.rerank.base import sound
from memstrata.text.tokens import content_words


def word_overlap(query: str, text: str) -> float:
    """The share of the query's content words that the text has."""
    asked = set(content_words(query))
    return len(asked & set(content_words(text))) / len(asked) if asked else 0.0


class ScriptedReranker:
    """Scores by a function of query and text: by default the share of the query's words that the text has.

    >>> import asyncio
    >>> asyncio.run(ScriptedReranker().score("green tea", ["I drink green tea.", "I drink coffee."]))
    [1.0, 0.0]
    """

    def __init__(self, script: Callable[[str, str], float] = word_overlap, *, name: str = "scripted") -> None:
        self.name = f"fake:{name}"
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._script = script
        self._closed = False

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.score`."""
        if self._closed:
            raise ClosedError("this reranker is closed")
        self.asked.append((query, tuple(texts)))
        return sound([self._script(query, text) for text in texts], texts, self.name)

    async def close(self) -> None:
        """See `Reranker.close`."""
        self._closed = True
