"""mem0: an export (what `get_all` or the platform gives, as JSON or JSON Lines), or its history.db.

mem0 keeps vectors in a store of the user's choice; its history.db has the text of every memory, but not whose it is. So
the export of `get_all` is the better source: with ids, users and times.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from memstrata.errors import InputError
from memstrata.moving.found import Found, Place, Said, Statement, is_sqlite, name_of, read_text, text_of, words_of

LOOKED_FOR: Final = "a JSON export of mem0 (get_all), JSON Lines of memories, or history.db"
LISTS: Final = ("results", "memories", "data", "items")
TEXTS: Final = ("memory", "data", "text", "content")
KNOWN: Final = {
    "id", "memory", "data", "text", "content", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id",
    "metadata", "categories", "payload", "score", "text_lemmatized", "event",
}  # fmt: skip
ROLES: Final = ("user", "assistant", "system", "tool")


def read_mem0(path: Path) -> Found:
    """Every current memory; deleted ones stay behind."""
    if path.is_dir():
        history = path / "history.db"
        if not history.exists():
            raise InputError(f"{path}: looked for {LOOKED_FOR}")
        path = history
    found = Found()
    if is_sqlite(path):
        _read_history(path, found)
    else:
        for where, item in _items(path):
            _take(where, item, found)
    return found.check(path, LOOKED_FOR)


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    text = read_text(path)
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        yield from _lines(path, text)
        return
    if isinstance(whole, Mapping):
        whole = next((whole[name] for name in LISTS if isinstance(whole.get(name), list)), [whole])
    if not isinstance(whole, list):
        raise InputError(f"{path}: looked for {LOOKED_FOR}")
    yield from ((f"item {n}", item) for n, item in enumerate(whole, 1))


def _lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {n}", json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise InputError(f"{path}: line {n} is no JSON: {error}") from error


def _take(where: str, item: Any, found: Found) -> None:
    if not isinstance(item, Mapping):
        found.skip(where, "no object")
        return
    payload = item.get("payload")  # as a vector store keeps it
    fields = {**item, **payload} if isinstance(payload, Mapping) else dict(item)
    text = next((each for name in TEXTS if (each := text_of(fields.get(name)))), None)
    if text is None:
        found.skip(where, f"no text (looked for {', '.join(TEXTS)})")
        return
    source_id = name_of(fields.get("id")) or where
    own = fields.get("metadata")
    metadata = dict(own) if isinstance(own, Mapping) else {}
    metadata |= {name: value for name, value in fields.items() if name not in KNOWN and value is not None}
    place = Place(name_of(fields.get("user_id")), name_of(fields.get("agent_id")), name_of(fields.get("run_id")))
    at = text_of(fields.get("created_at")) or text_of(fields.get("updated_at"))
    found.statements.append(Statement(source_id, text, place, at, words_of(fields.get("categories")), metadata))


def _read_history(path: Path, found: Found) -> None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            tables = {row["name"] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if "history" not in tables:
                raise InputError(f"{path} is no history.db of mem0: it has no table history")
            rows = db.execute("SELECT * FROM history ORDER BY rowid").fetchall()
            said = db.execute("SELECT * FROM messages ORDER BY rowid").fetchall() if "messages" in tables else []
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    born: dict[str, Any] = {}
    newest: dict[str, sqlite3.Row] = {}
    for row in rows:
        born.setdefault(row["memory_id"], row["created_at"])
        newest[row["memory_id"]] = row
    for memory_id, row in newest.items():
        if row["event"] == "DELETE" or row["is_deleted"]:
            continue
        if (text := text_of(row["new_memory"])) is None:
            found.skip(f"memory {memory_id}", "no text")
            continue
        at = text_of(row["updated_at"]) or text_of(born[memory_id])
        found.statements.append(Statement(str(memory_id), text, Place(), at))
    for row in said:
        where = f"message {row['id']}"
        if row["role"] not in ROLES or text_of(row["content"]) is None:
            found.skip(where, f"role {row['role']!r} with no text or unknown")
            continue
        place = _place_of(text_of(row["session_scope"]) or "")
        found.messages.append(
            Said(str(row["id"]), row["role"], row["content"], place, text_of(row["created_at"]), text_of(row["name"]))
        )


def _place_of(session_scope: str) -> Place:
    """mem0 writes a session's scope as "agent_id=a&run_id=r&user_id=u", with %, & and = in values escaped."""
    pairs = (part.split("=", 1) for part in session_scope.split("&") if "=" in part)
    parts = {name: unquote(value) for name, value in pairs}
    return Place(parts.get("user_id"), parts.get("agent_id"), parts.get("run_id"))
