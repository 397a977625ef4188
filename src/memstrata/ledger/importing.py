"""Import: an export of memstrata, messages as JSON Lines, or conversations of the LoCoMo schema, told by the content.

The whole file is read and checked first. A fault is an InputError that names the line; then nothing was written.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import orjson

from memstrata.engine import Engine
from memstrata.errors import ConflictError, InputError
from memstrata.index.encode import Encoded
from memstrata.intake.add import accept, add, close_session
from memstrata.intake.scope import scope_of, scope_of_owner
from memstrata.ledger.documents import Sources, documents_of, rebuild
from memstrata.ledger.records import BY_TYPE, FORMAT, OWNER, VERSION, Record
from memstrata.ledger.reindex import embed_missing, report
from memstrata.store.base import Db
from memstrata.store.rows import insert
from memstrata.types import Progress, Scope

MESSAGES = 100  # that one `add` of an import takes
PLACE = ("user_id", "agent_id", "session_id")  # fields of a message line that say where it belongs


async def import_(
    engine: Engine, source: str | Path | IO[Any], scope: Scope | None, progress: Progress | None = None
) -> dict[str, int]:
    """Read a file of any of the three kinds; see `AsyncMemory.import_`. Returns counts of what was taken."""
    name, data = await asyncio.to_thread(_read, source)
    first = next((line for line in data.split(b"\n", 64) if line.strip()), b"")
    if first.lstrip()[:1] == b"[":
        return await _import_locomo(engine, name, data, scope, progress)
    if _object(first, name, 1).get("type") == "header":
        return await _import_export(engine, name, data, scope, progress)
    return await _import_messages(engine, name, data, scope, progress)


def _read(source: str | Path | IO[Any]) -> tuple[str, bytes]:
    if not isinstance(source, str | Path):
        content = source.read()
        return "the stream", content.encode() if isinstance(content, str) else content
    try:
        return str(source), Path(source).read_bytes()
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _fault(name, number, f"no JSON ({error})") from error
    if not isinstance(data, dict):
        raise _fault(name, number, "a JSON object is expected")
    return data


def _fault(name: str, number: int, message: str) -> InputError:
    return InputError(f"{name}: line {number}: {message.removesuffix('.')}; nothing was imported")


def _objects(data: bytes, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield number, _object(line, name, number)


# exports --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Owner:
    """What an export has of one owner: its counters, and rows by table."""

    owner: str
    counters: Mapping[str, Any]
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _keys: set[tuple[object, ...]] = field(default_factory=set)

    def take(self, record: Record, item: Mapping[str, Any]) -> None:
        """Add a line; InputError when it cannot be read or was there before."""
        row = record.row(item)
        key = (record.type, *(row[column] for column in record.order))
        if key in self._keys:
            raise InputError(f"this {record.type} was there before")
        self._keys.add(key)
        self.rows.setdefault(record.table, []).append(row)

    def of(self, table: str) -> list[dict[str, Any]]:
        return self.rows.get(table, [])


async def _import_export(
    engine: Engine, name: str, data: bytes, scope: Scope | None, progress: Progress | None
) -> dict[str, int]:
    owners = _renamed(list(_read_owners(data, name)), scope, name)
    tenant = engine.settings.tenant

    def check(db: Db) -> None:
        engine.check_model(db)
        for owner in owners:
            _check_empty(db, tenant, owner.owner)

    await engine.store.read(check)
    counts: Counter[str] = Counter(owners=len(owners))
    for n, owner in enumerate(owners, 1):
        await _restore(engine, owner)
        counts.update({table: len(rows) for table, rows in owner.rows.items()})
        report(progress, "owners", n, len(owners))
    return dict(counts)


def _read_owners(data: bytes, name: str) -> Iterator[Owner]:
    """The owners of an export, every line checked."""
    owner: Owner | None = None
    ended, lines, number = False, 0, 0
    for number, item in _objects(data, name):
        kind = str(item.get("type"))
        if number == 1:
            _check_header(item, name)
            continue
        if ended:
            raise _fault(name, number, "something follows the end")
        if kind == "end":
            ended = True
            if item.get("lines") != lines:
                raise _fault(name, number, f"{item.get('lines')} lines were written, {lines} are here")
            continue
        lines += 1
        try:
            if kind == "owner":
                if owner is not None:
                    yield owner
                owner = _owner_of(item)
            elif kind in BY_TYPE and owner is not None:
                owner.take(BY_TYPE[kind], item)
            else:
                raise InputError(f"unknown type {kind!r}" if owner else "a row stands before the first owner")
        except InputError as error:
            raise _fault(name, number, str(error)) from error
    if not ended:
        raise _fault(name, number, "the file was cut off: its last line is missing")
    if owner is not None:
        yield owner


def _check_header(item: Mapping[str, Any], name: str) -> None:
    if item.get("format") != FORMAT:
        raise _fault(name, 1, f"the format is {item.get('format')!r}, not {FORMAT!r}")
    version = item.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise _fault(
            name, 1, f"version {version!r} is not known here (up to {VERSION}): pip install --upgrade memstrata"
        )


def _owner_of(item: Mapping[str, Any]) -> Owner:
    named = {key: item[key] for key in ("user", "agent") if key in item}
    if len(named) != 1:
        raise InputError("an owner is either a user or an agent")
    scope = scope_of("any", named.get("user"), named.get("agent"))
    rest = {key: value for key, value in item.items() if key not in named}
    return Owner(scope.owner, OWNER.row(rest))


def _renamed(owners: list[Owner], scope: Scope | None, name: str) -> list[Owner]:
    """The owners as they are to be stored: under the scope's user where one is named."""
    if scope is None or [owner.owner for owner in owners] == [scope.owner]:
        return owners
    if scope.user is None or len(owners) != 1 or not owners[0].owner.startswith("u:"):
        raise InputError(f"{name}: only the export of one user can be imported under another user_id")
    return [replace(owners[0], owner=scope.owner)]


def _check_empty(db: Db, tenant: str, owner: str) -> None:
    if db.one("SELECT 1 FROM owners WHERE tenant = ? AND owner = ?", (tenant, owner)) is not None:
        what = "user" if owner.startswith("u:") else "agent"
        raise ConflictError(
            f"there is memory of {what} {owner[2:]!r} already: import into an empty store, erase it first, "
            "or name another user_id"
        )


async def _restore(engine: Engine, owner: Owner) -> None:
    """Write the rows of one owner and all that is derived from them, in one transaction."""
    scope = scope_of_owner(engine.settings.tenant, owner.owner)
    documents = documents_of(Sources(owner.of("turns"), owner.of("pages"), owner.of("notes"), owner.of("jobs")))
    encoded: dict[tuple[str, ...], Encoded] = {}
    await embed_missing(engine, documents, encoded)

    def write(db: Db) -> None:
        _check_empty(db, scope.tenant, scope.owner)
        rebuild(engine, db, scope, documents, encoded)
        assignments = ", ".join(f"{column} = ?" for column in owner.counters)
        db.run(
            f"UPDATE owners SET {assignments} WHERE tenant = ? AND owner = ?",
            (*owner.counters.values(), scope.tenant, scope.owner),
        )
        for table, rows in owner.rows.items():
            for row in rows:
                insert(db, table, scope.tenant, scope.owner, row)

    await engine.store.write(write)


# messages -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A message of a file and the scope it goes to."""

    scope: Scope
    message: Mapping[str, Any]


async def _import_messages(
    engine: Engine, name: str, data: bytes, scope: Scope | None, progress: Progress | None
) -> dict[str, int]:
    lines = [_message_line(engine, name, number, item, scope) for number, item in _objects(data, name)]
    counts: Counter[str] = Counter()
    file = hashlib.blake2b(data, digest_size=16).hexdigest()
    for where, group in groupby(lines, key=lambda line: line.scope):
        messages = [dict(line.message) for line in group]
        for start in range(0, len(messages), MESSAGES):
            part = messages[start : start + MESSAGES]
            # An import that was cut is gone on with by the next one of the same file.
            receipt = await add(engine, where, part, idempotency_key=f"import/{file}/{counts.total()}")
            counts.update("skipped" if receipt.repeated else outcome.outcome for outcome in receipt.messages)
            report(progress, "messages", counts.total(), len(lines))
    return {"messages": len(lines), **counts}


def _message_line(engine: Engine, name: str, number: int, item: dict[str, Any], scope: Scope | None) -> Line:
    """One line of messages, checked as `add` will check it."""
    place = {key: item[key] for key in PLACE if item.get(key) is not None}
    message = {key: value for key, value in item.items() if key not in PLACE}
    try:
        where = scope_of(
            engine.settings.tenant,
            place.get("user_id", scope.user if scope else None),
            place.get("agent_id", scope.agent if scope else None),
            place.get("session_id", scope.session if scope else None),
        )
        accept(engine, message, None, None)
    except InputError as error:
        raise _fault(name, number, str(error)) from error
    return Line(where, message)


# LoCoMo ---------------------------------------------------------------------------------------------------------------


async def _import_locomo(
    engine: Engine, name: str, data: bytes, scope: Scope | None, progress: Progress | None
) -> dict[str, int]:
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _fault(name, data.count(b"\n", 0, error.pos) + 1, f"no JSON ({error})") from error
    from memstrata.evaluation.locomo import read_locomo  # with what evaluates: few memories import a benchmark

    conversations = read_locomo(content, name).conversations
    if scope is not None and len(conversations) > 1:
        raise InputError(f"{name} has {len(conversations)} conversations: each becomes a user of its own, name none")
    scopes = {each.id: scope or scope_of(engine.settings.tenant, each.id) for each in conversations}
    total = sum(len(each.sessions) for each in conversations)
    counts: Counter[str] = Counter(conversations=len(conversations))
    for conversation in conversations:
        for session in conversation.sessions:
            where = replace(scopes[conversation.id], session=session.id)
            await add(engine, where, [turn.message() for turn in session.turns])
            await close_session(engine, where)
            counts.update(sessions=1, turns=len(session.turns))
            report(progress, "sessions", counts["sessions"], total)
    return dict(counts)
