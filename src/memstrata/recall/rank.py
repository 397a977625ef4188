"""Ranking: what may be seen, tier scores, fusion, links; the result is units in order, each with why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import Tokens
from memstrata.index.columns import UNSET
from memstrata.index.owner import OwnerIndex
from memstrata.recall.fuse import fuse, model_of, turn_scores
from memstrata.recall.late import candidates, late_features, weights_of
from memstrata.recall.legs import Floats, Ints, Legs, find
from memstrata.recall.order import Order
from memstrata.recall.query import Query
from memstrata.settings import Settings
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE, PAGE, TURN
from memstrata.store.read import select_in
from memstrata.store.rows import to_us
from memstrata.types import Scope

SEEDS = 10  # notes whose links are walked, at each hop the best
FIRST = 512  # units that are put in order at once; few calls read more
HOP = 0.5  # a hop halves what a link passes on
DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class View:
    """What of an owner's memory a call may see, besides its scope."""

    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    include_superseded: bool = False
    notes_only: bool = False
    turns_only: bool = False


@dataclass(slots=True)
class Ranking:
    """Units by falling score. `path` has the notes walked for units that were reached over links."""

    score: Floats
    legs: Legs
    units: Order = field(init=False)
    path: dict[int, tuple[int, ...]] = field(default_factory=dict)
    link_score: dict[int, float] = field(default_factory=dict)


def rank(
    db: Db,
    index: OwnerIndex,
    scope: Scope,
    query: Query,
    vector: Floats,
    tokens: Tokens | None,
    view: View,
    now: datetime,
    settings: Settings,
) -> Ranking:
    """Rank an owner's units for a query, of which `vector` and `tokens` are what the encoder made; without `tokens`
    there is no late interaction. The index must be fresh and its lock held."""
    visible = visible_units(db, index, scope, view)
    weight = weights(index, now, settings) * visible  # what may not be seen lends nothing
    legs, turns = score_turns(db, index, scope, query, vector, tokens, visible, weight, settings)
    raw = fuse(index, legs, turns, weight, settings.legs)
    score = model_of(legs.features, settings.legs).probability(np.where(np.isfinite(raw), raw, -1e3))
    ranking = Ranking(score, legs)
    _follow_successors(index, ranking, visible)
    if settings.links and settings.hops and not view.turns_only:
        _walk(db, index, ranking, visible, settings.hops)
    shown = np.flatnonzero(visible)
    ranking.units = Order(shown, index.meta["kind"][shown], score[shown], FIRST)
    return ranking


def score_turns(
    db: Db,
    index: OwnerIndex,
    scope: Scope,
    query: Query,
    vector: Floats,
    tokens: Tokens | None,
    visible: NDArray[np.bool_],
    weight: Floats,
    settings: Settings,
) -> tuple[Legs, Floats]:
    """What the legs found, and the raw score of every turn. Late interaction looks at the turns that the other legs
    put first."""
    legs = find(index, query, vector, weight, page_scores(db, index, scope, vector, settings))
    turns = turn_scores(legs.features, len(legs.turns.units), settings.legs)
    if tokens is not None and "late" in settings.legs:
        chosen = candidates(index, legs.turns, turns, _found_by(index, visible))
        late = late_features(index, legs.turns, chosen, tokens, weights_of(tokens, query.terms, legs.shares))
        if late:
            legs.features.update(late)
            turns = turn_scores(legs.features, len(turns), settings.legs)
    return legs, turns


def _found_by(index: OwnerIndex, visible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The units that may be seen, and the turns that notes which may be seen stand on."""
    allowed = visible.copy()
    notes, turns = index.evidence_pairs()
    allowed[turns[visible[notes]]] = True
    return allowed


def weights(index: OwnerIndex, now: datetime, settings: Settings) -> Floats:
    """What forgetting leaves of each note's score; 0 for what is no note.

    The weight w = exp(-rate * days since the last access) takes the setting `fading` of it: 1 - fading * (1 - w).
    """
    meta = index.meta
    notes = np.flatnonzero(meta["kind"] == NOTE)
    weight = np.zeros(index.count + 1, dtype=np.float32)
    days = np.maximum(0.0, (to_us(now) - meta["last_access"][notes]) / DAY_US)
    held = np.exp((-meta["rate"][notes] * days).astype(np.float32)) if settings.forgetting else 1.0
    weight[notes] = np.where(meta["pinned"][notes] == 1, 1.0, 1.0 - settings.fading * (1.0 - held))
    return weight


def page_scores(db: Db, index: OwnerIndex, scope: Scope, vector: Floats, settings: Settings) -> Floats:
    """MemoryOS' warm score, gamma * similarity + (1 - gamma) * heat, for warm pages; 0 for everything else."""
    meta = index.meta
    scores = np.zeros(index.count + 1, dtype=np.float32)
    ticks = {
        index.agents.get(row["agent"]): row["tick"]
        for row in db.all("SELECT agent, tick FROM scopes WHERE tenant = ? AND owner = ?", (scope.tenant, scope.owner))
    }
    pages = np.flatnonzero((meta["kind"] == PAGE) & (meta["state"] == 0))
    tick = np.zeros(len(index.agents.items()) + 1, dtype=np.int64)
    for agent, value in ticks.items():
        tick[agent] = value  # that of an agent without units is the last, -1, which nothing reads
    age = np.maximum(0, tick[meta["agent"][pages]] - meta["heat_tick"][pages])
    heat = meta["heat"][pages] * settings.alpha**age
    similar = np.maximum(0.0, index.first_cosines(vector, pages))
    scores[pages] = settings.gamma * similar + (1.0 - settings.gamma) * heat
    return scores


def visible_units(db: Db, index: OwnerIndex, scope: Scope, view: View) -> NDArray[np.bool_]:
    """Which units this call may return."""
    meta = index.meta
    kind = meta["kind"]
    seen = np.zeros(index.count + 1, dtype=np.bool_)
    seen |= (kind == NOTE) & (not view.turns_only)
    seen |= (kind == TURN) & (not view.notes_only)
    if scope.agent is not None:
        seen &= np.isin(meta["agent"], [index.agents.get(""), index.agents.get(scope.agent)])
    seen &= _states(db, index, scope, view)
    if scope.session is not None and scope.session != "":
        # The named session's hot turns are in the context already.
        seen &= ~((meta["hot"] == 1) & (meta["session"] == index.sessions.get(scope.session)))
    if view.since is not None:
        seen &= np.where(meta["event_start"] == UNSET, meta["at"] + 1, meta["event_end"]) > to_us(view.since)
    if view.until is not None:
        seen &= np.where(meta["event_start"] == UNSET, meta["at"], meta["event_start"]) < to_us(view.until)
    if view.known_at is not None:
        seen &= meta["recorded"] <= to_us(view.known_at)
    return seen


def _states(db: Db, index: OwnerIndex, scope: Scope, view: View) -> NDArray[np.bool_]:
    """Current notes and turns that are not hidden; superseded ones where the view asks for the past or for them."""
    meta = index.meta
    note = meta["kind"] == NOTE
    allowed: NDArray[np.bool_] = np.where(note, meta["state"] == 0, meta["hidden"] == 0)
    if view.include_superseded:
        return np.asarray(np.where(note, meta["state"] <= 1, (meta["hidden"] & 5) == 0), dtype=np.bool_)
    if view.as_of is not None:
        at = to_us(view.as_of)
        held = (meta["valid_from"] <= at) & (at < meta["valid_to"]) & (meta["state"] <= 1)
        # What a turn said that ceased to hold is told by its note, where it held.
        return np.asarray(np.where(note, held, (meta["hidden"] == 0) & (meta["at"] <= at)), dtype=np.bool_)
    if view.known_at is not None:
        at = to_us(view.known_at)
        old, new = index.successors()
        allowed[old[(meta["state"][old] == 1) & (meta["recorded"][new] > at)]] = True  # nobody knew better then
    return allowed


def _follow_successors(index: OwnerIndex, ranking: Ranking, visible: NDArray[np.bool_]) -> None:
    """A superseded note that answers leads to the one that took its place."""
    old, new = index.successors()
    if not len(old):
        return
    passed_on = ~visible[old]
    end = new
    for _ in range(len(old).bit_length()):  # each round doubles the steps: to the end of the longest chain
        place = np.minimum(np.searchsorted(old, end), len(old) - 1)
        goes_on = (old[place] == end) & passed_on[place]
        if not goes_on.any():
            break
        end = np.where(goes_on, end[place], end)
    led = HOP * ranking.score[old]
    better = np.flatnonzero(passed_on & visible[end] & (led > ranking.score[end]))
    better = better[np.argsort(-led[better], kind="stable")]
    for place in better[np.unique(end[better], return_index=True)[1]]:  # the best that leads to each
        unit = int(end[place])
        ranking.score[unit] = ranking.link_score[unit] = float(led[place])
        ranking.path[unit] = (int(old[place]),)


def _walk(db: Db, index: OwnerIndex, ranking: Ranking, visible: NDArray[np.bool_], hops: int) -> None:
    """Follow links both ways from the best notes: a linked note gets at least its seed's score * link * HOP a hop."""
    notes = np.flatnonzero(visible & (index.meta["kind"] == NOTE))
    frontier = Order(notes, index.meta["kind"][notes], ranking.score[notes], SEEDS)[:SEEDS]
    for _ in range(hops):
        own, linked, strength = _links_of(db, index, frontier)
        passed = ranking.score[own] * strength * HOP
        following: dict[int, tuple[float, int]] = {}
        for place in np.flatnonzero(visible[linked] & (passed > ranking.score[linked])).tolist():
            unit, score = linked.item(place), passed.item(place)
            if unit not in following or score > following[unit][0]:
                following[unit] = (score, own.item(place))
        paths = {unit: (*ranking.path.get(seed, ()), seed) for unit, (_, seed) in following.items()}
        for unit, (score, _) in following.items():
            ranking.score[unit] = ranking.link_score[unit] = score
        ranking.path.update(paths)
        frontier = sorted(following, key=lambda unit: -following[unit][0])[:SEEDS]
        if not frontier:
            return


def _links_of(db: Db, index: OwnerIndex, units: Sequence[int]) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Parallel arrays (unit, linked unit, link score) for every link at either end of these notes, but superseding."""
    refs = index.meta["ref"][units].tolist()
    rows = [
        row
        for here, there in (("source", "target"), ("target", "source"))
        for row in select_in(
            db,
            f"SELECT {here}, {there}, score FROM links WHERE tenant = ? AND owner = ?"
            f" AND type <> 'supersedes' AND {here} IN ({{marks}})",
            (index.tenant, index.owner),
            refs,
        )
    ]
    ends = index.units(NOTE, np.array([(row[0], row[1]) for row in rows], dtype=np.int64).reshape(-1, 2))
    known = (ends > 0).all(axis=1)
    return ends[known, 0], ends[known, 1], np.array([row[2] for row in rows], dtype=np.float64)[known]
