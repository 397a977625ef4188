"""The owners' indexes that are kept in memory, within a budget of bytes; engines of several tenants share them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from memstrata.index.files import IndexFiles
from memstrata.index.owner import OwnerIndex

WEIGH_SECONDS = 1.0  # how often they are weighed: a thousand of them take 25 ms


@dataclass(slots=True)
class KeptIndexes:
    """Indexes by (tenant, owner). They are dropped, longest unused first, above so many bytes of arrays."""

    limit: int = 0
    _kept: OrderedDict[tuple[str, str], OwnerIndex] = field(default_factory=OrderedDict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _weigh_at: float = 0.0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, tenant: str, owner: str, dim: int, model: str = "", files: IndexFiles | None = None) -> OwnerIndex:
        """The owner's index, an empty one where none is kept."""
        key = (tenant, owner)
        with self._guard:
            index = self._kept.get(key)
            if index is None:
                index = self._kept[key] = OwnerIndex(*key, dim, model, files)
            self._kept.move_to_end(key)
            if time.monotonic() >= self._weigh_at:
                self._weigh()
            return index

    def _weigh(self) -> None:
        total = sum(index.nbytes for index in self._kept.values())
        while len(self._kept) > 1 and total > self.limit:
            total -= self._kept.popitem(last=False)[1].nbytes
        self._weigh_at = time.monotonic() + WEIGH_SECONDS

    def drop(self, tenant: str, owner: str) -> None:
        with self._guard:
            self._kept.pop((tenant, owner), None)
