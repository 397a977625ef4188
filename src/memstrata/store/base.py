"""The Store seam: where rows live.

A store runs a function inside one transaction. Such a function gets a `Db` and does no slow work: no model, no
network, no file. All SQL of memstrata is portable between SQLite and PostgreSQL and uses `?` for parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from memstrata.types import Backup, Progress

T = TypeVar("T")
Row = Any  # a row that is read by column name or position


class Db(Protocol):
    """One transaction of a store."""

    def all(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        """Every row of a query."""
        ...

    def one(self, sql: str, params: Sequence[object] = ()) -> Row | None:
        """The first row of a query, or None."""
        ...

    def run(self, sql: str, params: Sequence[object] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of parameters."""
        ...


class Store(Protocol):
    """Where the tables live. Every implementation passes tests/contract/test_stores.py."""

    async def read(self, work: Callable[[Db], T], *, brief: bool = False) -> T:
        """Run `work` on one consistent snapshot.

        `brief`: it looks up a few rows, which costs less than to hand it to another thread and to wait for that one; a
        store may run it in the caller's.
        """
        ...

    async def write(self, work: Callable[[Db], T], *, durable: bool = True) -> T:
        """Run `work` in a transaction of its own; when this returns, it is on the disk.

        `durable=False` is for queued work, which can be done again from what is on the disk: no crash of the process
        loses it, but a loss of power may, together with all that came after it.
        An exception in `work` undoes all that it did and is raised here.
        """
        ...

    async def scrub(self) -> bool:
        """After an erasure: rewrite what holds deleted bytes. False while other readers still pin the old pages."""
        ...

    async def integrity(self) -> list[str]:
        """What is wrong with the files themselves, as the database tells; empty when nothing is."""
        ...

    async def size(self) -> int:
        """Bytes on the disk."""
        ...

    def within(self, tenant: str | None) -> Store:
        """The same store, whose transactions see and write this tenant's rows only; of all tenants for None.

        A second wall behind the statements, which all name their tenant; a store that cannot hold it gives itself.
        """
        ...

    async def close(self) -> None: ...


@runtime_checkable
class FileStore(Protocol):
    """A store that can be copied as a file while it is in use."""

    async def backup(
        self, target: Path, now: datetime, *, overwrite: bool = False, progress: Progress | None = None
    ) -> Backup:
        """Write a verified copy to `target`; see `store.backup.write_backup`."""
        ...


@runtime_checkable
class WakingStore(Protocol):
    """A store that tells when somebody, here or on another machine, queued a job."""

    async def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until a job was queued, or so long; True when one may have been. One caller at a time."""
        ...
