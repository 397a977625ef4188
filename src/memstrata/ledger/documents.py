"""What an owner's units have to be, told from the tables of the truth alone: reindex, reembed, import and check agree
by asking here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from memstrata.distil.stages import writer_for
from memstrata.engine import Engine
from memstrata.index.encode import Encoded
from memstrata.index.units import Document, document_of, page_document, turn_document
from memstrata.store.base import Db, Row
from memstrata.store.counters import load_counters, save_counters
from memstrata.store.kinds import TURN
from memstrata.store.rows import note_of, turn_of
from memstrata.types import Scope

Key = tuple[str, str]
EncodedOf = Mapping[tuple[str, ...], Encoded]  # by the chunks of a document: one row a chunk


@dataclass(frozen=True, slots=True)
class Sources:
    """The rows of one owner that units are made from; jobs tell what is not indexed yet."""

    turns: Sequence[Row]
    pages: Sequence[Row]
    notes: Sequence[Row]
    jobs: Sequence[Row]


def read_sources(db: Db, key: Key) -> Sources:
    def rows(table: str) -> list[Row]:
        return db.all(f"SELECT * FROM {table} WHERE tenant = ? AND owner = ? ORDER BY no", key)

    return Sources(rows("turns"), rows("pages"), rows("notes"), rows("jobs"))


def documents_of(sources: Sources) -> list[Document]:
    """The documents of an owner: turns, then pages, then notes, each in their order.

    Turns that a queued (or failed) job has still to index, and pages without a summary yet, have none.
    """
    waiting = _waiting_turns(sources.jobs)
    turns = [turn_document(turn_of(row)) for row in sources.turns if row["no"] not in waiting]
    pages = [page_document(row["no"], row["summary"]) for row in sources.pages if row["summary"]]
    notes = [document_of(note_of(row)) for row in sources.notes]
    return turns + pages + notes


def _waiting_turns(jobs: Sequence[Row]) -> set[int]:
    waiting: set[int] = set()
    for job in jobs:
        payload = orjson.loads(job["payload"])
        if job["kind"] == "index":
            waiting.update(range(payload["first"], payload["last"] + 1))
        elif job["kind"] == "remember":
            waiting.update(range(payload["turn"], payload.get("last", payload["turn"]) + 1))
    return waiting


def rebuild(engine: Engine, db: Db, scope: Scope, documents: Sequence[Document], encoded: EncodedOf) -> None:
    """Write an owner's units and vectors anew, in the caller's transaction.

    Known units keep their numbers. `encoded` has the vectors of every document; tokens are kept of turns.
    """
    key = (scope.tenant, scope.owner)
    counters = load_counters(db, *key)
    counters.changed += 1
    counters.epoch += 1  # readers load the owner anew
    db.run("DELETE FROM vectors WHERE tenant = ? AND owner = ?", key)
    wanted = {(document.kind, document.ref) for document in documents}
    for row in db.all("SELECT no, kind, ref FROM units WHERE tenant = ? AND owner = ?", key):
        if (row["kind"], row["ref"]) not in wanted:
            db.run("DELETE FROM units WHERE tenant = ? AND owner = ? AND no = ?", (*key, row["no"]))
    writer = writer_for(engine, db, scope, counters)
    for document in documents:
        vectors, tokens = encoded[document.dense]
        writer.put(replace(document, tokens=tokens) if document.kind == TURN else document, vectors)
    save_counters(db, *key, counters)
