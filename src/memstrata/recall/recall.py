"""Recall: a query to hits, each with its score, legs, link path and evidence."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np

from memstrata.engine import Engine
from memstrata.errors import FilterError, InputError
from memstrata.index.encode import encode_query
from memstrata.index.owner import OwnerIndex
from memstrata.intake.arguments import flag, kinds_of, words
from memstrata.intake.times import parse_time, zone
from memstrata.recall.filters import Check, compile_filter, note_fields, turn_fields
from memstrata.recall.legs import Floats
from memstrata.recall.query import understand
from memstrata.recall.rank import Ranking, View, rank
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE, PAGE
from memstrata.store.read import (
    Key,
    bare_notes_by_no,
    evidence_by_no,
    key_of,
    notes_standing_on,
    turns_by_no,
    turns_by_note,
)
from memstrata.store.rows import decoder, dump, from_us
from memstrata.tiers.weight import weight_at
from memstrata.trace import span
from memstrata.types import Evidence, Hit, Kind, Leg, Note, Scope, Turn

MAX_K = 1000
MAX_QUERY = 20_000  # characters
MAX_EVIDENCE = 20  # turns that a hit brings along; of more, the first and the last half of so many
LEAST_BATCH = 8  # units that are looked at together


@dataclass(frozen=True, slots=True)
class Ask:
    """A recall as it was asked for, checked."""

    query: str
    k: int
    check: Check | None
    view: View
    kinds: tuple[Kind, ...]
    tags: tuple[str, ...]
    min_score: float
    offset: int
    now: datetime
    digest: str
    more_words: str = ""  # that a model added to the query

    @property
    def searched(self) -> str:
        """What is looked for."""
        return f"{self.query} {self.more_words}".rstrip()


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, the warm pages that they stand on (hit by hit, or all together), and where the next page of hits begins.

    `without` names what should have been asked and could not be, and why.
    """

    hits: tuple[Hit, ...]
    warm: tuple[tuple[int, ...], ...]
    next_offset: int | None
    without: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[int, ...]:
        """The numbers of the notes among the hits."""
        return tuple(hit.note.no for hit in self.hits if hit.note is not None)

    @property
    def pages(self) -> tuple[int, ...]:
        """The pages that these hits warm, each once however many hits stand on it."""
        return tuple(dict.fromkeys(page for pages in self.warm for page in pages))


def make_ask(
    engine: Engine,
    query: str,
    *,
    k: int = 10,
    filters: Mapping[str, Any] | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    as_of: datetime | str | None = None,
    known_at: datetime | str | None = None,
    kinds: Sequence[Kind] | None = None,
    tags: Sequence[str] | None = None,
    include_superseded: bool = False,
    min_score: float = 0.0,
    cursor: str | None = None,
    now: datetime | str | None = None,
    tz: str | None = None,
) -> Ask:
    """Check the arguments of a recall; InputError (or one of its kinds) names the one that cannot be taken."""
    query = clean_query(query)
    if not query.strip():
        raise InputError("query must be a text that is not empty")
    if len(query) > MAX_QUERY:
        raise InputError(f"query has {len(query)} characters, at most {MAX_QUERY} are taken: ask for less at once")
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InputError(f"k must be a whole number from 1 to {MAX_K}, not {k!r}")
    if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise InputError(f"min_score must lie between 0 and 1, not {min_score!r}")
    kinds = None if kinds is None else kinds_of(kinds)
    tags = None if tags is None else words(tags, "tags")
    flag(include_superseded, "include_superseded")
    check = compile_filter(filters)
    zone_name = tz or engine.settings.tz
    times: dict[str, Any] = {
        name: None if value is None else parse_time(value, tz=zone_name, what=name)
        for name, value in (("since", since), ("until", until), ("as_of", as_of), ("known_at", known_at))
    }
    asked_at = engine.now() if now is None else parse_time(now, tz=zone_name, what="now")
    if zone_name is not None:
        asked_at = asked_at.astimezone(zone(zone_name))
    view = View(
        **times,
        include_superseded=include_superseded,
        notes_only=bool(kinds or tags) or "transcript" not in engine.settings.legs,
        turns_only="notes" not in engine.settings.legs,
    )
    digest = _digest(query, filters, times, kinds, tags, include_superseded, min_score)
    return Ask(
        query=query,
        k=k,
        check=check,
        view=view,
        kinds=tuple(kinds or ()),
        tags=tuple(tag.casefold() for tag in tags or ()),
        min_score=float(min_score),
        offset=_offset(cursor, digest),
        now=asked_at,
        digest=digest,
    )


def clean_query(query: object) -> str:
    """The query with what no model takes replaced: null bytes, lone surrogates."""
    if not isinstance(query, str):
        raise InputError(f"query must be a text, not {type(query).__name__}")
    return query.replace("\0", " ").encode("utf-8", "replace").decode()


def _digest(*asked: object) -> str:
    """What tells whether a cursor belongs to this query."""
    try:
        return hashlib.blake2b(dump(asked).encode(), digest_size=8).hexdigest()
    except TypeError as error:  # all else was checked
        raise FilterError(f"filters hold what is not JSON: {error}") from error


def _offset(cursor: str | None, digest: str) -> int:
    if cursor is None:
        return 0
    try:
        data = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        offset, made_for = int(data["o"]), str(data["d"])
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise InputError(f"cursor {cursor!r} cannot be read: pass the one that the last page gave") from error
    if made_for != digest or offset < 0:
        raise InputError("this cursor belongs to another query: start again without it")
    return offset


def cursor_of(offset: int | None, digest: str) -> str | None:
    if offset is None:
        return None
    return base64.urlsafe_b64encode(json.dumps({"o": offset, "d": digest}).encode()).decode()


async def look(engine: Engine, scope: Scope, ask: Ask) -> Found:
    """The hits of one page in recall's own order. One encoding of the query, one read transaction."""
    settings = engine.settings
    late = settings.late_interaction and "late" in settings.legs
    with span("memstrata.embed", texts=1):
        vector, tokens = await encode_query(engine.embedder, ask.searched, late=late)
    index = engine.index(scope)
    clock = engine.now()

    def read(db: Db) -> Found:
        engine.check_model(db)
        with index.lock:
            index.refresh(db)
            query = understand(ask.searched, [name for name, _ in index.speakers.items()], ask.now)
            ranking = rank(db, index, scope, query, vector, tokens, ask.view, clock, settings)
            return _collect(db, index, scope, ask, ranking, clock)

    with span("memstrata.search"):
        found = await engine.store.read(read)
    await engine.keep(index)
    return found


def _collect(db: Db, index: OwnerIndex, scope: Scope, ask: Ask, ranking: Ranking, clock: datetime) -> Found:
    """The hits of this page, read together: a recall spends most of its time on records."""
    meta, key = index.meta, key_of(scope)
    units, next_offset = _choose(db, index, key, ask, ranking)
    refs = {unit: int(meta["ref"][unit]) for unit in units}
    notes = {refs[unit]: unit for unit in units if meta["kind"][unit] == NOTE}
    standing = turns_by_note(db, key, notes)
    shown = {no: _shown(standing.get(no, ())) for no in notes}
    turns = [refs[unit] for unit in units if meta["kind"][unit] != NOTE]
    evidence = evidence_by_no(db, key, chain(turns, *shown.values()))
    records = notes_standing_on(
        db,
        key,
        {no: [evidence[turn] for turn in shown[no]] for no in notes},
        {no: _weight(index, unit, clock) for no, unit in notes.items()},
        index.id_of_note,
    )
    hits: list[Hit] = []
    warm: list[tuple[int, ...]] = []
    for unit in units:
        no = refs[unit]
        if meta["kind"][unit] == NOTE:
            more = len(standing.get(no, ())) - len(shown[no])
            hits.append(_note_hit(index, ranking, unit, records[no], more))
            pages = [int(meta["page"][turn]) for turn in index.standing(unit)]
        else:
            hits.append(_turn_hit(index, ranking, unit, evidence[no]))
            pages = [int(meta["page"][unit])]
        warm.append(_warm(index, pages))
    return Found(tuple(hits), tuple(warm), next_offset)


def _choose(db: Db, index: OwnerIndex, key: Key, ask: Ask, ranking: Ranking) -> tuple[list[int], int | None]:
    """Walk down the ranking: filter, fold what was said already, until this page of hits is full.

    Returns its units, and where the next page begins if there is one.
    """
    given: set[int] = set()  # turn units that a hit stands on
    chosen: list[int] = []
    end = ask.offset + ask.k
    batch = max(LEAST_BATCH, end + 1)  # mostly one is enough
    for start in range(0, len(ranking.units), batch):
        units = ranking.units[start : start + batch]
        wanted = _wanted(db, index, key, ask, [unit for unit in units if unit not in given])
        for unit in units:
            if float(ranking.score[unit]) < ask.min_score:
                return chosen[ask.offset :], None
            if unit in given or unit not in wanted:
                continue
            if len(chosen) == end:
                return chosen[ask.offset :], end
            chosen.append(unit)
            given.update(index.standing(unit))
    return chosen[ask.offset :], None


def _shown(turns: Sequence[int]) -> Sequence[int]:
    """The turns that a hit brings along: all, or of a statement that was made very often the first and the last."""
    half = MAX_EVIDENCE // 2
    return turns if len(turns) <= MAX_EVIDENCE else [*turns[:half], *turns[-half:]]


@decoder
def _weight(index: OwnerIndex, unit: int, clock: datetime) -> float:
    """The forgetting weight of a note now."""
    meta = index.meta
    return (
        1.0
        if meta["pinned"][unit]
        else weight_at(from_us(int(meta["last_access"][unit])), clock, float(meta["rate"][unit]))
    )


def _warm(index: OwnerIndex, pages: Sequence[int]) -> tuple[int, ...]:
    """The pages that a hit warms, each once. A distilled page has no heat to raise."""
    state = index.meta["state"]
    distinct = dict.fromkeys(page for page in pages if page)
    return tuple(page for page in distinct if (unit := index.unit(PAGE, page)) is None or state[unit] == 0)


def _wanted(db: Db, index: OwnerIndex, key: Key, ask: Ask, units: Sequence[int]) -> Set[int]:
    """Those of the units that pass the kinds, the tags and the filters of a call."""
    if not (ask.kinds or ask.tags or ask.check):
        return set(units)
    kind = index.meta["kind"]
    refs = {unit: int(index.meta["ref"][unit]) for unit in units}
    notes = bare_notes_by_no(db, key, [no for unit, no in refs.items() if kind[unit] == NOTE])
    turns = turns_by_no(db, key, [no for unit, no in refs.items() if kind[unit] != NOTE])
    return {unit for unit, no in refs.items() if _passes(notes[no] if kind[unit] == NOTE else turns[no], ask)}


def _passes(record: Note | Turn, ask: Ask) -> bool:
    if isinstance(record, Note):
        if ask.kinds and record.kind not in ask.kinds:
            return False
        if ask.tags and not {tag.casefold() for tag in record.tags} >= set(ask.tags):
            return False
    if ask.check is None:
        return True
    return ask.check(note_fields(record) if isinstance(record, Note) else turn_fields(record))


def _note_hit(index: OwnerIndex, ranking: Ranking, unit: int, note: Note, more: int) -> Hit:
    legs, path = _legs(index, ranking, unit), _path(index, ranking, unit)
    return Hit(
        id=note.id,
        kind="note",
        text=note.content,
        score=_score(ranking, unit),
        legs=legs,
        path=path,
        evidence=note.evidence,
        more_evidence=more,
        at=note.said_at,
        event=note.event,
        note=note,
        reason=_reason(legs, path),
    )


def _turn_hit(index: OwnerIndex, ranking: Ranking, unit: int, turn: Evidence) -> Hit:
    legs, path = _legs(index, ranking, unit), _path(index, ranking, unit)
    return Hit(
        id=turn.id,
        kind="turn",
        text=f"{turn.speaker or turn.role}: {turn.text}",
        score=_score(ranking, unit),
        legs=legs,
        path=path,
        evidence=(turn,),
        at=turn.at,
        reason=_reason(legs, path),
    )


def _path(index: OwnerIndex, ranking: Ranking, unit: int) -> tuple[str, ...]:
    return tuple(index.note_id(step) for step in ranking.path.get(unit, ()))


def _score(ranking: Ranking, unit: int) -> float:
    return min(1.0, max(0.0, float(ranking.score[unit])))


def _legs(index: OwnerIndex, ranking: Ranking, unit: int) -> tuple[Leg, ...]:
    """The legs that found a unit, by falling score: its own similarity and terms, and for a turn (or the best turn of
    a note) what lies around it."""
    legs = ranking.legs
    found = [_leg("dense", legs.cosine, unit), _leg("lexical", legs.coverage, unit)]
    rank_of = legs.turns.rank
    turns = unit if rank_of[unit] >= 0 else list(index.standing(unit))
    places = np.atleast_1d(rank_of[turns])
    places = places[places >= 0]
    if len(places):
        place = int(places[legs.features["coverage_near"][places].argmax()])
        for name, feature in (
            ("neighbours", "coverage_near"),
            ("speaker", "speaker"),
            ("month", "month"),
            ("year", "year"),
            ("day", "day"),
            ("time", "range"),
            ("page", "page"),
            ("late", "late"),
        ):
            if feature in legs.features:
                found.append(_leg(name, legs.features[feature], place))
    if unit in ranking.link_score:
        reached = sorted(ranking.link_score.values(), reverse=True)
        own = ranking.link_score[unit]
        found.append(Leg("links", min(1.0, own), 1 + reached.index(own)))
    return tuple(sorted((leg for leg in found if leg.score > 0), key=lambda leg: (-leg.score, leg.name)))


def _leg(name: str, values: Floats, at: int) -> Leg:
    own = float(values[at])
    if own <= 0.0:
        return Leg(name, 0.0, 0)  # it found nothing: no rank to count
    return Leg(name, min(1.0, max(0.0, own)), 1 + int(np.count_nonzero(values > own)))


def _reason(legs: Sequence[Leg], path: Sequence[str]) -> str:
    parts = [f"{leg.name} {leg.score:.2f} (rank {leg.rank})" for leg in legs[:4]]
    over = f"; reached over {' > '.join(path)}" if path else ""
    return f"found by {', '.join(parts)}{over}" if parts else f"nothing of the query is in it{over}"
