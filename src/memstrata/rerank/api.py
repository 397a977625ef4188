"""A reranker behind an HTTP API of the common shape."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memstrata.embed.base import require
from memstrata.errors import ClosedError, RerankerError
from memstrata.rerank.base import sound

if TYPE_CHECKING:
    import httpx

KEY = "RERANKER_API_KEY"
TIMEOUT_SECONDS = 10.0
RETRIES = 2  # of a connection that could not be made


class ApiReranker:
    """Implements `Reranker`: POST {model, query, documents} (and `texts`, as text-embeddings-inference calls them).

    The answer is {"results": [{"index", "relevance_score"}]}, as of Cohere, Jina, Voyage and vLLM, or the bare list
    with "score", as of text-embeddings-inference. The key is read from the environment and kept nowhere else.
    """

    def __init__(self, model: str, url: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        require("httpx", "a reranker behind an API", "rerank")
        self.name = f"api:{model}"
        self._asked, self._url, self._timeout = model, url, timeout
        self._client: httpx.AsyncClient | None = None
        self._closed = False

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.score`."""
        if self._closed:
            raise ClosedError("this reranker is closed")
        if not texts:
            return []
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout, transport=httpx.AsyncHTTPTransport(retries=RETRIES))
        key = os.environ.get(KEY)
        body = {"model": self._asked, "query": query, "documents": [*texts], "texts": [*texts], "top_n": len(texts)}
        try:
            answer = await self._client.post(
                self._url, json=body, headers={"Authorization": f"Bearer {key}"} if key else {}
            )
            answer.raise_for_status()
            found = answer.json()
        except httpx.HTTPStatusError as error:
            raise RerankerError(f"{self.name}: {self._url} answered {error.response.status_code}") from error
        except (httpx.HTTPError, ValueError) as error:
            raise RerankerError(f"{self.name}: {type(error).__name__}: {error}") from error
        return sound(self._scores(found, len(texts)), texts, self.name)

    def _scores(self, found: Any, count: int) -> list[float]:
        """The scores in the order of the texts, whatever order the answer has."""
        rows: Any = found.get("results", found.get("data")) if isinstance(found, dict) else found
        scores: dict[int, float] = {}
        try:
            for row in rows:
                scores[int(row["index"])] = float(row["relevance_score"] if "relevance_score" in row else row["score"])
        except (TypeError, KeyError, ValueError) as error:
            raise RerankerError(f"{self.name}: an answer without index and relevance_score: {found!r:.200}") from error
        if sorted(scores) != list(range(count)):
            raise RerankerError(f"{self.name}: scores for texts {sorted(scores)}, asked for {count}")
        return [scores[n] for n in range(count)]

    async def close(self) -> None:
        """See `Reranker.close`."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
