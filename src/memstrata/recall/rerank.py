"""The best hits read again by a reranker, which then orders them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from memstrata.errors import RerankerError
from memstrata.recall.recall import Found
from memstrata.recall.request import Ask
from memstrata.types import Hit, Leg

if TYPE_CHECKING:
    from memstrata.rerank.base import Reranker

log = logging.getLogger("memstrata")
LEG = "reranker"


async def reranked(reranker: Reranker, look: Callable[[Ask], Awaitable[Found]], ask: Ask, most: int) -> Found:
    """The page of hits that was asked for, after a reranker has put the best `most` hits of the query in its order.

    Its score becomes the score of a hit, and one of its legs; hits beyond the best follow in recall's own order. When
    it fails, recall's own order stays, and `without` says so.
    """
    end = ask.offset + ask.k
    found = await look(replace(ask, offset=0, k=max(most, end), min_score=0.0))
    hits, order = list(found.hits), list(range(len(found.hits)))
    without: tuple[str, ...] = ()
    try:
        scores = await reranker.score(ask.query, [hit.text for hit in hits[:most]])
    except RerankerError as error:
        log.warning("recall goes on without its reranker: %s", error)
        without = (f"reranker: {error}",)
    else:
        best = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        hits[: len(best)] = [_read(found.hits[n], scores[n], rank) for rank, n in enumerate(best, 1)]
        order[: len(best)] = best
    kept = [n for n, hit in enumerate(hits) if hit.score >= ask.min_score]
    page = kept[ask.offset : end]
    is_more = len(kept) > end or (len(kept) == end and found.next_offset is not None)
    return Found(
        tuple(hits[n] for n in page), tuple(found.warm[order[n]] for n in page), end if is_more else None, without
    )


def _read(hit: Hit, score: float, rank: int) -> Hit:
    legs = (Leg(LEG, score, rank), *hit.legs)
    return replace(hit, score=score, legs=legs, reason=f"{LEG} {score:.2f} (rank {rank}); {hit.reason}")
