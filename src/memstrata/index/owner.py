"""The owner's index in memory: columns and vectors of every unit of one owner, kept up with the tables.

It is a cache: loaded at the owner's first recall, then refreshed by what changed since. Arrays grow by doubling, so
that keeping up costs what is new, not what is stored.
"""

from __future__ import annotations

import threading
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import NEVER, UNSET, Codes, Columns
from memstrata.index.turns import TurnOrder, order_turns
from memstrata.index.vectors import all_dots, dots, sign_distances, sketch
from memstrata.store.base import Db, Row
from memstrata.store.kinds import NOTE, PAGE, TURN
from memstrata.store.read import select_in
from memstrata.store.rows import damaged, decoder

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

STATES: Mapping[str, int] = {"current": 0, "superseded": 1, "warm": 0}
SKETCH_FROM = 8192  # rows from which the scan starts with sign bits
SKETCH_KEEP = 2048  # rows that are scored exactly then
NEAREST_FROM, NEAREST_KEEP = 1024, 256  # the same where only a few nearest are asked for


class OwnerIndex:
    """Columns and vectors of one owner. Hold `lock` while reading or refreshing."""

    def __init__(self, tenant: str, owner: str, dim: int) -> None:
        self.tenant, self.owner, self.dim = tenant, owner, dim
        self.lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self.changed = -1
        self.epoch = 0
        self.turns = 0
        self.agents, self.sessions, self.speakers = Codes(), Codes(), Codes()
        self.meta = Columns()
        self.rows = 0
        self._vectors = np.zeros((64, self.dim), dtype=np.float32)
        self._sketches = np.zeros((64, (self.dim + 63) // 64), dtype=np.uint64)
        self._unit_of_row = np.zeros(64, dtype=np.int64)
        self._flags = np.zeros(64, dtype=np.int8)
        self._rows_of_unit: dict[int, list[int]] = {}
        self._unit_of_ref: dict[tuple[int, int], int] = {}
        self.turns_of_note: dict[int, tuple[int, ...]] = {}
        self.notes_of_turn: dict[int, list[int]] = {}
        self._terms: list[str] = []  # of each row
        self._rows_of_term: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        self._first_rows: Ints | None = None
        self._several: Ints | None = None
        self._order: TurnOrder | None = None
        self._pairs: tuple[Ints, Ints] | None = None
        self._successors: tuple[Ints, Ints] | None = None
        self._successor: dict[int, str] = {}
        self._unit_of_id: dict[str, int] = {}
        self._id_of_unit: dict[int, str] = {}

    # what is read -----------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Units are numbered 1..count."""
        return self.meta.count

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        return self.meta.nbytes + self._vectors.nbytes + self._sketches.nbytes + self._unit_of_row.nbytes

    def unit(self, kind: int, ref: int) -> int | None:
        return self._unit_of_ref.get((kind, ref))

    def note_id(self, unit: int) -> str:
        return self._id_of_unit[unit]

    def id_of_note(self, no: int) -> str:
        """The id of a note by its number. Raises StoreFormatError for one that a row names and that is not there."""
        unit = self._unit_of_ref.get((NOTE, no))
        if unit is None:
            raise damaged(f"note {no!r} is named by a row and not there")
        return self._id_of_unit[unit]

    def turns_of(self, no: int) -> list[int]:
        """The numbers of the turns that a note stands on, in order."""
        unit = self._unit_of_ref.get((NOTE, no))
        refs = self.meta["ref"]
        return [int(refs[turn]) for turn in self.turns_of_note.get(unit, ())] if unit is not None else []

    def successors(self) -> tuple[Ints, Ints]:
        """Parallel arrays (superseded note, the note that took its place), both as units, by the first."""
        if self._successors is None:
            pairs = sorted(
                (unit, successor)
                for unit, note_id in self._successor.items()
                if (successor := self._unit_of_id.get(note_id)) is not None
            )
            both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            self._successors = (both[:, 0], both[:, 1])
        return self._successors

    def rows_of(self, unit: int) -> int:
        """How many rows a unit has."""
        return len(self._rows_of_unit.get(unit, ()))

    def vector(self, unit: int) -> Floats | None:
        """The first vector of a unit."""
        rows = self._rows_of_unit.get(unit)
        return self._vectors[rows[0]] if rows else None

    @property
    def unit_of_row(self) -> Ints:
        """The unit of each row (a row is one chunk); 0 for a row that was replaced."""
        return self._unit_of_row[: self.rows]

    def first_rows(self) -> Ints:
        """The first row of each unit, by unit number; 0 where it has none."""
        if self._first_rows is None:
            self._first_rows = np.zeros(self.count + 1, dtype=np.int64)
            self._first_rows[self.unit_of_row[::-1]] = np.arange(self.rows)[::-1]  # the last to be written stays
        return self._first_rows

    def rows_of_several(self) -> Ints:
        """The rows of units that have more than one."""
        if self._several is None:
            counts = np.bincount(self.unit_of_row, minlength=self.count + 1)
            self._several = np.flatnonzero(counts[self.unit_of_row] > 1)
        return self._several

    @property
    def flags(self) -> NDArray[np.int8]:
        """The flags of each row, see `index.flags`."""
        return self._flags[: self.rows]

    def row_similarities(self, query: Floats) -> Floats:
        """Cosine of a unit query vector to each row; 0 where not scored.

        From SKETCH_FROM rows on, the signs of the vectors choose the SKETCH_KEEP rows that are scored exactly.
        """
        rows = self.nearest_rows(query, SKETCH_KEEP)
        if rows is None:
            return dots(query, self._vectors[: self.rows])
        scores = np.zeros(self.rows, dtype=np.float32)
        scores[rows] = dots(query, self._vectors.take(rows, axis=0))
        return scores

    def similarities(self, query: Floats) -> Floats:
        """Cosine of a unit query vector to each unit (its best chunk), by unit number; -1 for units without rows."""
        scores = np.full(self.count + 1, -1.0, dtype=np.float32)
        np.maximum.at(scores, self.unit_of_row, self.row_similarities(query))
        scores[0] = -1.0  # rows of replaced vectors point at record 0
        return scores

    def evidence_pairs(self) -> tuple[Ints, Ints]:
        """Parallel arrays (note unit, turn unit), one entry for each turn that a note stands on."""
        if self._pairs is None:
            counts = np.fromiter(map(len, self.turns_of_note.values()), dtype=np.int64)
            notes = np.repeat(np.fromiter(self.turns_of_note, dtype=np.int64), counts)
            turns = np.fromiter(chain.from_iterable(self.turns_of_note.values()), dtype=np.int64)
            self._pairs = (notes, turns)
        return self._pairs

    def turn_order(self) -> TurnOrder:
        """The turns in the order they were said, session by session; made anew when turns came."""
        if self._order is None:
            self._order = order_turns(self.meta)
        return self._order

    def nearest_rows(self, query: Floats, keep: int) -> Ints | None:
        """The rows whose sign bits are nearest to the query's, or None where a full scan is as cheap."""
        if self.rows < SKETCH_FROM:
            return None
        return np.argpartition(sign_distances(query, self._sketches[: self.rows]), keep)[:keep]

    def nearest_units(self, queries: Floats, units: NDArray[np.bool_], count: int) -> list[dict[int, float]]:
        """For each query the `count` of these units with the highest cosine (their best chunk), and that cosine.

        From NEAREST_FROM rows on, the sign bits choose the NEAREST_KEEP rows that are compared exactly.
        """
        rows = np.flatnonzero(units[self.unit_of_row])
        if len(rows) < NEAREST_FROM:
            return [self._best(rows, scores, count) for scores in all_dots(queries, self._vectors[rows])]
        sketches = self._sketches[rows]
        found: list[dict[int, float]] = []
        for query in queries:
            near = rows[np.argpartition(sign_distances(query, sketches), NEAREST_KEEP)[:NEAREST_KEEP]]
            found.append(self._best(near, dots(query, self._vectors[near]), count))
        return found

    def _best(self, rows: Ints, scores: Floats, count: int) -> dict[int, float]:
        """The `count` units with the highest of their rows' scores, and these."""
        best: dict[int, float] = {}
        for place in np.argsort(-scores, kind="stable"):
            if len(best) == count:
                break
            best.setdefault(int(self._unit_of_row[rows[place]]), float(scores[place]))
        return best

    def postings(self, term: str) -> Ints:
        """The rows that hold a term."""
        return np.array(self._rows_of_term.get(term, ()), dtype=np.int64)

    # keeping up -------------------------------------------------------------------------------------------------------

    def refresh(self, db: Db) -> None:
        """Bring the index up to the transaction's snapshot."""
        row = db.one("SELECT changed, epoch FROM owners WHERE tenant = ? AND owner = ?", (self.tenant, self.owner))
        changed, epoch = (0, 0) if row is None else (row["changed"], row["epoch"])
        if epoch != self.epoch or changed < self.changed:
            self._reset()
            self.epoch = epoch
        if changed == self.changed:
            return
        self._first_rows = self._several = self._successors = None
        size = (self.count, self.turns)
        units = self._load_units(db)
        if (self.count, self.turns) != size:
            self._order = None  # an access of a note leaves it as it is
        self._load_vectors(db, units)
        self.changed = changed

    def _load_units(self, db: Db) -> dict[int, list[tuple[int, bool]]]:
        """Read changed units; returns (unit, is new) for each kind."""
        since = (self.tenant, self.owner, self.changed)

        def changed(table: str, columns: str, kind: int) -> list[Row]:
            rows = db.all(
                f"SELECT u.no AS unit, u.length, x.no, x.agent, x.session, {columns} FROM units u"
                f" JOIN {table} x ON x.tenant = u.tenant AND x.owner = u.owner AND x.no = u.ref"
                f" WHERE u.tenant = ? AND u.owner = ? AND u.changed > ? AND u.kind = {kind}",
                since,
            )
            # Sorted here: to spare a sort, ORDER BY would make the database read every unit there is.
            return sorted(rows, key=lambda row: int(row["unit"]))

        turns = changed("turns", "x.position, x.speaker, x.at, x.recorded_at, x.tier, x.page, x.hidden", TURN)
        pages = changed("pages", "x.state, x.h, x.h_tick, x.started_at, x.recalls", PAGE)
        notes = changed(
            "notes",
            "x.state, x.speaker, x.said_at, x.recorded_at, x.event_start, x.event_end, x.valid_from, x.valid_to,"
            " x.last_access, x.rate, x.pinned, x.id, x.superseded_by",
            NOTE,
        )
        loaded = {TURN: self._put_turns(turns), PAGE: self._put_pages(pages), NOTE: self._put_notes(notes)}
        self._load_evidence(db, [unit for unit, _ in loaded[NOTE]])
        return loaded

    def _put(self, rows: Sequence[Row], kind: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Room for units and the columns that every kind has; returns the units, and which of them are new."""
        units = np.array([row["unit"] for row in rows], dtype=np.int64)
        self.meta.reach(int(units.max()))
        is_new = self.meta["kind"][units] == -1
        self.meta.put(
            units,
            kind=kind,
            ref=[row["no"] for row in rows],
            length=[row["length"] for row in rows],
            agent=[self.agents.of(row["agent"]) for row in rows],
            session=[self.sessions.of(row["session"]) for row in rows],
        )
        self.meta.put(units[is_new], event_start=UNSET, event_end=UNSET, valid_from=UNSET, valid_to=NEVER)
        self._unit_of_ref.update(((kind, row["no"]), row["unit"]) for row in rows)
        return units, is_new

    @decoder
    def _put_turns(self, rows: Sequence[Row]) -> list[tuple[int, bool]]:
        if not rows:
            return []
        units, is_new = self._put(rows, TURN)
        self.turns += int(is_new.sum())
        self.meta.put(
            units,
            hidden=[row["hidden"] for row in rows],
            hot=[row["tier"] == "hot" for row in rows],
            page=[row["page"] or 0 for row in rows],
            at=[row["at"] for row in rows],
            recorded=[row["recorded_at"] for row in rows],
            speaker=[self.speakers.of(row["speaker"] or "") for row in rows],
            position=[row["position"] for row in rows],
        )
        return list(zip(units.tolist(), is_new.tolist(), strict=True))

    @decoder
    def _put_pages(self, rows: Sequence[Row]) -> list[tuple[int, bool]]:
        if not rows:
            return []
        units, is_new = self._put(rows, PAGE)
        self.meta.put(
            units,
            state=[STATES.get(row["state"], 2) for row in rows],
            heat=[row["h"] for row in rows],
            heat_tick=[row["h_tick"] for row in rows],
            at=[row["started_at"] for row in rows],
            recorded=[row["started_at"] for row in rows],
        )
        return list(zip(units.tolist(), is_new.tolist(), strict=True))

    @decoder
    def _put_notes(self, rows: Sequence[Row]) -> list[tuple[int, bool]]:
        if not rows:
            return []
        units, is_new = self._put(rows, NOTE)
        self.meta.put(
            units,
            state=[STATES.get(row["state"], 2) for row in rows],
            speaker=[self.speakers.of(row["speaker"] or "") for row in rows],
            at=[row["said_at"] for row in rows],
            recorded=[row["recorded_at"] for row in rows],
            valid_from=[row["valid_from"] for row in rows],
            valid_to=[NEVER if row["valid_to"] is None else row["valid_to"] for row in rows],
            last_access=[row["last_access"] for row in rows],
            rate=[row["rate"] for row in rows],
            pinned=[row["pinned"] for row in rows],
            event_start=[UNSET if row["event_start"] is None else row["event_start"] for row in rows],
            event_end=[UNSET if row["event_start"] is None else row["event_end"] for row in rows],
        )
        for row in rows:
            unit = row["unit"]
            self._unit_of_id[row["id"]], self._id_of_unit[unit] = unit, row["id"]
            if row["superseded_by"] is None:
                self._successor.pop(unit, None)
            else:
                self._successor[unit] = row["superseded_by"]
        return list(zip(units.tolist(), is_new.tolist(), strict=True))

    def _load_evidence(self, db: Db, notes: Sequence[int]) -> None:
        standing: dict[int, list[int]] = {}
        refs = {unit: int(self.meta["ref"][unit]) for unit in notes}
        for note, turn in select_in(
            db,
            "SELECT note, turn FROM evidence WHERE tenant = ? AND owner = ? AND note IN ({marks}) ORDER BY note, turn",
            (self.tenant, self.owner),
            refs.values(),
        ):
            standing.setdefault(note, []).append(turn)
        for unit, ref in refs.items():
            known = (self._unit_of_ref.get((TURN, turn)) for turn in standing.get(ref, ()))
            turns = tuple(turn for turn in known if turn is not None)
            if turns == self.turns_of_note.get(unit):
                continue
            self._pairs = None
            for turn in self.turns_of_note.get(unit, ()):
                self.notes_of_turn[turn].remove(unit)
            self.turns_of_note[unit] = turns
            for turn in turns:
                self.notes_of_turn.setdefault(turn, []).append(unit)

    def _load_vectors(self, db: Db, loaded: Mapping[int, Sequence[tuple[int, bool]]]) -> None:
        """Vectors of new units, and of notes and pages, whose text may have changed."""
        wanted = [unit for kind, units in loaded.items() for unit, is_new in units if is_new or kind != TURN]
        rows = select_in(
            db,
            "SELECT unit, chunk, flags, terms, vector FROM vectors WHERE tenant = ? AND owner = ? AND unit IN ({marks})"
            " ORDER BY unit, chunk",
            (self.tenant, self.owner),
            wanted,
        )
        self._put_vectors(rows)

    @decoder
    def _put_vectors(self, rows: Sequence[Row]) -> None:
        vectors = np.stack([np.frombuffer(row["vector"], dtype="<f4") for row in rows]) if rows else self._vectors[:0]
        for row, vector, signs in zip(rows, vectors, sketch(vectors), strict=True):
            self._put_vector(row, vector, signs)

    def _put_vector(self, row: Row, vector: Floats, signs: NDArray[np.uint64]) -> None:
        unit, chunk = row["unit"], row["chunk"]
        rows = self._rows_of_unit.setdefault(unit, [])
        if chunk == 0 and rows:  # a new version: its first row is used again, the others point at nothing
            for stale in rows[1:]:
                self._unit_of_row[stale] = 0
                self._put_terms(stale, "")
            del rows[1:]
        at = rows[0] if chunk == 0 and rows else self._new_row(rows)
        self._vectors[at] = vector
        self._sketches[at] = signs
        self._unit_of_row[at], self._flags[at] = unit, row["flags"]
        self._put_terms(at, row["terms"])

    def _put_terms(self, row: int, terms: str) -> None:
        known = self._terms[row]
        if terms == known:
            return
        self._terms[row] = terms
        new = terms.split()
        if known:
            old = known.split()
            for term in set(old).difference(new):
                self._rows_of_term[term].remove(row)
            new = list(set(new).difference(old))
        for term in new:
            self._rows_of_term[term].append(row)

    def _new_row(self, rows: list[int]) -> int:
        if self.rows == len(self._vectors):
            for name in ("_vectors", "_sketches", "_unit_of_row", "_flags"):
                held = getattr(self, name)
                setattr(self, name, np.concatenate([held, np.zeros_like(held)]))
        at = self.rows
        self.rows += 1
        self._terms.append("")
        rows.append(at)
        return at
