"""From a query to a page of hits: words that a model adds, recall's own look, a reranker's second one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from memstrata.engine import Engine
from memstrata.recall.recall import Found, look
from memstrata.recall.request import Ask, cursor_of
from memstrata.recall.rerank import reranked
from memstrata.types import Recall, Scope


async def find(engine: Engine, scope: Scope, ask: Ask, *, caller: Scope | None = None) -> Found:
    """The hits of one page, and what they touch. Models are asked only where they are set; none is needed.

    `caller` is whose call it is, where that is another session than the one left out of the search: it pays.
    """
    without: tuple[str, ...] = ()
    if engine.settings.rewrite and engine.llm is not None:
        from memstrata.recall.rewrite import rewritten

        ask, without = await rewritten(engine, caller or scope, ask)
    if engine.reranker is None or ask.offset >= engine.settings.reranked:
        return replace(await look(engine, scope, ask), without=without)
    found = await reranked(engine.reranker, partial(look, engine, scope), ask, engine.settings.reranked)
    return replace(found, without=(*without, *found.without))


async def recall(engine: Engine, scope: Scope, ask: Ask) -> tuple[Recall, Found]:
    """The hits as they are given to the caller, and what they touch."""
    found = await find(engine, scope, ask)
    return Recall(ask.query, found.hits, cursor_of(found.next_offset, ask.digest), found.without), found
