"""Which rows hold a term: lists of row numbers by term, those of a file and those that came since."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Small = NDArray[np.int32]


class Postings:
    """`base`: terms in a fixed order, where the rows of each begin in `rows`, and these; read, never changed. A row of
    it that was put again is `stale`: what came since speaks for it."""

    def __init__(self, terms: Iterable[str] = (), starts: Ints | None = None, rows: Small | None = None) -> None:
        self._base: dict[str, int] = {term: n for n, term in enumerate(terms)}
        self._starts = np.zeros(1, dtype=np.int64) if starts is None else starts
        self._rows = np.zeros(0, dtype=np.int32) if rows is None else rows
        self._stale = np.zeros(int(self._rows.max(initial=-1)) + 1, dtype=np.bool_)  # by row
        self._since: dict[int, str] = {}  # the terms of each row that came since
        self._added: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))

    @classmethod
    def of_rows(cls, texts: Sequence[str]) -> Postings:
        """Those of rows 0, 1, ..., each given by its terms with spaces between."""
        held = [text.split() for text in texts]
        counts = np.fromiter(map(len, held), dtype=np.int64, count=len(held))
        terms = list(chain.from_iterable(held))
        names = list(map(sys.intern, dict.fromkeys(terms)))  # many owners use the same words
        number = dict(zip(names, range(len(names)), strict=True))
        of = np.fromiter(map(number.__getitem__, terms), dtype=np.int64, count=len(terms))
        rows = np.repeat(np.arange(len(held), dtype=np.int32), counts)[np.argsort(of, kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(names)))])
        return cls(names, starts.astype(np.int64), rows)

    def __getitem__(self, term: str) -> Ints:
        """The rows that hold a term, in no order."""
        added = self._added.get(term, ())
        found = np.array(added, dtype=np.int64)
        place = self._base.get(term)
        if place is None:
            return found
        base = self._rows[self._starts[place] : self._starts[place + 1]].astype(np.int64)
        base = base[~self._stale[base]]
        return np.concatenate([base, found]) if len(found) else base

    def put(self, row: int, terms: str, *, new: bool) -> None:
        """Say what a row holds, in place of what it held unless it is `new`."""
        known = self._since.get(row)
        if known is None and not new:
            self._stale[row : row + 1] = True  # a row behind the last of the base is in none of its lists
        elif known == terms:
            return
        self._since[row] = terms
        held = terms.split()
        if known:
            old = known.split()
            for term in set(old).difference(held):
                self._added[term].remove(row)
            held = list(set(held).difference(old))
        for term in held:
            self._added[term].append(row)

    def merged(self) -> tuple[list[str], Ints, Small]:
        """All of it as a new base: terms, the beginnings, the rows."""
        counts = np.diff(self._starts)
        kept = ~self._stale[self._rows]
        added = {term: rows for term, rows in self._added.items() if rows}
        names = [*self._base, *(term for term in added if term not in self._base)]
        number = {term: n for n, term in enumerate(names)}
        of = np.concatenate(
            [
                np.repeat(np.arange(len(counts)), counts)[kept],
                np.repeat([number[term] for term in added], [len(rows) for rows in added.values()]).astype(np.int64),
            ]
        )
        rows = np.concatenate([self._rows[kept], *(np.array(rows, dtype=np.int32) for rows in added.values())])
        order = np.argsort(of, kind="stable")
        sizes = np.bincount(of, minlength=len(names))
        used = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[used])])
        return [names[n] for n in used.tolist()], starts.astype(np.int64), rows[order].astype(np.int32)
