"""A whole store to another, of the same kind or not: table by table through the Store seam, every id kept.

The source is read on one snapshot and may be in use. The target begins empty and keeps a mark of how far it is: a copy
that was cut goes on there, and until it is whole the target is no memory. At the end every table has the rows and the
digest of the source's; one that has not (the source went on between two runs) is copied anew.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from memstrata.errors import StoreError
from memstrata.store.addresses import is_server
from memstrata.store.backup import MADE, MANIFEST
from memstrata.store.base import Db, Store
from memstrata.store.digest import ROWS, columns_of, differences, digests, rows_after
from memstrata.store.opening import open_store
from memstrata.store.rows import dump
from memstrata.store.tables import COPYING, DATA, STORE_ID
from memstrata.types import Progress

T = TypeVar("T")
OF_ONE_STORE = (COPYING, MANIFEST, STORE_ID, "scrub_pending")  # keys in `meta` that say nothing of another store


@dataclass(frozen=True, slots=True)
class Copied:
    """What a target now holds, verified: rows by table. `copied` is how many this run wrote."""

    source: str
    target: str
    counts: Mapping[str, int]
    copied: int


@dataclass(slots=True)
class Mark:
    """How far a copy is: from where it comes, the table in hand, and the key of the last row of it that is there."""

    source: str
    table: str = DATA[0]
    after: Sequence[object] | None = None


async def copy_store(source: str | Path, target: str | Path, *, progress: Progress | None = None) -> Copied:
    """Copy a store to an address where there is none yet; see the module.

    Args:
        source, target: each a path, or `postgresql://...`.
        progress: called as (what, done, total).

    Raises:
        StoreError: there is no source, or the target holds a memory, or the copy of another store.
    """
    if not is_server(source) and not await asyncio.to_thread(Path(source).exists):
        raise StoreError(f"{source}: no store is there")
    if str(source) == str(target):
        raise StoreError(f"{source} cannot be copied to itself")
    origin = await asyncio.to_thread(open_store, source)
    try:
        made = await asyncio.to_thread(open_store, target)
        try:
            return await copy_between(origin, made, _name(origin, source), _name(made, target), progress)
        finally:
            await made.close()
    finally:
        await origin.close()


async def copy_between(
    source: Store, target: Store, name: str, target_name: str, progress: Progress | None = None
) -> Copied:
    """Copy one open store to another; `name` tells the source again when the copy was cut."""
    loop = asyncio.get_running_loop()

    def wait(work: Coroutine[Any, Any, T]) -> T:
        """In the thread that reads the source: do something on the target."""
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    return await source.read(lambda db: _Copy(db, target, wait, progress).run(name, target_name))


def _name(store: Store, address: str | Path) -> str:
    """How a store is called in marks and messages: without a password."""
    return getattr(store, "name", None) or os.path.abspath(address)  # noqa: PTH100 - no look at the disk


class _Copy:
    """One run, on one snapshot of the source."""

    def __init__(
        self, db: Db, target: Store, wait: Callable[[Coroutine[Any, Any, Any]], Any], progress: Progress | None
    ) -> None:
        self.db, self.target, self.wait, self.progress = db, target, wait, progress
        self.written = 0

    def run(self, name: str, target_name: str) -> Copied:
        mark = self.wait(self.target.write(lambda db: begin(db, name, target_name)))
        for n, table in enumerate(DATA, 1):
            if n > DATA.index(mark.table):
                self.copy(table, Mark(name, table, mark.after if table == mark.table else None))
            self.tell("copying tables", n)
        wanted = digests(self.db, DATA, self.progress)
        for again in (True, False):
            found = self.wait(self.target.read(lambda db: digests(db, DATA, self.progress)))
            if not (faults := differences(found, wanted)):
                break
            if not again:
                raise StoreError(
                    f"the copy differs from {name} ({'; '.join(faults)}): begin again with an empty target"
                )
            for table in (fault.split(":")[0] for fault in faults):
                self.wait(self.target.write(partial(_empty, table)))
                self.copy(table, Mark(name, table))
        meta = [tuple(row) for row in self.db.all("SELECT key, value FROM meta")]
        self.wait(self.target.write(partial(_end, [row for row in meta if _goes_along(row[0])])))
        return Copied(name, target_name, {table: each.rows for table, each in wanted.items()}, self.written)

    def copy(self, table: str, mark: Mark) -> None:
        """The rows of a table behind the mark, ROWS in a transaction, which also moves the mark."""
        columns = columns_of(self.db, table)
        while columns:
            rows = rows_after(self.db, table, columns, mark.after, ROWS)
            if rows:
                mark.after = rows[-1][len(columns) :]
                # Not durable one by one: a loss of power takes the last ones and their marks together.
                work = partial(_put, table, columns, [row[: len(columns)] for row in rows], mark)
                self.wait(self.target.write(work, durable=False))
                self.written += len(rows)
                self.tell(f"copying {table}", DATA.index(table))
            if len(rows) < ROWS:
                return

    def tell(self, what: str, done: int) -> None:
        if self.progress is not None:
            self.progress(what, done, len(DATA))


def begin(db: Db, name: str, target_name: str) -> Mark:
    """The mark of an unfinished copy of this source, or a new one in an empty store."""
    row = db.one("SELECT value FROM meta WHERE key = ?", (COPYING,))
    if row is not None:
        mark = _mark_of(row["value"])
        if mark.source != name:
            raise StoreError(f"{target_name} is an unfinished copy of {mark.source}, not of {name}")
        return mark
    if db.one("SELECT 1 AS one FROM meta") or db.one("SELECT 1 AS one FROM owners"):
        raise StoreError(f"{target_name} holds a memory already; a copy needs an empty target")
    mark = Mark(name)
    _set(db, mark)
    return mark


def _mark_of(text: str) -> Mark:
    data = orjson.loads(text)
    after = data["after"] and [bytes.fromhex(each["hex"]) if isinstance(each, dict) else each for each in data["after"]]
    return Mark(data["source"], data["table"], after)


def _set(db: Db, mark: Mark) -> None:
    after = mark.after and [{"hex": bytes(each).hex()} if isinstance(each, bytes) else each for each in mark.after]
    value = dump({"source": mark.source, "table": mark.table, "after": after})
    sql = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    db.run(sql, (COPYING, value))


def _put(table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], mark: Mark, db: Db) -> None:
    db.many(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", rows)
    _set(db, mark)


def _empty(table: str, db: Db) -> None:
    db.run(f"DELETE FROM {table}")


def _goes_along(key: str) -> bool:
    return key not in OF_ONE_STORE and not key.startswith(MADE)


def _end(meta: Sequence[tuple[str, str]], db: Db) -> None:
    """The last step: with it the target is a memory."""
    db.many("INSERT INTO meta (key, value) VALUES (?, ?)", meta)
    db.run("DELETE FROM meta WHERE key = ?", (COPYING,))
