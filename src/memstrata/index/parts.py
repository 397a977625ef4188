"""What an owner's index is made of, and how it goes into a file and comes back."""

from __future__ import annotations

import sys
import threading
import zlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import Codes, Columns
from memstrata.index.postings import Postings
from memstrata.index.rows import Rows
from memstrata.index.tokens import TokenPool
from memstrata.index.turns import TurnOrder
from memstrata.store.kinds import NOTE, PAGE, TURN

Ints = NDArray[np.int64]
KEEP_FROM = 256  # rows that are loaded from the tables about as fast as from a file


class OwnerParts:
    """The arrays and tables of one owner's index, without what is computed from them."""

    def __init__(self, tenant: str, owner: str, dim: int, model: str, *, in_file: bool) -> None:
        """`in_file`: it is kept on the disk, with vectors of the `model`; else all is loaded from the tables."""
        self.tenant, self.owner, self.dim, self.model = tenant, owner, dim, model
        self._in_file = in_file
        self.lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self.changed = -1
        self.epoch = 0
        self.turns = 0
        self.last: list[Any] | None = None  # place and id of the newest operation, where files are kept
        self._unkept = 0  # rows that were put since the index was kept in a file, or loaded from one
        self.agents, self.sessions, self.speakers = Codes(), Codes(), Codes()
        self.meta = Columns()
        self.chunks = Rows(self.dim)
        self.tokens = TokenPool()
        self._first_row = np.full(64, -1, dtype=np.int64)  # of each unit
        self._more_rows: dict[int, list[int]] = {}  # of the units that have more than one, all
        self._unit_of_ref = {kind: np.zeros(64, dtype=np.int64) for kind in (NOTE, PAGE, TURN)}
        self._kept_pairs: tuple[Ints, Ints] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._standing: dict[int, tuple[int, ...]] = {}
        self._postings = Postings()
        self._first_rows: Ints | None = None
        self._several: Ints | None = None
        self._order: TurnOrder | None = None
        self._pairs: tuple[Ints, Ints] | None = None
        self._successors: tuple[Ints, Ints] | None = None
        self._successor: dict[int, str] = {}
        self._id_of_unit: dict[int, str] = {}

    @property
    def count(self) -> int:
        """Units are numbered 1..count."""
        return self.meta.count

    @property
    def rows(self) -> int:
        """Rows: a row is one chunk of a unit, or was."""
        return self.chunks.count

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        return self.meta.nbytes + self.chunks.nbytes + self.tokens.nbytes

    def evidence_pairs(self) -> tuple[Ints, Ints]:
        """Parallel arrays (note unit, turn unit), one entry for each turn that a note stands on."""
        if self._pairs is None:
            counts = np.fromiter(map(len, self._standing.values()), dtype=np.int64)
            notes = np.repeat(np.fromiter(self._standing, dtype=np.int64), counts)
            turns = np.fromiter(chain.from_iterable(self._standing.values()), dtype=np.int64)
            kept = self._kept_pairs
            if len(kept[0]):
                same = ~np.isin(kept[0], np.fromiter(self._standing, dtype=np.int64))
                notes, turns = np.concatenate([kept[0][same], notes]), np.concatenate([kept[1][same], turns])
            self._pairs = (notes, turns)
        return self._pairs

    def _settle(self) -> None:
        """Keep what notes stand on in arrays, which take a tenth of the memory; what comes then is kept beside."""
        notes, turns = self.evidence_pairs()
        order = np.argsort(notes, kind="stable")
        self._kept_pairs = self._pairs = (notes[order], turns[order])
        self._standing = {}

    @property
    def is_to_keep(self) -> bool:
        """Whether so much came since it was kept that to keep it again costs little beside."""
        return self._in_file and self._unkept > max(KEEP_FROM, self.rows // 5)

    def is_kept(self) -> None:
        """It is in its file now, or a later state of it."""
        self._unkept = 0

    def parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All there is to keep: what goes into text, and arrays. See `restore`."""
        self._settle()
        more = [(unit, row) for unit, rows in self._more_rows.items() for row in rows]
        terms, starts, rows = self._postings.merged()
        said = {
            "counts": [self.count, self.rows, self.turns, self.tokens.used],
            "codes": [[text for text, _ in codes.items()] for codes in (self.agents, self.sessions, self.speakers)],
            "ids": list(self._id_of_unit.values()),
            "successors": [list(self._successor), list(self._successor.values())],
            "terms": " ".join(terms),
            "sizes": [len(self._kept_pairs[0]), len(more), len(self._id_of_unit), len(starts), len(rows)],
        }
        return said, {
            **{f"unit.{name}": array for name, array in self.meta.arrays().items()},
            **{f"row.{name}": array for name, array in self.chunks.arrays().items()},
            **{f"tokens.{name}": array for name, array in self.tokens.arrays(self.rows).items()},
            **{f"ref.{kind}": units for kind, units in self._unit_of_ref.items()},
            "first_row": self._first_row[: self.count + 1],
            "more_rows": np.array(more, dtype=np.int64).reshape(-1, 2),
            "evidence": np.stack(self._kept_pairs, axis=1),
            "note_units": np.fromiter(self._id_of_unit, dtype=np.int64),
            "term_starts": starts,
            "term_rows": rows,
        }

    def content(self) -> dict[str, NDArray[Any]]:
        """All that is searched, in an order that does not depend on how it came: equal for equal indexes."""
        meta, chunks = self.meta, self.chunks
        present = np.flatnonzero(meta["kind"] >= 0)
        found = {f"column {name}": array[present] for name, array in meta.arrays().items()}
        for name, codes in (("agent", self.agents), ("session", self.sessions), ("speaker", self.speakers)):
            texts = np.array([text for text, _ in codes.items()] or [""], dtype=object)
            found[f"column {name}"] = texts[meta[name][present]]
        found["column speaker"][meta["kind"][present] == PAGE] = ""  # pages have none
        order = np.lexsort((np.arange(chunks.count), chunks.units))
        order = order[chunks.units[order] > 0]
        terms, starts, rows = self._postings.merged()
        marks = np.array([zlib.crc32(term.encode()) for term in terms], dtype=np.int64)
        of_row = np.zeros(chunks.count, dtype=np.int64)
        np.add.at(of_row, rows, np.repeat(marks, np.diff(starts)))
        pairs = np.stack(self.evidence_pairs(), axis=1)
        ids = sorted(self._id_of_unit.items())
        return {
            **found,
            "units of rows": chunks.units[order],
            "vectors": chunks.vectors[order],
            "flags": chunks.flags[order],
            "tokens": np.array([self.tokens.blob(row) for row in order.tolist()], dtype=object),
            "terms": of_row[order],
            "evidence": pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))],
            "notes": np.array([f"{unit} {name} {self._successor.get(unit)}" for unit, name in ids], dtype=object),
        }

    def restore(self, said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Fill an empty index with what `parts` gave; the arrays may have spare rows, zeros."""
        count, rows, self.turns, tokens = said["counts"]
        evidence, more, notes, starts, postings = said["sizes"]

        def group(prefix: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

        self.agents, self.sessions, self.speakers = (Codes(texts) for texts in said["codes"])
        self.meta = Columns(group("unit."), count)
        self.chunks = Rows(self.dim, group("row."), rows)
        self.tokens = TokenPool(group("tokens."), tokens)
        self._unit_of_ref = {int(kind): array for kind, array in group("ref.").items()}
        self._first_row = arrays["first_row"]
        self._first_row[count + 1 :] = -1
        for unit, row in arrays["more_rows"][:more].tolist():
            self._more_rows.setdefault(unit, []).append(row)
        pairs = arrays["evidence"][:evidence]
        self._kept_pairs = (np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))
        self._postings = Postings(
            map(sys.intern, said["terms"].split()), arrays["term_starts"][:starts], arrays["term_rows"][:postings]
        )
        self._id_of_unit = dict(zip(arrays["note_units"][:notes].tolist(), said["ids"], strict=True))
        self._successor = dict(zip(*said["successors"], strict=True))
