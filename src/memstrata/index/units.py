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
from memstrata.store.read import select_in
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
    tokens: tuple[bytes | None, ...] = ()  # of each chunk, packed, once a turn was encoded; none: none are stored

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

    def put(self, document: Document, vectors: Vectors) -> None:
        """Index a document, in place of what the unit was."""
        self.put_all([(document, vectors)])

    def put_all(self, items: Sequence[tuple[Document, Vectors]]) -> None:
        """Index different documents, each in place of what its unit was; new units are numbered in their order."""
        key = (self.tenant, self.owner)
        known = self._known([document for document, _ in items])
        old, new, rows = [], [], []
        for document, vectors in items:
            length = round(sum(size(text) for text in document.dense))
            unit = known.get((document.kind, document.ref))
            if unit is None:
                unit = self.counters.next_unit
                self.counters.next_unit += 1
                new.append((*key, unit, document.kind, document.ref, length, self.counters.changed))
            else:
                old.append((length, self.counters.changed, *key, unit))
            blobs = np.asarray(vectors, dtype="<f4")
            tokens = document.tokens or (None,) * len(document.dense)
            texts = zip(document.dense, document.chunk_terms(), blobs, tokens, strict=True)
            for chunk, (text, found, vector, packed) in enumerate(texts):
                flags = flags_of(text, document.speaker)
                rows.append((*key, unit, chunk, self.model, len(vector), flags, found, vector.tobytes(), packed))
        if old:
            self.db.many("UPDATE units SET length = ?, changed = ? WHERE tenant = ? AND owner = ? AND no = ?", old)
            self.db.many(
                "DELETE FROM vectors WHERE tenant = ? AND owner = ? AND unit = ?", [(*key, row[-1]) for row in old]
            )
        self.db.many(
            "INSERT INTO units (tenant, owner, no, kind, ref, length, changed) VALUES (?, ?, ?, ?, ?, ?, ?)", new
        )
        self.db.many(
            "INSERT INTO vectors (tenant, owner, unit, chunk, model, dim, flags, terms, vector, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _known(self, documents: Sequence[Document]) -> dict[tuple[int, int], int]:
        """The units that some of the documents have already, by kind and number."""
        found: dict[tuple[int, int], int] = {}
        for kind in {document.kind for document in documents}:
            sql = "SELECT ref, no FROM units WHERE tenant = ? AND owner = ? AND kind = ? AND ref IN ({marks})"
            refs = [document.ref for document in documents if document.kind == kind]
            found.update(
                ((kind, ref), no) for ref, no in select_in(self.db, sql, (self.tenant, self.owner, kind), refs)
            )
        return found

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
