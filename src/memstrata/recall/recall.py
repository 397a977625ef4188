"""Recall: a query to hits, each with its score, legs, link path and evidence."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from memstrata.engine import Engine
from memstrata.errors import FilterError, InputError
from memstrata.index.owner import OwnerIndex
from memstrata.intake.arguments import flag, kinds_of, words
from memstrata.intake.times import parse_time, zone
from memstrata.recall.filters import Check, compile_filter, note_fields, turn_fields
from memstrata.recall.legs import Floats
from memstrata.recall.query import understand
from memstrata.recall.rank import Ranking, View, rank
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE
from memstrata.store.read import key_of, notes_by_no, turns_by_no
from memstrata.store.rows import dump, evidence_of
from memstrata.tiers.weight import weight_at
from memstrata.types import Hit, Kind, Leg, Note, Recall, Scope, Turn

MAX_K = 1000
MAX_QUERY = 20_000  # characters
LEAST_BATCH = 8  # units whose records are read together; a recall spends most of its time reading them


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


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, the numbers of the notes and pages that they are, and where the next page of hits begins."""

    hits: tuple[Hit, ...]
    notes: tuple[int, ...]
    pages: tuple[int, ...]
    next_offset: int | None


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


async def find(engine: Engine, scope: Scope, ask: Ask) -> Found:
    """The hits of one page, and what they touch. One encoding of the query, one read transaction."""
    vector = (await engine.embedder.embed([ask.query], query=True))[0]
    index = engine.index(scope)
    clock = engine.now()

    def read(db: Db) -> Found:
        engine.check_model(db)
        with index.lock:
            index.refresh(db)
            query = understand(ask.query, [name for name, _ in index.speakers.items()], ask.now)
            ranking = rank(db, index, scope, query, vector, ask.view, clock, engine.settings)
            return _collect(db, index, scope, ask, ranking, clock)

    return await engine.store.read(read)


async def recall(engine: Engine, scope: Scope, ask: Ask) -> tuple[Recall, Found]:
    found = await find(engine, scope, ask)
    return Recall(ask.query, found.hits, cursor_of(found.next_offset, ask.digest)), found


def _collect(db: Db, index: OwnerIndex, scope: Scope, ask: Ask, ranking: Ranking, clock: datetime) -> Found:
    """Walk down the ranking: filter, fold what was said already, until k hits of this page are there."""
    meta, key = index.meta, key_of(scope)
    hits: list[Hit] = []
    notes: list[int] = []
    pages: list[int] = []
    given: set[int] = set()  # turn units that a hit stands on
    seen = 0
    batch = max(LEAST_BATCH, ask.offset + ask.k + 1)  # mostly one is enough
    for start in range(0, len(ranking.units), batch):
        units = ranking.units[start : start + batch]
        if float(ranking.score[units[0]]) < ask.min_score:
            break
        of_notes = [unit for unit in units if meta["kind"][unit] == NOTE]
        of_turns = [unit for unit in units if meta["kind"][unit] != NOTE and unit not in given]
        note_records = notes_by_no(db, key, [int(meta["ref"][unit]) for unit in of_notes])
        turn_records = turns_by_no(db, key, [int(meta["ref"][unit]) for unit in of_turns])
        for unit in units:
            if float(ranking.score[unit]) < ask.min_score:
                break
            ref, is_note = int(meta["ref"][unit]), meta["kind"][unit] == NOTE
            record = note_records.get(ref) if is_note else turn_records.get(ref)
            if record is None or unit in given or not _wanted(record, ask):
                continue
            if isinstance(record, Note):
                given.update(index.turns_of_note.get(unit, ()))
            seen += 1
            if seen <= ask.offset:
                continue
            if len(hits) == ask.k:
                return Found(tuple(hits), tuple(notes), _distinct(pages), ask.offset + ask.k)
            hits.append(_hit(index, ranking, unit, record, ask, clock))
            if isinstance(record, Note):
                notes.append(record.no)
                pages.extend(int(meta["page"][turn]) for turn in index.turns_of_note.get(unit, ()))
            elif record.page:
                pages.append(record.page)
    return Found(tuple(hits), tuple(notes), _distinct(pages), None)


def _distinct(pages: Sequence[int]) -> tuple[int, ...]:
    """Each page once: however many hits stand on it, one recall warms it once."""
    return tuple(dict.fromkeys(page for page in pages if page))


def _wanted(record: Note | Turn, ask: Ask) -> bool:
    if isinstance(record, Note):
        if ask.kinds and record.kind not in ask.kinds:
            return False
        if ask.tags and not {tag.casefold() for tag in record.tags} >= set(ask.tags):
            return False
    if ask.check is None:
        return True
    return ask.check(note_fields(record) if isinstance(record, Note) else turn_fields(record))


def _hit(index: OwnerIndex, ranking: Ranking, unit: int, record: Note | Turn, ask: Ask, clock: datetime) -> Hit:
    legs = _legs(index, ranking, unit)
    path = tuple(index.note_id(step) for step in ranking.path.get(unit, ()))
    score = min(1.0, max(0.0, float(ranking.score[unit])))
    if isinstance(record, Note):
        rate = float(index.meta["rate"][unit])
        weight = 1.0 if record.pinned else weight_at(record.last_access, clock, rate)
        note = replace(record, weight=weight)
        return Hit(
            id=note.id,
            kind="note",
            text=note.content,
            score=score,
            legs=legs,
            path=path,
            evidence=note.evidence,
            at=note.said_at,
            event=note.event,
            note=note,
            reason=_reason(legs, path),
        )
    return Hit(
        id=record.id,
        kind="turn",
        text=record.said,
        score=score,
        legs=legs,
        path=path,
        evidence=(evidence_of(record),),
        at=record.at,
        reason=_reason(legs, path),
    )


def _legs(index: OwnerIndex, ranking: Ranking, unit: int) -> tuple[Leg, ...]:
    """The legs that found a unit, by falling score: its own similarity and terms, and for a turn (or the best turn of
    a note) what lies around it."""
    legs = ranking.legs
    found = [_leg("dense", legs.cosine, unit), _leg("lexical", legs.coverage, unit)]
    rank_of = legs.turns.rank
    turns = [unit] if rank_of[unit] >= 0 else [turn for turn in index.turns_of_note.get(unit, ()) if rank_of[turn] >= 0]
    if turns:
        place = max((int(rank_of[turn]) for turn in turns), key=lambda at: float(legs.features["coverage_near"][at]))
        for name, feature in (
            ("neighbours", "coverage_near"),
            ("speaker", "speaker"),
            ("month", "month"),
            ("year", "year"),
            ("day", "day"),
            ("time", "range"),
            ("page", "page"),
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
