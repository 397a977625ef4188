"""The owners' indexes on the disk, beside the store: one file an owner, in a folder a tenant.

They are caches of the tables: an owner's index is filled from one and then brought up to date. A file says which state
of which owner it holds: `epoch`, `changed`, and the newest operation, which the log of a restored store, or of an owner
who was erased and came back, has not. Who finds one that is torn, or older than something removed, overwrites it. All
that writes or removes files of a tenant holds the lock of its folder, and what is written is compared with the tables
under that lock: an erasure commits first and removes files then, so that none comes back.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memstrata.errors import StoreError
from memstrata.index import file
from memstrata.store.base import Db

if TYPE_CHECKING:
    from memstrata.index.parts import OwnerParts

VERSION = 2
Key = tuple[str, str]


class IndexFiles:
    """Files in a folder, for vectors of one model. Names say nothing of tenants and owners."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: Key) -> Path:
        return self.folder / _name(key[0]) / f"{_name(key[1])}.index"

    @contextlib.contextmanager
    def lock(self, tenant: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold the folder of a tenant; gives False where another has it and `wait` is off, or where there is none."""
        place = self.folder / _name(tenant)
        if not wait:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        elif not place.exists():
            yield False
            return
        with (place / "lock").open("ab") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True  # closing the file lets go of it

    def load(self, index: OwnerParts, db: Db, changed: int) -> None:
        """Fill an empty index with what its owner's file holds, if that is an earlier or the present state of the
        index's epoch.

        It waits for nobody: who holds the tenant's lock may be waiting for this index. `save` overwrites what stays.
        """
        key = (index.tenant, index.owner)
        try:
            found = file.read(self.path(key))
        except file.TornFileError:
            self.wipe(key, wait=False)
            return
        except OSError:  # it may not be read: the tables hold all of it
            return
        if found is None:
            return
        said, arrays = found
        if (said["version"], said["model"], said["dim"]) != (VERSION, index.model, index.dim):
            self.wipe(key, wait=False)
        elif said["epoch"] < index.epoch:
            self.wipe(key, wait=False)  # something was removed since
        elif said["epoch"] == index.epoch and said["changed"] <= changed and _has(db, index, said["last"]):
            index.restore(said["index"], arrays)
            index.changed, index.last = said["changed"], said["last"]

    def save(self, index: OwnerParts) -> None:
        """Write the owner's file, unless it has a later state. Hold the lock of the tenant, and ask `is_present` under
        it before."""
        path = self.path((index.tenant, index.owner))
        with index.lock:
            held = file.read_head(path)
            state: dict[str, Any] = {"epoch": index.epoch, "last": index.last, "changed": index.changed}
            if held is not None and held.items() >= state.items():
                index.is_kept()
                return
            if held is None or held["epoch"] < index.epoch:
                self._wipe(path)  # torn, or with what was removed
            said: dict[str, Any] = {
                "version": VERSION,
                "model": index.model,
                "dim": index.dim,
                "changed": index.changed,
                **state,
            }
            said["index"], arrays = index.parts()
            file.write(path, said, arrays)
            index.is_kept()

    def faults(self, kept: OwnerParts, fresh: OwnerParts) -> list[str]:
        """What is wrong with the file that `kept` was filled from, beside `fresh` that was loaded from the tables
        alone, both at the same state."""
        try:
            file.verify(self.path((kept.tenant, kept.owner)))
        except file.TornFileError as error:
            return [str(error)]
        mine, tables = kept.content(), fresh.content()
        return [f"{name} is not what the tables say" for name in tables if not np.array_equal(mine[name], tables[name])]

    def wipe(self, key: Key, *, wait: bool = True) -> None:
        """Overwrite and remove what there is of an owner; without `wait`, not while another holds the tenant's lock.

        Waiting must not be on the event loop, which the holder may need to go on. Raises StoreError.
        """
        with self.lock(key[0], wait=wait) as held:
            if held:
                self._wipe(self.path(key))

    def sweep(self, tenant: str, epochs: Mapping[str, int]) -> None:
        """Overwrite and remove every file of a tenant that is not of one of these owners and of its epoch. Raises
        StoreError."""
        with self.lock(tenant) as held:
            if not held:
                return
            known = {self.path((tenant, owner)): epoch for owner, epoch in epochs.items()}
            for path in self.paths(tenant):
                said = file.read_head(path)
                if path not in known or said is None or said["epoch"] != known[path]:
                    self._wipe(path)
                else:
                    self._wipe(file.new_path(path))

    def paths(self, tenant: str) -> Iterable[Path]:
        """Of every file of a tenant, half-written ones too, the name it has or would have."""
        place = self.folder / _name(tenant)
        return sorted({path.with_suffix(".index") for end in ("index", "new") for path in place.glob(f"*.{end}")})

    def _wipe(self, path: Path) -> None:
        try:
            file.wipe(file.new_path(path))
            file.wipe(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be overwritten: {error}. Check its rights, or remove it.") from error


def is_present(db: Db, index: OwnerParts) -> bool:
    """Whether the tables go on from where the index was refreshed: nothing was removed since, they are no others."""
    row = db.one("SELECT epoch FROM owners WHERE tenant = ? AND owner = ?", (index.tenant, index.owner))
    return row is not None and row["epoch"] == index.epoch and _has(db, index, index.last)


def last_operation(db: Db, index: OwnerParts) -> list[Any] | None:
    """The owner's newest operation: its place in the log and its id."""
    row = db.one(
        "SELECT seq, id FROM operations WHERE tenant = ? AND owner = ? ORDER BY seq DESC LIMIT 1",
        (index.tenant, index.owner),
    )
    return None if row is None else [row["seq"], row["id"]]


def _has(db: Db, index: OwnerParts, operation: list[Any] | None) -> bool:
    """Whether the log has this operation at its place; another is there in a store that was restored, or whose owner
    was erased and came back."""
    if operation is None:
        return False
    seq, name = operation
    row = db.one(
        "SELECT id FROM operations WHERE tenant = ? AND owner = ? AND seq = ?", (index.tenant, index.owner, seq)
    )
    return row is not None and row["id"] == name


def files_beside(store: str) -> IndexFiles | None:
    """The index files of the store at a path; a store in memory or on a server has none."""
    return None if store == ":memory:" or "://" in store else IndexFiles(Path(f"{store}-index"))


def _name(text: str) -> str:
    return hashlib.blake2b(os.fsencode(text), digest_size=16).hexdigest()
