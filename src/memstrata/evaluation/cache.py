"""Vectors kept on disk, one file a model, so that no ablation encodes a text twice."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memstrata.embed.base import Embedder, Tokens, Vector, VectorCache, token_embedder
from memstrata.errors import EmbedderError

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
        self._db.execute("CREATE TABLE IF NOT EXISTS tokens (key BLOB PRIMARY KEY, words TEXT, vectors BLOB)")

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dim(self) -> int:
        return self._inner.dim

    @property
    def token_dim(self) -> int:
        """Of the embedder's token vectors; 0 where it gives none."""
        encoder = token_embedder(self._inner)
        return encoder.token_dim if encoder is not None else 0

    async def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> tuple[Vector, list[Tokens]]:
        """See `TokenEmbedder.embed_tokens`."""
        encoder = token_embedder(self._inner)
        if encoder is None:
            raise EmbedderError(f"{self._inner.name} gives no token vectors")
        keys = [VectorCache.key(text, query) for text in texts]
        found = self._read_tokens(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            vectors, made = await encoder.embed_tokens(list(missing.values()), query=query)
            self._write(dict(zip(missing, vectors, strict=True)))  # of the same pass: not to be encoded again
            new = dict(zip(missing, made, strict=True))
            self._write_tokens(new)
            found |= new
        return await self.embed(texts, query=query), [found[key] for key in keys]

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
        rows = self._rows("SELECT key, vector FROM vectors WHERE key IN ({marks})", keys)
        return {key: np.frombuffer(vector, np.float32) for key, vector in rows}

    def _write(self, vectors: dict[bytes, Vector]) -> None:
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()]
        self._insert("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)

    def _read_tokens(self, keys: Sequence[bytes]) -> dict[bytes, Tokens]:
        found = {}
        for key, words, vectors in self._rows("SELECT key, words, vectors FROM tokens WHERE key IN ({marks})", keys):
            rows = np.frombuffer(vectors, np.float16).astype(np.float32).reshape(-1, self.token_dim)
            found[key] = Tokens(tuple(json.loads(words)), rows)
        return found

    def _write_tokens(self, tokens: dict[bytes, Tokens]) -> None:
        rows = [
            (key, json.dumps(each.words), each.vectors.astype(np.float16).tobytes()) for key, each in tokens.items()
        ]
        self._insert("INSERT OR IGNORE INTO tokens (key, words, vectors) VALUES (?, ?, ?)", rows)

    def _rows(self, sql: str, keys: Sequence[bytes]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        with self._lock:
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                found += self._db.execute(sql.format(marks=",".join("?" * len(part))), part)
        return found

    def _insert(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(sql, rows)
            self._db.execute("COMMIT")
