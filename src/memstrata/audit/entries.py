"""What an audit reads: a memstrata store or export, a mem0 export, or JSON Lines of texts, each as plain entries."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memstrata.errors import InputError
from memstrata.store.rows import from_us
from memstrata.text.language import detect
from memstrata.types import Slot

SQLITE = b"SQLite format 3\0"
TEXTS = ("memory", "text", "content", "data", "fact", "value")  # keys of an entry's words, the first that is there
LISTS = ("results", "memories", "data", "items")  # keys of a list of entries
TIMES = ("created_at", "at", "timestamp", "updated_at")
PEOPLE = ("user_id", "agent_id", "run_id", "app_id")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a store. `owner` is whose it is: entries of two owners are never compared.

    `at` is when it was said or stored, None where the file does not tell. `evidence` are the words that it stands on,
    None where the file has none for any entry.
    """

    id: str
    text: str
    owner: str = ""
    at: datetime | None = None
    language: str = "und"
    kind: str | None = None
    slot: Slot | None = None
    negated: bool = False
    event_end: datetime | None = None
    evidence: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: what it is ("memstrata store", "mem0 export", ...) and its entries, in its order."""

    kind: str
    entries: tuple[Entry, ...]
    has_evidence: bool = False

    @property
    def has_times(self) -> bool:
        return any(entry.at is not None for entry in self.entries)


def read_source(path: str | Path) -> Source:
    """The entries of a file; what it is, is told by its content. InputError names what cannot be read, and where."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE))
        if head == SQLITE:
            return _store(path)
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is neither a memstrata store nor UTF-8 text: {error.reason}") from error
    return _read_text(text, str(path))


def _read_text(text: str, where: str) -> Source:
    if not text.strip():
        raise InputError(f"{where} is empty")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _lines(text, where)
    if isinstance(whole, Mapping) and not _words_of(whole):
        listed = next((whole[name] for name in LISTS if isinstance(whole.get(name), list)), None)
        if listed is None:
            raise InputError(f"{where}: no list of entries in it (looked for {', '.join(LISTS)})")
        whole = listed
    items = whole if isinstance(whole, list) else [whole]
    return _plain(items, where, lambda number: f"item {number}")


def _lines(text: str, where: str) -> Source:
    items: list[Any] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                items.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: line {number} is not JSON: {error}") from error
    if isinstance(items[0], Mapping) and items[0].get("type") == "header":
        try:
            return _export(items)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{where} is a damaged export: {type(error).__name__} {error}") from error
    return _plain(items, where, lambda number: f"line {number}")


# other stores ---------------------------------------------------------------------------------------------------------


def _plain(items: Sequence[Any], where: str, place: Callable[[int], str]) -> Source:
    entries = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            item = {"text": item}
        if not isinstance(item, Mapping):
            raise InputError(f"{where}: {place(number)} is no object with an entry")
        payload = item.get("payload")
        fields = {**item, **payload} if isinstance(payload, Mapping) else item
        words = _words_of(fields)
        if words is None:
            raise InputError(f"{where}: {place(number)} has no text (looked for {', '.join(TEXTS)})")
        owner = " / ".join(f"{name.removesuffix('_id')} {fields[name]}" for name in PEOPLE if fields.get(name))
        entries.append(
            Entry(str(fields.get("id") or place(number)), words, owner, _time_of(fields), detect(words[:400]))
        )
    is_mem0 = any(isinstance(item, Mapping) and "memory" in item and "hash" in item for item in items)
    return Source("mem0 export" if is_mem0 else "list of texts", tuple(entries))


def _words_of(fields: Mapping[str, Any]) -> str | None:
    return next((fields[name] for name in TEXTS if isinstance(fields.get(name), str)), None)


def _time_of(fields: Mapping[str, Any]) -> datetime | None:
    """The first time that can be read; a naive one is taken for UTC, a number for seconds since 1970."""
    for value in (fields.get(name) for name in TIMES):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                return datetime.fromtimestamp(value, UTC)
            except (ValueError, OverflowError, OSError):
                continue
        if isinstance(value, str):
            try:
                at = datetime.fromisoformat(value)
            except ValueError:
                continue
            return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return None


# memstrata ------------------------------------------------------------------------------------------------------------


def _store(path: Path) -> Source:
    """The current notes of a store, which is opened so that not a byte of it changes."""
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"  # without a log nobody is writing
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as db:
            db.row_factory = sqlite3.Row
            notes = [dict(row) for row in db.execute("SELECT * FROM notes WHERE state = 'current' ORDER BY owner, no")]
            said = db.execute(
                "SELECT e.tenant, e.owner, e.note, t.text, t.parts FROM evidence e JOIN turns t"
                " ON t.tenant = e.tenant AND t.owner = e.owner AND t.no = e.turn ORDER BY e.note, e.turn"
            ).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} is no memstrata store: {error}") from error
    evidence: dict[tuple[str, str, int], list[str]] = {}
    for row in said:
        parts = json.loads(row["parts"]) if row["parts"] else []
        evidence.setdefault((row["tenant"], row["owner"], row["note"]), []).append(_said(row["text"], parts))
    tenants = {note["tenant"] for note in notes}
    entries = []
    for note in notes:
        owner = _owner(note["owner"]) if len(tenants) == 1 else f"{note['tenant']}: {_owner(note['owner'])}"
        event = note["event_end"]
        entries.append(
            _note(
                note,
                owner,
                from_us(note["said_at"]),
                None if event is None else from_us(event),
                json.loads(note["edited"]),
                evidence.get((note["tenant"], note["owner"], note["no"]), []),
            )
        )
    return Source("memstrata store", tuple(entries), has_evidence=True)


@dataclass(slots=True)
class _Exported:
    """What an export has of one owner so far."""

    owner: str
    turns: dict[int, str] = field(default_factory=dict)
    notes: list[Mapping[str, Any]] = field(default_factory=list)
    cited: dict[int, list[int]] = field(default_factory=dict)

    def entries(self) -> Iterator[Entry]:
        for note in self.notes:
            event = note.get("event_end")
            yield _note(
                note,
                self.owner,
                datetime.fromisoformat(note["said_at"]),
                None if event is None else datetime.fromisoformat(event),
                note["edited"],
                [self.turns[turn] for turn in self.cited.get(note["number"], []) if turn in self.turns],
            )


def _export(items: Iterable[Mapping[str, Any]]) -> Source:
    """The current notes of an export of memstrata."""
    owners: list[_Exported] = []
    for item in items:
        match item.get("type"):
            case "owner":
                owners.append(_Exported(f"user {item['user']}" if "user" in item else f"agent {item['agent']}"))
            case "turn":
                owners[-1].turns[item["number"]] = _said(item["text"], item.get("parts") or [])
            case "note" if item["state"] == "current":
                owners[-1].notes.append(item)
            case "evidence":
                owners[-1].cited.setdefault(item["note"], []).append(item["turn"])
    entries = tuple(entry for owner in owners for entry in owner.entries())
    return Source("memstrata export", entries, has_evidence=True)


def _note(
    note: Mapping[str, Any],
    owner: str,
    at: datetime,
    event_end: datetime | None,
    edited: Sequence[str],
    evidence: Sequence[str],
) -> Entry:
    """A note as an entry, without the speaker in front. What a person wrote into it needs no evidence."""
    speaker, subject = note.get("speaker"), note.get("subject")
    text = note["content"].removeprefix(f"{speaker}: ") if speaker else note["content"]
    return Entry(
        id=note["id"],
        text=text,
        owner=f"{owner} / agent {note['agent']}" if note["agent"] else owner,
        at=at,
        language=note["language"],
        kind=note["kind"],
        slot=None if subject is None else Slot(subject, note["attribute"], note["value"]),
        negated=bool(note["negated"]),
        event_end=event_end,
        evidence=None if "content" in edited else tuple(evidence),
    )


def _owner(owner: str) -> str:
    kind, _, name = owner.partition(":")
    return f"{'user' if kind == 'u' else 'agent'} {name}"


def _said(text: str, parts: Sequence[Mapping[str, Any]]) -> str:
    """The words of a turn with the captions of its parts, as they are extracted from."""
    return " ".join([text, *(f"[{part['caption']}]" for part in parts if part.get("caption"))]).strip()
