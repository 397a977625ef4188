"""Check: does what is derived agree with the truth, and the truth with itself?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from memstrata.engine import Engine
from memstrata.errors import StoreFormatError
from memstrata.index.flags import flags_of
from memstrata.index.owner import OwnerIndex
from memstrata.index.units import Document
from memstrata.intake.scope import scope_of_owner
from memstrata.ledger.documents import Key, Sources, documents_of, read_sources
from memstrata.store.base import Db, Row
from memstrata.store.kinds import NOTE, PAGE, TURN, UNDONE_BIT
from memstrata.text.names import name_key

UNIT_NAMES = {NOTE: "note", PAGE: "page", TURN: "turn"}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One thing that is wrong: whose ("u:" and a user, "a:" and an agent, "" the file), in which table, where, what."""

    owner: str
    table: str
    row: str
    problem: str


async def check(engine: Engine) -> tuple[Disagreement, ...]:
    """Every disagreement of the tenant's owners, each read on one snapshot. See `AsyncMemory.check`."""
    tenant = engine.settings.tenant
    found = [Disagreement("", "", "", fault) for fault in await engine.store.integrity()]
    owners = await engine.store.read(lambda db: db.all("SELECT owner FROM owners WHERE tenant = ?", (tenant,)))
    for owner in sorted(row["owner"] for row in owners):
        found += await engine.store.read(lambda db: check_owner(db, (tenant, owner)))  # noqa: B023
        found += await _index_file(engine, (tenant, owner))
    return tuple(found)


async def _index_file(engine: Engine, key: Key) -> list[Disagreement]:
    """What the owner's index file says otherwise than the tables. Such a file is removed: recall makes it again."""
    files = engine.files
    if files is None or not files.path(key).exists():
        return []

    def read(db: Db) -> list[str]:
        kept = OwnerIndex(*key, engine.embedder.dim, engine.embedder.name, files)
        fresh = OwnerIndex(*key, engine.embedder.dim)
        try:
            kept.refresh(db)
            fresh.refresh(db)
        except StoreFormatError:  # the tables' own faults are told by the other checks
            return []
        return files.faults(kept, fresh)

    faults = await engine.store.read(read)
    if faults:
        await engine.drop_index(scope_of_owner(*key))
    removed = "it was removed, recall makes it again"
    return [Disagreement(key[1], "index file", "", f"{fault}: {removed}") for fault in faults]


def check_owner(db: Db, key: Key) -> list[Disagreement]:
    """Every disagreement of one owner."""
    sources = read_sources(db, key)
    found = [*_units(db, key, sources), *_references(db, key, sources), *_tiers(db, key, sources), *_counters(db, key)]
    return [Disagreement(key[1], table, row, problem) for table, row, problem in found]


Found = Iterator[tuple[str, str, str]]  # table, row, problem


def _rows(db: Db, table: str, key: Key) -> list[Row]:
    return db.all(f"SELECT * FROM {table} WHERE tenant = ? AND owner = ?", key)


# derived --------------------------------------------------------------------------------------------------------------


def _units(db: Db, key: Key, sources: Sources) -> Found:
    documents = {(document.kind, document.ref): document for document in documents_of(sources)}
    units = {(row["kind"], row["ref"]): row["no"] for row in _rows(db, "units", key)}
    # What was undone before it was indexed never is.
    undone = {(TURN, row["no"]) for row in sources.turns if row["hidden"] & UNDONE_BIT}
    undone |= {(PAGE, row["no"]) for row in sources.pages if row["state"] == "undone"}
    for kind, ref in sorted(documents.keys() - units.keys() - undone):
        yield "units", f"{UNIT_NAMES[kind]} {ref}", "missing: it cannot be found"
    for kind, ref in sorted(units.keys() - documents.keys() - undone):
        yield "units", f"{UNIT_NAMES[kind]} {ref}", "stands for nothing"
    numbers = set(units.values())
    vectors: dict[int, dict[int, Row]] = defaultdict(dict)
    for row in _rows(db, "vectors", key):
        vectors[row["unit"]][row["chunk"]] = row
    for unit in sorted(vectors.keys() - numbers):
        yield "vectors", f"unit {unit}", "belong to no unit"
    model = db.one("SELECT value FROM meta WHERE key = 'embedder'")
    for where in sorted(documents.keys() & units.keys()):
        unit = units[where]
        name = f"{UNIT_NAMES[where[0]]} {where[1]}"
        yield from _vectors(documents[where], vectors[unit], name, model["value"] if model else None)


def _vectors(document: Document, held: dict[int, Row], name: str, model: str | None) -> Found:
    if held.keys() != set(range(len(document.dense))):
        yield "vectors", name, f"{len(held)} vectors for {len(document.dense)} chunks"
        return
    for chunk, (text, terms) in enumerate(zip(document.dense, document.chunk_terms(), strict=True)):
        row = held[chunk]
        if row["terms"] != terms:
            yield "vectors", name, f"chunk {chunk} has terms that are not those of its text"
        if row["model"] != model:
            yield "vectors", name, f"chunk {chunk} is of model {row['model']!r}, the store's is {model!r}"
        if len(row["vector"]) != 4 * row["dim"]:
            yield "vectors", name, f"chunk {chunk} has {len(row['vector'])} bytes for {row['dim']} dimensions"
        if row["flags"] != flags_of(text, document.speaker):
            yield "vectors", name, f"chunk {chunk} has flags that are not those of its text"


# the truth ------------------------------------------------------------------------------------------------------------


def _references(db: Db, key: Key, sources: Sources) -> Found:
    """Rows that name notes or turns which are not there."""
    notes = {row["no"] for row in sources.notes}
    ids = {row["id"] for row in sources.notes}
    turns = {row["no"] for row in sources.turns}
    for row in _rows(db, "evidence", key):
        if row["note"] not in notes or row["turn"] not in turns:
            yield "evidence", f"{row['note']}/{row['turn']}", "its note or its turn is gone"
    for row in _rows(db, "links", key):
        if row["source"] not in notes or row["target"] not in notes:
            yield "links", f"{row['source']}/{row['target']}/{row['type']}", "one of its notes is gone"
    for row in _rows(db, "served", key):
        if row["note"] not in notes:
            yield "served", str(row["note"]), "its note is gone"
    for row in _rows(db, "decisions", key):
        if row["note"] is not None and row["note"] not in ids:
            yield "decisions", row["id"], "its note is gone"
    decisions = {row["id"] for row in _rows(db, "decisions", key)}
    for row in _rows(db, "feedback", key):
        if row["decision"] not in decisions:
            yield "feedback", row["decision"], "its decision is gone"
    names = {(name_key(name), row["no"]) for row in sources.notes for name in orjson.loads(row["names"])}
    held = {(row["name"], row["note"]) for row in _rows(db, "names", key)}
    for _, note in sorted(names ^ held):
        yield "names", f"note {note}", "its names are not those that are looked up"


def _tiers(db: Db, key: Key, sources: Sources) -> Found:
    """Every turn is in one tier, and sessions count their hot turns."""
    pages = {row["no"]: row for row in sources.pages}
    hot: dict[tuple[str, str], int] = defaultdict(int)
    for row in sources.turns:
        hot[row["agent"], row["session"]] += row["tier"] == "hot"
        page = pages.get(row["page"])
        if row["tier"] != "page":
            if row["page"] is not None:
                yield "turns", str(row["no"]), f"is {row['tier']} and on page {row['page']} too"
        elif page is None:
            yield "turns", str(row["no"]), f"its page {row['page']} is gone"
        elif (page["agent"], page["session"]) != (row["agent"], row["session"]) or not (
            page["first"] <= row["position"] <= page["last"]
        ):
            yield "turns", str(row["no"]), f"does not lie within its page {row['page']}"
    for row in _rows(db, "sessions", key):
        counted = hot.pop((row["agent"], row["session"]), 0)
        if counted != row["hot"]:
            yield "sessions", row["session"], f"counts {row['hot']} hot turns, {counted} are there"
    for (_, session), counted in sorted(hot.items()):
        if counted:
            yield "sessions", session, f"is missing, {counted} hot turns are there"


def _counters(db: Db, key: Key) -> Found:
    row = db.one("SELECT * FROM owners WHERE tenant = ? AND owner = ?", key)
    assert row is not None
    for column, table in (
        ("next_turn", "turns"),
        ("next_page", "pages"),
        ("next_note", "notes"),
        ("next_unit", "units"),
        ("next_job", "jobs"),
    ):
        last = db.one(f"SELECT max(no) AS no FROM {table} WHERE tenant = ? AND owner = ?", key)
        if last is not None and last["no"] is not None and last["no"] >= row[column]:
            yield "owners", column, f"is {row[column]}, but {table} go up to {last['no']}"
