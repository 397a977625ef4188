"""Vectors kept on disk, one file a model, so that no ablation encodes a text twice."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memstrata.embed.base import Embedder, Vector, VectorCache

AT_ONCE = 500  # keys of one look-up; SQLite takes no more than some thousand parameters
WAIT_SECONDS = 60.0  # for another process that writes to the same file


class CachedEmbedder:
    """An embedder whose vectors are read from a file in `folder` where they are there, and written to it otherwise.

    Several memories and processes may share one. `close` does nothing, because a memory closes its embedder and others
    go on with this one: `finish` closes it.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (re.sub(r"[^\w.-]+", "-", inner.name) + ".vectors")
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")  # what a crash loses is encoded again
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dim(self) -> int:
        return self._inner.dim

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        """See `Embedder.embed`."""
        keys = [VectorCache.key(text, query) for text in texts]
        found = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            vectors = await self._inner.embed(list(missing.values()), query=query)
            new = dict(zip(missing, vectors, strict=True))
            self._write(new)
            found |= new
        if not keys:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([found[key] for key in keys])

    async def close(self) -> None:
        """Leaves it open for the others that share it."""

    async def finish(self) -> None:
        """Closes the file and the embedder behind it."""
        await self._inner.close()
        self._db.close()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        with self._lock:
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
                found.update((key, np.frombuffer(vector, np.float32)) for key, vector in rows)
        return found

    def _write(self, vectors: dict[bytes, Vector]) -> None:
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()]
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)
            self._db.execute("COMMIT")
