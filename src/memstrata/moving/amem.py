"""A-MEM: its notes as JSON (the fields of MemoryNote), or the Chroma folder in which its retriever keeps them.

Pickles, as its evaluation program caches them, are not opened: to unpickle a file is to run it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from memstrata.errors import InputError
from memstrata.moving.found import Found, Place, Statement, is_sqlite, name_of, read_json, text_of, words_of

LOOKED_FOR: Final = "A-MEM's notes as JSON (a list, or an object by id), or a folder with chroma.sqlite3"
CHROMA: Final = "chroma.sqlite3"
DOCUMENT: Final = "chroma:document"
DEFAULTS: Final = ("General", "Uncategorized", "")  # what its program writes where nothing is known
PICKLE: Final = b"\x80"
VALUES: Final = ("string_value", "int_value", "float_value", "bool_value")


def read_amem(path: Path) -> Found:
    """Every note; its links are made anew by our own stages."""
    if path.is_dir():
        path = path / CHROMA
        if not path.exists():
            raise InputError(f"{path.parent}: looked for {LOOKED_FOR}")
    with path.open("rb") as stream:
        if stream.read(1) == PICKLE:
            raise InputError(
                f"{path} is a pickle, and to open one is to run it: write the notes as JSON where they were made, "
                "json.dump([vars(note) for note in memories.values()], file)"
            )
    found = Found()
    for where, note in _from_chroma(path) if is_sqlite(path) else _from_json(path):
        _take(where, note, found)
    return found.check(path, LOOKED_FOR)


def _from_json(path: Path) -> Iterator[tuple[str, Any]]:
    whole = read_json(path)
    if isinstance(whole, Mapping) and isinstance(whole.get("memories"), (list, Mapping)):
        whole = whole["memories"]
    if isinstance(whole, list):
        yield from ((f"note {n}", note) for n, note in enumerate(whole, 1))
    elif isinstance(whole, Mapping):
        for note_id, note in whole.items():
            yield f"note {note_id}", {"id": note_id, **note} if isinstance(note, Mapping) else note
    else:
        raise InputError(f"{path}: looked for {LOOKED_FOR}")


def _from_chroma(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(
                f"SELECT e.id, e.embedding_id, m.key, {', '.join(f'm.{value}' for value in VALUES)}"
                " FROM embeddings e JOIN embedding_metadata m ON m.id = e.id ORDER BY e.id, m.key"
            ).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path} is no Chroma store that can be read: {error}") from error
    notes: dict[int, dict[str, Any]] = {}
    for number, embedding_id, key, *values in rows:
        note = notes.setdefault(number, {"id": embedding_id})
        value = next((each for each in values if each is not None), None)
        note.setdefault("content" if key == DOCUMENT else key, value)
        if key == "content":
            note["content"] = value
    yield from ((f"note {note['id']}", note) for note in notes.values())


def _take(where: str, note: Any, found: Found) -> None:
    text = text_of(note.get("content")) if isinstance(note, Mapping) else None
    if text is None:
        found.skip(where, "no content")
        return
    metadata: dict[str, Any] = {
        name: value
        for name in ("context", "category")
        if (value := text_of(note.get(name))) is not None and value not in DEFAULTS
    }
    if keywords := words_of(note.get("keywords")):
        metadata["keywords"] = list(keywords)
    source_id = name_of(note.get("id")) or where
    found.statements.append(
        Statement(source_id, text, Place(), _time(note.get("timestamp")), words_of(note.get("tags")), metadata)
    )


def _time(value: object) -> str | None:
    """A-MEM writes YYYYMMDDHHMM; what is written otherwise is left as it is."""
    text = name_of(value)
    if text is not None and len(text) == 12 and text.isdigit():
        return f"{text[:4]}-{text[4:6]}-{text[6:8]}T{text[8:10]}:{text[10:]}"
    return text
