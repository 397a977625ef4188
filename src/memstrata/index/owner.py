"""The owner's index in memory: columns and vectors of every unit of one owner, kept up with the tables.

It is a cache: loaded at the owner's first recall, then refreshed by what changed since. Arrays grow by doubling, so
that keeping up costs what is new, not what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import NEVER, UNSET, roomy
from memstrata.index.files import IndexFiles, last_operation
from memstrata.index.parts import OwnerParts
from memstrata.index.postings import Postings
from memstrata.index.turns import TurnOrder, order_turns
from memstrata.index.vectors import dots
from memstrata.store.base import Db, Row
from memstrata.store.kinds import NOTE, PAGE, TURN
from memstrata.store.read import select_in
from memstrata.store.rows import damaged, decoder

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

STATES: Mapping[str, int] = {"current": 0, "superseded": 1, "warm": 0}


class OwnerIndex(OwnerParts):
    """Columns and vectors of one owner. Hold `lock` while reading or refreshing."""

    def __init__(self, tenant: str, owner: str, dim: int, model: str = "", files: IndexFiles | None = None) -> None:
        """`files` keep indexes with vectors of the `model` on the disk; without them all is loaded from the tables."""
        super().__init__(tenant, owner, dim, model, in_file=files is not None)
        self._files = files

    # what is read -----------------------------------------------------------------------------------------------------

    def unit(self, kind: int, ref: int) -> int | None:
        units = self._unit_of_ref[kind]
        return (units.item(ref) or None) if 0 <= ref < len(units) else None

    def units(self, kind: int, refs: Ints) -> Ints:
        """The units with some numbers, which are at least 0; 0 for those that are not there."""
        units = self._unit_of_ref[kind]
        return np.where(refs < len(units), units[np.minimum(refs, len(units) - 1)], 0)

    def note_id(self, unit: int) -> str:
        return self._id_of_unit[unit]

    def id_of_note(self, no: int) -> str:
        """The id of a note by its number. Raises StoreFormatError for one that a row names and that is not there."""
        unit = self.unit(NOTE, no)
        if unit is None:
            raise damaged(f"note {no!r} is named by a row and not there")
        return self._id_of_unit[unit]

    def turns_of(self, no: int) -> list[int]:
        """The numbers of the turns that a note stands on, in order."""
        unit = self.unit(NOTE, no)
        refs = self.meta["ref"]
        return [int(refs[turn]) for turn in self.standing(unit)] if unit is not None else []

    def standing(self, unit: int) -> tuple[int, ...]:
        """The turns, as units, that a note stands on, in order; none for what is no note."""
        since = self._standing.get(unit)
        if since is not None:
            return since
        notes, turns = self._kept_pairs
        return tuple(turns[notes.searchsorted(unit) : notes.searchsorted(unit + 1)].tolist())

    def successors(self) -> tuple[Ints, Ints]:
        """Parallel arrays (superseded note, the note that took its place), both as units, by the first."""
        if self._successors is None:
            wanted = set(self._successor.values())
            unit_of = {note_id: unit for unit, note_id in self._id_of_unit.items() if note_id in wanted}
            pairs = sorted((unit, unit_of[note_id]) for unit, note_id in self._successor.items() if note_id in unit_of)
            both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            self._successors = (both[:, 0], both[:, 1])
        return self._successors

    def rows_of(self, units: Ints) -> tuple[Ints, Ints]:
        """All rows of some units, and of each row the place of its unit among these."""
        first = self._first_row[units]
        places = np.flatnonzero(first >= 0)
        if not self._more_rows:
            return first[places], places
        more = [
            (row, place)
            for place, unit in enumerate(units.tolist())
            if unit in self._more_rows
            for row in self._more_rows[unit][1:]
        ]
        others = np.array(more, dtype=np.int64).reshape(-1, 2)
        return np.concatenate([first[places], others[:, 0]]), np.concatenate([places, others[:, 1]])

    def row_counts(self, units: Ints) -> Ints:
        """How many rows each of some units has."""
        counts = (self._first_row[units] >= 0).astype(np.int64)
        if self._more_rows:
            more = {
                place: len(self._more_rows[unit])
                for place, unit in enumerate(units.tolist())
                if unit in self._more_rows
            }
            counts[list(more)] = list(more.values())
        return counts

    def vector(self, unit: int) -> Floats | None:
        """The first vector of a unit."""
        row = self._first_row.item(unit)
        return self.chunks.vectors[row] if row >= 0 else None

    def first_cosines(self, query: Floats, units: Ints) -> Floats:
        """The cosine of a unit vector to the first vector of each of some units; 0 for those without."""
        rows = self._first_row[units]
        found = dots(query, self.chunks.vectors.take(np.maximum(rows, 0), axis=0)) if len(units) else rows
        return np.where(rows >= 0, found, 0.0).astype(np.float32)

    @property
    def unit_of_row(self) -> Ints:
        """The unit of each row (a row is one chunk); 0 for a row that was replaced."""
        return self.chunks.units

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
        return self.chunks.flags

    def turn_order(self) -> TurnOrder:
        """The turns in the order they were said, session by session; made anew when turns came."""
        if self._order is None:
            self._order = order_turns(self.meta)
        return self._order

    def nearest_units(self, queries: Floats, units: NDArray[np.bool_], count: int) -> list[dict[int, float]]:
        """For each query the `count` of these units with the highest cosine (their best chunk), and that cosine."""
        return self.chunks.nearest_units(queries, np.flatnonzero(units[self.unit_of_row]), count)

    def postings(self, term: str) -> Ints:
        """The rows that hold a term."""
        return self._postings[term]

    # keeping up -------------------------------------------------------------------------------------------------------

    def refresh(self, db: Db) -> None:
        """Bring the index up to the transaction's snapshot."""
        row = db.one("SELECT changed, epoch FROM owners WHERE tenant = ? AND owner = ?", (self.tenant, self.owner))
        changed, epoch = (0, 0) if row is None else (row["changed"], row["epoch"])
        if epoch != self.epoch or changed < self.changed:
            self._reset()
            self.epoch = epoch
        if self.changed < 0 and changed and self._files is not None:
            self._files.load(self, db, changed)  # sets `last` too
        if changed == self.changed:
            return
        self._first_rows = self._several = self._successors = None
        size = (self.count, self.turns)
        units = self._load_units(db)
        if (self.count, self.turns) != size:
            self._order = None  # an access of a note leaves it as it is
        self._load_vectors(db, units)
        if not size[0]:
            self._settle()
        self.changed = changed
        if self._files is not None:
            self.last = last_operation(db, self)

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
        refs = np.array([row["no"] for row in rows], dtype=np.int64)
        known = self._unit_of_ref[kind] = roomy(self._unit_of_ref[kind], int(refs.max()) + 1)
        known[refs] = units
        self._first_row = roomy(self._first_row, int(units.max()) + 1, -1)
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
            self._id_of_unit[unit] = row["id"]
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
            known = (self.unit(TURN, turn) for turn in standing.get(ref, ()))
            turns = tuple(turn for turn in known if turn is not None)
            if turns != self._standing.get(unit):
                self._standing[unit] = turns
                self._pairs = None

    def _load_vectors(self, db: Db, loaded: Mapping[int, Sequence[tuple[int, bool]]]) -> None:
        """Vectors of new units, and of notes and pages, whose text may have changed."""
        wanted = [unit for kind, units in loaded.items() for unit, is_new in units if is_new or kind != TURN]
        rows = select_in(
            db,
            "SELECT unit, chunk, flags, terms, vector, tokens FROM vectors"
            " WHERE tenant = ? AND owner = ? AND unit IN ({marks}) ORDER BY unit, chunk",
            (self.tenant, self.owner),
            wanted,
        )
        self._put_vectors(rows)

    @decoder
    def _put_vectors(self, rows: Sequence[Row]) -> None:
        """Rows of `vectors`, by unit and chunk: all chunks of a unit, in place of those that it had."""
        if not rows:
            return
        self._unkept += len(rows)
        if self.rows:
            self.chunks.reserve(len(rows))
            at = np.array([self._place(row["unit"], row["chunk"], row["terms"]) for row in rows], dtype=np.int64)
        else:
            at = self._lay_out(rows)
        vectors = np.frombuffer(b"".join([row["vector"] for row in rows]), dtype="<f4").reshape(len(rows), -1)
        units = np.array([row["unit"] for row in rows], dtype=np.int64)
        self.chunks.put(at, vectors, units, np.array([row["flags"] for row in rows], dtype=np.int8))
        self.tokens.put(at, [row["tokens"] for row in rows])

    def _lay_out(self, rows: Sequence[Row]) -> Ints:
        """The places of the first rows there are: one after another."""
        at = self.chunks.add(len(rows)) + np.arange(len(rows))
        for place, row in enumerate(rows):
            unit = row["unit"]
            if row["chunk"] == 0:
                self._first_row[unit] = place
            else:
                self._more_rows.setdefault(unit, [self._first_row.item(unit)]).append(place)
        self._postings = Postings.of_rows([row["terms"] for row in rows])
        return at

    def _place(self, unit: int, chunk: int, terms: str) -> int:
        """The row of a chunk: a new one, or that of the first chunk that the unit had before."""
        first = self._first_row.item(unit)
        if chunk == 0 and first >= 0:  # a new version: its first row is used again, the others stand for nothing
            for stale in self._more_rows.pop(unit, [first])[1:]:
                self.chunks.clear(stale)
                self._postings.put(stale, "", new=False)
            self._postings.put(first, terms, new=False)
            return int(first)
        at = self.chunks.add()
        if chunk == 0:
            self._first_row[unit] = at
        else:
            self._more_rows.setdefault(unit, [int(first)]).append(at)
        self._postings.put(at, terms, new=True)
        return at
