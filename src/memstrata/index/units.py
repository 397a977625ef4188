"""Writing the derived tables: one unit for each note, page and turn, with the terms and the vector of each chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.chunks import chunks
from memstrata.index.flags import flags_of
from memstrata.store.base import Db
from memstrata.store.counters import Counters
from memstrata.store.kinds import NOTE, PAGE, TURN
from memstrata.text.measure import size
from memstrata.text.tokens import terms
from memstrata.types import Note, Turn

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Document:
    """One unit to be: its chunks as they are embedded, and the texts that the terms of each chunk are taken from."""

    kind: int
    ref: int
    dense: tuple[str, ...]
    lexical: tuple[str, ...]
    speaker: str | None = None

    def chunk_terms(self) -> list[str]:
        """The terms of each chunk, sorted, with spaces between; a chunk may have none."""
        found = [" ".join(sorted(set(terms(text)))) for text in self.lexical]
        return found + [""] * (len(self.dense) - len(found))


def turn_document(turn: Turn) -> Document:
    """A turn is embedded as it was said; its terms know the day too ("8 May 2023")."""
    dense = tuple(chunks(turn.said))
    date = f"{turn.at.day} {turn.at:%B %Y}"
    return Document(TURN, turn.no, dense, tuple(f"{text} {date}" for text in dense), turn.speaker or turn.role)


def page_document(no: int, summary: str) -> Document:
    """A page is embedded as its summary; its words are found in its turns, so it has no terms of its own."""
    return Document(PAGE, no, tuple(chunks(summary)), ())


def note_document(
    no: int, content: str, context: str, keywords: Sequence[str], tags: Sequence[str], speaker: str | None = None
) -> Document:
    """A-MEM: a note is embedded as its content, context, keywords and tags. Its terms are those of what it says and of
    its tags: the context quotes what others said."""
    extras = " ".join(part for part in (context, ", ".join(keywords), ", ".join(tags)) if part)
    text = f"{content}\n{extras}" if extras else content
    return Document(NOTE, no, tuple(chunks(text)), (f"{content} {' '.join(tags)}",), speaker)


def document_of(note: Note) -> Document:
    return note_document(note.no, note.content, note.context, note.keywords, note.tags, note.speaker)


@dataclass(slots=True)
class IndexWriter:
    """Puts and drops units of one owner inside a transaction; the caller saves the counters."""

    db: Db
    tenant: str
    owner: str
    model: str
    counters: Counters

    def put(self, document: Document, vectors: Vectors) -> int:
        """Index a document, in place of what the unit was; returns the unit's number."""
        key = (self.tenant, self.owner)
        row = self.db.one(
            "SELECT no FROM units WHERE tenant = ? AND owner = ? AND kind = ? AND ref = ?",
            (*key, document.kind, document.ref),
        )
        length = round(sum(size(text) for text in document.dense))
        if row is None:
            unit = self.counters.next_unit
            self.counters.next_unit += 1
            self.db.run(
                "INSERT INTO units (tenant, owner, no, kind, ref, length, changed) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, unit, document.kind, document.ref, length, self.counters.changed),
            )
        else:
            unit = row["no"]
            self.db.run(
                "UPDATE units SET length = ?, changed = ? WHERE tenant = ? AND owner = ? AND no = ?",
                (length, self.counters.changed, *key, unit),
            )
            self.db.run("DELETE FROM vectors WHERE tenant = ? AND owner = ? AND unit = ?", (*key, unit))
        self.db.many(
            "INSERT INTO vectors (tenant, owner, unit, chunk, model, dim, flags, terms, vector)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    *key,
                    unit,
                    chunk,
                    self.model,
                    vector.shape[0],
                    flags_of(text, document.speaker),
                    found,
                    vector.astype("<f4").tobytes(),
                )
                for chunk, (text, found, vector) in enumerate(
                    zip(document.dense, document.chunk_terms(), vectors, strict=True)
                )
            ],
        )
        return unit

    def drop(self, kind: int, ref: int) -> None:
        """Remove a unit with its terms and vectors."""
        key = (self.tenant, self.owner)
        row = self.db.one(
            "SELECT no FROM units WHERE tenant = ? AND owner = ? AND kind = ? AND ref = ?", (*key, kind, ref)
        )
        if row is None:
            return
        self.db.run("DELETE FROM vectors WHERE tenant = ? AND owner = ? AND unit = ?", (*key, row["no"]))
        self.db.run("DELETE FROM units WHERE tenant = ? AND owner = ? AND no = ?", (*key, row["no"]))
        self.counters.epoch += 1  # readers load the owner anew
