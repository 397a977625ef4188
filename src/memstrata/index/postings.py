"""Which rows hold a term: lists of row numbers by term, those of a file and those that came since."""

from __future__ import annotations

from array import array
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Small = NDArray[np.int32]


class Postings:
    """`base`: terms in a fixed order, where the rows of each begin in `rows`, and these; read, never changed. A row of
    it that was put again is `stale`: what came since speaks for it."""

    def __init__(self, terms: str = "", starts: Ints | None = None, rows: Small | None = None) -> None:
        self._base: dict[str, int] = {term: n for n, term in enumerate(terms.split())}
        self._starts = np.zeros(1, dtype=np.int64) if starts is None else starts
        self._rows = np.zeros(0, dtype=np.int32) if rows is None else rows
        self._stale: set[int] = set()
        self._stale_rows: Ints | None = None
        self._since: dict[int, str] = {}  # the terms of each row that came since
        self._added: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))

    def __getitem__(self, term: str) -> Ints:
        """The rows that hold a term, in no order."""
        added = self._added.get(term, ())
        found = np.array(added, dtype=np.int64)
        place = self._base.get(term)
        if place is None:
            return found
        base = self._rows[self._starts[place] : self._starts[place + 1]].astype(np.int64)
        if self._stale:
            if self._stale_rows is None:
                self._stale_rows = np.fromiter(self._stale, dtype=np.int64)
            base = base[~np.isin(base, self._stale_rows)]
        return np.concatenate([base, found]) if len(found) else base

    def put(self, row: int, terms: str, *, new: bool) -> None:
        """Say what a row holds, in place of what it held unless it is `new`."""
        known = self._since.get(row)
        if known is None and not new:
            self._stale.add(row)
            self._stale_rows = None
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

    def merged(self) -> tuple[str, Ints, Small]:
        """All of it as a new base: terms with spaces between, the beginnings, the rows."""
        counts = np.diff(self._starts)
        kept = np.ones(len(self._rows), dtype=np.bool_)
        if self._stale:
            kept = ~np.isin(self._rows, np.fromiter(self._stale, dtype=np.int64))
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
        return " ".join(names[n] for n in used.tolist()), starts.astype(np.int64), rows[order].astype(np.int32)
