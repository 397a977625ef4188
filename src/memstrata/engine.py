"""What every stage needs: the seams, the settings and the indexes in memory. The stages are functions of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memstrata.clock import Clock
from memstrata.embed.base import Embedder
from memstrata.errors import ModelMismatchError, StoreError
from memstrata.gate.policy import Policy
from memstrata.index.files import IndexFiles, is_present
from memstrata.index.kept import KeptIndexes
from memstrata.index.owner import OwnerIndex
from memstrata.journal.recorder import Recorder
from memstrata.llm.guard import Guard
from memstrata.settings import Settings
from memstrata.store.base import Db, Store
from memstrata.store.tables import COPYING
from memstrata.types import Scope

if TYPE_CHECKING:
    from memstrata.hot.reading import HotTier
    from memstrata.intake.redact import Redactor
    from memstrata.llm.nli import NLI
    from memstrata.rerank.base import Reranker


def new_operation_id() -> str:
    """An id that sorts by time: 48 bits of milliseconds, then 52 random bits."""
    return f"op_{time.time_ns() // 1_000_000:012x}{int.from_bytes(os.urandom(7)) >> 4:013x}"


@dataclass(slots=True)
class Engine:
    """The seams and settings that the stages work with. One for each open memory."""

    store: Store
    embedder: Embedder
    clock: Clock
    settings: Settings
    policy: Policy
    redactor: Redactor
    llm: Guard | None = None
    nli: NLI | None = None
    reranker: Reranker | None = None
    files: IndexFiles | None = None
    hot: HotTier | None = None
    operation_id: Callable[[], str] = new_operation_id
    retired: Callable[[Scope, str], None] | None = None  # told whom retention erased, and the operation
    _indexes: KeptIndexes = field(default_factory=KeptIndexes)

    def __post_init__(self) -> None:
        self._indexes.limit = self.settings.index_megabytes * 2**20

    @property
    def read_only(self) -> bool:
        """Whether the store can only be read: then nothing is touched, and what waits for its work goes on waiting."""
        return bool(getattr(self.store, "read_only", False))

    def now(self) -> datetime:
        return self.clock.now()

    def record(
        self, db: Db, scope: Scope, verb: str, *, operation: str, now: datetime, resume: bool = False
    ) -> Recorder:
        return Recorder(db, scope, operation, verb, now, resume)

    def index(self, scope: Scope) -> OwnerIndex:
        """The owner's index; refresh it inside a transaction, under its lock, before use."""
        embedder = self.embedder
        return self._indexes.get(scope.tenant, scope.owner, embedder.dim, embedder.name, self.files)

    async def keep(self, index: OwnerIndex) -> None:
        """Write the owner's index to its file when that is due; see `index.files`. Call it after a read that
        refreshed."""
        if not index.is_to_keep or self.files is None:
            return
        try:
            with self.files.lock(index.tenant, wait=False) as held:
                if held and await self.store.read(lambda db: is_present(db, index), brief=True):
                    await asyncio.to_thread(self.files.save, index)
        except (OSError, StoreError):  # a cache that cannot be written is none: the tables hold all of it
            return

    def with_seams(self, **changes: Any) -> Engine:
        """The same settings over other seams, with indexes of its own, which are kept in no file."""
        return replace(self, **changes, files=None, hot=None, _indexes=KeptIndexes())

    def rows_changed(self, tenant: str, owner: str) -> None:
        """Let the hot tier follow, in the background."""
        if self.hot is not None:
            self.hot.changed(self, (tenant, owner))

    async def drop_index(self, scope: Scope) -> None:
        """Forget the owner's index, in memory and on the disk, where it is overwritten. Raises StoreError."""
        self._indexes.drop(scope.tenant, scope.owner)
        if self.hot is not None:
            await self.hot.drop(self.store, (scope.tenant, scope.owner))
        if self.files is not None:
            await asyncio.to_thread(self.files.wipe, (scope.tenant, scope.owner))

    def check_model(self, db: Db) -> bool:
        """Refuse to mix vectors: the store's model is the first that wrote to it. Whether there is one yet.

        Raises ModelMismatchError with the command that moves the store to this model.
        """
        rows = db.all("SELECT key, value FROM meta WHERE key IN ('embedder', ?)", (COPYING,))
        meta = {row["key"]: row["value"] for row in rows}
        if COPYING in meta:
            raise StoreError("this store is an unfinished copy: repeat `memstrata copy`, which goes on with it")
        if (model := meta.get("embedder", self.embedder.name)) != self.embedder.name:
            raise ModelMismatchError(
                f"the vectors in this store come from {model!r}, not from {self.embedder.name!r}: open it with "
                f"that embedder, or move it with `memstrata reembed --embedder {self.settings.embedder}`"
            )
        return "embedder" in meta
