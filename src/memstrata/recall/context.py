"""Context: what goes before a model, within a token budget.

The text is a fenced block of what was remembered (page summaries, then recalled memories, each with its mark), and
after it the last turns of the conversation, which stand outside the fence. Budget: the last turns take what they need
up to half of it, page summaries come next, then recalled memories by score; what is left goes to older last turns.
A turn, summary or memory that does not fit is left out, never cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar, cast

from memstrata.engine import Engine
from memstrata.errors import InputError
from memstrata.intake.scope import scope_of_owner
from memstrata.intake.times import parse_time, zone
from memstrata.recall.find import find
from memstrata.recall.material import (
    Material,
    PageText,
    Place,
    pages_of_places,
    place_of,
    promoted_pages,
    session_pages,
    session_turns,
    transcript,
    turns_in_session,
)
from memstrata.recall.recall import Found
from memstrata.recall.render import Frame, context_id, hit_line, turn_line, words_of
from memstrata.recall.request import clean_query, make_ask
from memstrata.recall.tokens import count_tokens, load_tokenizer
from memstrata.store.base import Db
from memstrata.store.read import key_of
from memstrata.store.rows import evidence_of
from memstrata.types import Context, ContextStrategy, Hit, Scope, Turn

T = TypeVar("T")

STRATEGIES: tuple[ContextStrategy, ...] = ("hybrid", "window", "summary", "retrieval", "full")
HOT: tuple[ContextStrategy, ...] = ("hybrid", "window")  # what they show depends on no budget: the hot tier keeps it
RECALLING = ("hybrid", "retrieval")
TURN_TOKENS = 8  # no turn takes fewer: a speaker, a date and a time
PAGE_TOKENS = 14  # no page summary takes fewer: a mark, a date and "(page)"


async def make_context(
    engine: Engine,
    scope: Scope,
    query: str,
    *,
    max_tokens: int,
    strategy: ContextStrategy,
    k: int,
    now: datetime | str | None,
    tz: str | None,
) -> tuple[Context, Found | None]:
    """The context of a query, and what of it was recalled (None for strategies that recall nothing).

    Only what was served is in `Found`: a promoted page that is shown for its heat is not accessed by that.
    See `AsyncMemory.context`. Raises InputError for an unknown strategy, a budget below 1, or what `recall` refuses.
    """
    if strategy not in STRATEGIES:
        raise InputError(f"no such strategy: {strategy!r} (one of {', '.join(STRATEGIES)})")
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise InputError(f"max_tokens must be a whole number from 1 on, not {max_tokens!r}")
    query, asked_at = clean_query(query), _asked_at(engine, now, tz)
    await asyncio.to_thread(load_tokenizer)
    if engine.hot is not None and strategy in HOT:
        material = await engine.hot.read(engine, key_of(scope), (scope.agent, scope.session, strategy))
    else:
        material = await engine.store.read(lambda db: _gather(db, engine, scope, strategy, max_tokens))
    hits: tuple[Hit, ...] = ()
    if strategy in RECALLING:
        # The last turns are shown, but those the budget leaves out must be found: so none is excluded beforehand.
        asking = scope if strategy == "retrieval" else replace(scope, session=None)
        ask = make_ask(engine, query, k=k, now=asked_at, tz=tz)
        hits = (await find(engine, asking, replace(ask, k=k + len(material.turns)), caller=scope)).hits
    frame = Frame(context_id(scope, query, strategy, asked_at), asked_at)
    filling = _Filling(frame, max_tokens, k, material, hits)
    context = filling.pack(strategy)
    if strategy not in RECALLING:
        return context, None
    served = [hit for hit in context.citations.values() if hit.kind != "page"]
    pages = await engine.store.read(lambda db: pages_of_places(db, scope, _places(served)))
    return context, Found(tuple(served), (pages,), None)


def _asked_at(engine: Engine, now: datetime | str | None, tz: str | None) -> datetime:
    """The asker's time, in the asker's zone: `tz`, else the zone of `now`, else the setting, else UTC."""
    if now is not None:
        at = parse_time(now, tz=tz or engine.settings.tz, what="now")
        return at if tz is None else at.astimezone(zone(tz))
    return engine.now().astimezone(zone(tz or engine.settings.tz or "UTC"))


def hot_material(
    engine: Engine, key: tuple[str, str], of: tuple[str | None, str | None, str]
) -> Callable[[Db], Material]:
    """What a context shows of a session without a search, as the hot tier asks for it."""
    agent, session, strategy = of
    scope = scope_of_owner(*key, agent or "", session)
    return lambda db: _gather(db, engine, scope, cast("ContextStrategy", strategy), 1)


def _gather(db: Db, engine: Engine, scope: Scope, strategy: ContextStrategy, max_tokens: int) -> Material:
    """The turns and page summaries that a strategy may show."""
    settings = engine.settings
    if strategy == "full":
        return transcript(db, scope, limit=1 + max_tokens // TURN_TOKENS)
    if strategy == "retrieval":
        return Material()
    if strategy == "summary":
        if turns_in_session(db, scope) < settings.summary_from_turns:
            return Material(turns=session_turns(db, scope, settings.summary_from_turns))
        pages = session_pages(db, scope, settings, limit=1 + max_tokens // PAGE_TOKENS)
        return Material(session_turns(db, scope, settings.hot_capacity), pages)
    turns = session_turns(db, scope, settings.hot_capacity)
    return Material(turns, promoted_pages(db, scope, settings) if strategy == "hybrid" else ())


def _places(hits: Sequence[Hit]) -> list[Place]:
    return [place_of(turn) for hit in hits for turn in hit.evidence]


@dataclass(slots=True)
class _Filling:
    """Fills the budget. Token counts of parts are estimates (tokens may join across parts); `pack` checks the whole."""

    frame: Frame
    budget: int
    k: int
    material: Material
    hits: Sequence[Hit]
    turns: list[Turn] = field(default_factory=list)
    earlier: list[Turn] = field(default_factory=list)
    pages: list[PageText] = field(default_factory=list)
    recalled: list[Hit] = field(default_factory=list)

    def pack(self, strategy: ContextStrategy) -> Context:
        material, frame = self.material, self.frame
        others = bool(material.pages or self.hits)
        self.turns, used = self._newest(material.turns, self.budget // 2 if others else self.budget)
        left = self.budget - used
        if others or material.earlier:
            left -= frame.tokens
        self.pages, used = _that_fit(material.pages, lambda page: frame.tokens_of(page.hit), left)
        left -= used
        news = [hit for hit in self.hits if not self._repeats(hit)]
        self.recalled, used = _that_fit(news, frame.tokens_of, left, most=self.k)
        left -= used
        self.earlier, used = self._newest(material.earlier, left)
        older = material.turns[: len(material.turns) - len(self.turns)]
        if others and older:
            more, _ = self._newest(older, left if self.pages or self.recalled else left + frame.tokens)
            self.turns = more + self.turns
            self.recalled = [hit for hit in self.recalled if not self._repeats(hit)]
        while True:
            context = self._render(strategy)
            if context.tokens <= self.budget:
                return context
            self._drop_one()

    def _newest(self, turns: Sequence[Turn], budget: int) -> tuple[list[Turn], int]:
        """The newest turns that fit, without a gap, in order, and their tokens."""
        kept: list[Turn] = []
        used = 0
        for turn in reversed(turns):
            cost = count_tokens(turn_line(turn, self.frame.zone)) + 1
            if used + cost > budget:
                break
            kept.append(turn)
            used += cost
        return kept[::-1], used

    def _repeats(self, hit: Hit) -> bool:
        """Whether it is shown already: all its turns are, or the summary of a page it was said on has its words."""
        own = {place_of(turn) for turn in hit.evidence}
        shown = {place_of(turn) for turn in self.turns}
        # A turn stands for others that say it word for word: one of them is enough.
        if own and (not own.isdisjoint(shown) if hit.kind == "turn" else own <= shown):
            return True
        return any(
            words_of(hit) in page.hit.text and not own.isdisjoint(map(place_of, page.hit.evidence))
            for page in self.pages
        )

    def _drop_one(self) -> None:
        """Leave out what matters least: the last memory, then the last page, then the oldest turn."""
        if self.recalled:
            self.recalled.pop()
        elif self.pages:
            self.pages.pop()
        elif self.earlier:
            del self.earlier[0]
        else:
            del self.turns[0]

    def _render(self, strategy: ContextStrategy) -> Context:
        pages = sorted(self.pages, key=lambda page: (page.page.started_at, page.page.no))
        cited = [page.hit for page in pages] + self.recalled
        marks = {f"[{n}]": hit for n, hit in enumerate(cited, 1)}
        fenced = [turn_line(turn, self.frame.zone) for turn in self.earlier]
        fenced += [hit_line(mark, hit, self.frame.zone) for mark, hit in marks.items()]
        parts = [self.frame.around(fenced)] if fenced else []
        parts += [turn_line(turn, self.frame.zone) for turn in self.turns]
        text = "\n".join(parts)
        return Context(
            text=text,
            tokens=count_tokens(text),
            strategy=strategy,
            turns=tuple(evidence_of(turn) for turn in [*self.earlier, *self.turns]),
            pages=tuple(page.page for page in pages),
            citations=marks,
        )


def _that_fit(
    items: Sequence[T], tokens: Callable[[T], int], budget: int, most: int | None = None
) -> tuple[list[T], int]:
    """The items that fit in their order, passing over one that is too long, and their tokens."""
    kept: list[T] = []
    used = 0
    for item in items:
        if most is not None and len(kept) == most:
            break
        cost = tokens(item)
        if used + cost <= budget:
            kept.append(item)
            used += cost
    return kept, used
