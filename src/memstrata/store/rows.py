"""Between rows and records: times as microseconds, lists and mappings as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

import orjson

from memstrata.errors import StoreFormatError
from memstrata.store.base import Db, Row
from memstrata.types import (
    Candidate,
    Decision,
    EventTime,
    Evidence,
    Link,
    Note,
    Page,
    Part,
    Signals,
    Slot,
    Turn,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


P = ParamSpec("P")
T = TypeVar("T")


def damaged(what: str) -> StoreFormatError:
    """The error of a row that cannot be as this package wrote it."""
    return StoreFormatError(
        f"{what}: the store is damaged. `memstrata check` tells where; `memstrata reindex` makes derived rows anew; "
        "for others restore a backup, or `memstrata export` what can still be read"
    )


def decoder(decode: Callable[P, T]) -> Callable[P, T]:
    """A function that makes a record of a row: what is not of the type that was written there is damage."""

    @wraps(decode)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return decode(*args, **kwargs)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise damaged(f"a row cannot be read ({type(error).__name__}: {error})") from error

    return checked


class ByNumber(dict[int, T]):
    """Rows or what was made of them, by number. One that another row names must be there, or the store is damaged."""

    def __missing__(self, no: int) -> T:
        raise damaged(f"number {no!r} is named by a row and not there")


def to_us(at: datetime) -> int:
    """Microseconds since 1970 of an aware time."""
    return (at - EPOCH) // MICROSECOND


@lru_cache(maxsize=4096)  # what is said together is read together, again and again
def from_us(value: int, offset_minutes: int = 0) -> datetime:
    at = EPOCH + timedelta(microseconds=value)
    return at.astimezone(timezone(timedelta(minutes=offset_minutes))) if offset_minutes else at


def offset_of(at: datetime) -> int:
    """Minutes east of UTC."""
    delta = at.utcoffset()
    return 0 if delta is None else int(delta.total_seconds() // 60)


def dump(value: Any) -> str:
    """JSON of records, mappings, lists and times, without spaces."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: Any) -> Any:
    """What orjson does not know itself."""
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON")


@lru_cache(maxsize=4096)  # the same notes come round as neighbours again and again
def _names(text: str) -> tuple[str, ...]:
    return tuple(orjson.loads(text))


# events ---------------------------------------------------------------------------------------------------------------


def event_of(data: Mapping[str, Any] | None) -> EventTime | None:
    if data is None:
        return None
    return EventTime(
        datetime.fromisoformat(data["start"]), datetime.fromisoformat(data["end"]), cast("Any", data["precision"])
    )


def _event_columns(event: EventTime | None) -> dict[str, object]:
    if event is None:
        return {"event_start": None, "event_end": None, "event_precision": None}
    return {"event_start": to_us(event.start), "event_end": to_us(event.end), "event_precision": event.precision}


# turns ----------------------------------------------------------------------------------------------------------------


def turn_row(turn: Turn, own_id: str | None) -> dict[str, object]:
    """The columns of a new turn; `own_id` is the id its writer gave it, if any."""
    return {
        "no": turn.no,
        "agent": turn.agent or "",
        "session": turn.session,
        "position": turn.position,
        "id": own_id,
        "role": turn.role,
        "speaker": turn.speaker,
        "text": turn.text,
        "parts": dump(turn.parts) if turn.parts else None,
        "metadata": dump(turn.metadata) if turn.metadata else None,
        "at": to_us(turn.at),
        "at_offset": offset_of(turn.at),
        "recorded_at": to_us(turn.recorded_at),
        "trust": turn.trust,
        "tier": turn.tier,
        "page": turn.page,
        "is_source": int(turn.is_source),
        "hidden": int(turn.hidden),
        "op": turn.operation,
    }


@decoder
def turn_of(row: Row) -> Turn:
    parts = tuple(Part(**part) for part in orjson.loads(row["parts"])) if row["parts"] else ()
    return Turn(
        no=row["no"],
        id=row["id"] if row["id"] is not None else f"t{row['no']}",
        agent=row["agent"] or None,
        session=row["session"],
        position=row["position"],
        role=row["role"],
        speaker=row["speaker"],
        text=row["text"],
        at=from_us(row["at"], row["at_offset"]),
        recorded_at=from_us(row["recorded_at"]),
        trust=row["trust"],
        tier=row["tier"],
        page=row["page"],
        parts=parts,
        metadata=orjson.loads(row["metadata"]) if row["metadata"] else {},
        is_source=bool(row["is_source"]),
        hidden=bool(row["hidden"]),
        operation=row["op"],
    )


def evidence_of(turn: Turn) -> Evidence:
    return Evidence(
        id=turn.id,
        session=turn.session,
        position=turn.position,
        at=turn.at,
        role=turn.role,
        speaker=turn.speaker,
        text=turn.indexed_text,
        agent=turn.agent,
        metadata=turn.metadata,
    )


EVIDENCE_COLUMNS = "no, id, agent, session, position, at, at_offset, role, speaker, text, parts, metadata"


@decoder
def evidence_of_row(row: Row) -> Evidence:
    """Evidence from EVIDENCE_COLUMNS of a turn, in that order; what else a turn has is not read."""
    no, own_id, agent, session, position, at, offset, role, speaker, text, parts, metadata = row
    captions = [f"[{part['caption']}]" for part in orjson.loads(parts) if part["caption"]] if parts else ()
    return Evidence(
        id=f"t{no}" if own_id is None else own_id,
        session=session,
        position=position,
        at=from_us(at, offset),
        role=role,
        speaker=speaker,
        text=" ".join((text, *captions)).strip(),
        agent=agent or None,
        metadata=orjson.loads(metadata) if metadata else {},
    )


# pages ----------------------------------------------------------------------------------------------------------------


@decoder
def page_of(row: Row, *, heat: float, promoted: bool) -> Page:
    """A page with its heat as of the reader's tick."""
    return Page(
        id=f"p{row['no']}",
        no=row["no"],
        agent=row["agent"] or None,
        session=row["session"],
        first=row["first"],
        last=row["last"],
        summary=row["summary"],
        heat=heat,
        recalls=row["recalls"],
        state=row["state"],
        promoted=promoted,
        started_at=from_us(row["started_at"]),
        ended_at=from_us(row["ended_at"]),
    )


# notes ----------------------------------------------------------------------------------------------------------------


def note_row(note: Note, *, rate: float, statement: str, forgets_at: int | None, operation: str) -> dict[str, object]:
    """The columns of a new note. `rate` is its forgetting rate a day, `statement` its equality key."""
    return {
        "no": note.no,
        "id": note.id,
        "agent": note.agent or "",
        "session": note.session or "",
        "state": note.state,
        "revision": note.revision,
        "content": note.content,
        "context": note.context,
        "keywords": dump(note.keywords),
        "tags": dump(note.tags),
        "names": dump(note.names),
        "speaker": note.speaker,
        "kind": note.kind,
        "language": note.language,
        "trust": note.trust,
        "negated": int(note.negated),
        "statement": statement,
        "subject": note.slot.subject if note.slot else None,
        "attribute": note.slot.attribute if note.slot else None,
        "value": note.slot.value if note.slot else None,
        **_event_columns(note.event),
        "said_at": to_us(note.said_at),
        "valid_from": to_us(note.valid_from),
        "valid_to": None if note.valid_to is None else to_us(note.valid_to),
        "recorded_at": to_us(note.recorded_at),
        "closed_at": None,
        "last_access": to_us(note.last_access),
        "rate": rate,
        "forgets_at": forgets_at,
        "pinned": int(note.pinned),
        "superseded_by": note.superseded_by,
        "decision": note.decision,
        "edited": dump(note.edited),
        "metadata": dump(note.metadata) if note.metadata else None,
        "op": operation,
    }


@decoder
def note_of(
    columns: Row, *, links: Sequence[Link] = (), evidence: Sequence[Evidence] = (), weight: float = 1.0
) -> Note:
    # A database's row looks for each name among all of them; the rows of an import are mappings already.
    row = columns if isinstance(columns, dict) else dict(zip(columns.keys(), columns, strict=True))
    said_at = from_us(row["said_at"])
    # What was said and happened is in the zone of whoever said it, where "yesterday" is a day.
    zone = next((turn.at.tzinfo for turn in evidence if turn.at == said_at), UTC)
    event = None
    if row["event_start"] is not None:
        start, end = (from_us(row[name]).astimezone(zone) for name in ("event_start", "event_end"))
        event = EventTime(start, end, row["event_precision"])
    return Note(
        id=row["id"],
        content=row["content"],
        context=row["context"],
        kind=row["kind"],
        keywords=_names(row["keywords"]),
        tags=_names(row["tags"]),
        names=_names(row["names"]),
        speaker=row["speaker"],
        agent=row["agent"] or None,
        session=row["session"],
        event=event,
        said_at=said_at.astimezone(zone),
        valid_from=from_us(row["valid_from"]).astimezone(zone),
        valid_to=None if row["valid_to"] is None else from_us(row["valid_to"]).astimezone(zone),
        recorded_at=from_us(row["recorded_at"]),
        last_access=from_us(row["last_access"]),
        pinned=bool(row["pinned"]),
        state=row["state"],
        revision=row["revision"],
        trust=row["trust"],
        language=row["language"],
        slot=Slot(row["subject"], row["attribute"], row["value"]) if row["subject"] is not None else None,
        negated=bool(row["negated"]),
        superseded_by=row["superseded_by"],
        decision=row["decision"],
        metadata=orjson.loads(row["metadata"]) if row["metadata"] else {},
        edited=_names(row["edited"]),
        links=tuple(links),
        evidence=tuple(evidence),
        weight=weight,
        forgets_at=None if row["forgets_at"] is None else from_us(row["forgets_at"]),
        no=row["no"],
    )


# candidates and decisions ---------------------------------------------------------------------------------------------


@decoder
def candidate_of(data: Mapping[str, Any]) -> Candidate:
    slot = data["slot"]
    return Candidate(
        **{
            **data,
            "evidence": tuple(data["evidence"]),
            "keywords": tuple(data["keywords"]),
            "tags": tuple(data["tags"]),
            "names": tuple(data["names"]),
            "said_at": datetime.fromisoformat(data["said_at"]),
            "event": event_of(data["event"]),
            "slot": Slot(**slot) if slot else None,
        }
    )


@decoder
def decision_of(row: Row) -> Decision:
    data = orjson.loads(row["body"])
    signals = data["signals"]
    return Decision(
        **{
            **data,
            "candidate": candidate_of(data["candidate"]),
            "signals": Signals(**signals) if signals else None,
            "weights": tuple(data["weights"]),
            "decided_at": datetime.fromisoformat(data["decided_at"]),
        }
    )


# generic --------------------------------------------------------------------------------------------------------------


def insert(db: Db, table: str, tenant: str, owner: str, row: Mapping[str, object]) -> None:
    """Insert one row; table and column names come from this package, never from a caller."""
    db.run(_insertion(table, tuple(row)), (tenant, owner, *row.values()))


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * (len(columns) + 2))
    return f"INSERT INTO {table} (tenant, owner, {', '.join(columns)}) VALUES ({marks})"
