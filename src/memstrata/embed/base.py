"""The Embedder seam: texts in, unit vectors out; what every local encoder shares; and the names one can ask for."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import ClosedError, EmbedderError, InputError, MissingExtraError

Vector = NDArray[np.float32]

CACHED_TEXTS = 4096
CACHED_TOKENS = 512  # texts whose token vectors are kept: each has many
LENGTH_OFF = 0.02  # how far from 1 the length of a vector may be: half-precision models round
# Texts a call encodes before it lets another call have its turn: a query waits for so many texts of an import at most.
TURN = 4


class Embedder(Protocol):
    """Turns texts into vectors.

    `name` is stored with the vectors: two embedders of the same name give the same vectors.
    `dim` is the length of a vector; 0 while it is not known yet (only remote and hub models, before their first answer,
    when it was not given).
    """

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        """The vectors of `texts`: float32, shape (n, dim), one row a text.

        Rows have length 1, so a dot product is a cosine; the row of a text with nothing in it (blank) is all zeros and
        thus similar to nothing. The vector of a text does not depend on the other texts of the call.
        `query=True` encodes for search, where the model makes that difference.

        Raises:
            EmbedderError: the model failed.
            ClosedError: after close().
        """
        ...

    async def close(self) -> None:
        """Frees the model. Calling it twice is fine."""
        ...


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text that carry content, each once: `vectors` has a row of length 1 for each, as the encoder sees
    it among the others, shape (n, token_dim); `words` the word of the text that it is (part of)."""

    words: tuple[str, ...]
    vectors: Vector


class TokenEmbedder(Embedder, Protocol):
    """An embedder that can also give the vectors of a text's tokens, for late interaction. `token_dim` is their length.

    Not every model can: `token_embedder` tells whether one does.
    """

    @property
    def token_dim(self) -> int: ...

    async def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> tuple[Vector, list[Tokens]]:
        """What `embed` gives for the texts, and the tokens of each, of the same pass of the encoder.

        Function words, punctuation and what the model has no token for are left out; a text may have none left. As with
        `embed`, nothing depends on the other texts of the call.

        Raises:
            EmbedderError: the model failed.
            ClosedError: after close().
        """
        ...


def token_embedder(embedder: Embedder) -> TokenEmbedder | None:
    """The embedder, if it gives token vectors."""
    return cast(TokenEmbedder, embedder) if getattr(embedder, "token_dim", 0) else None


def sound_tokens(tokens: Sequence[Tokens], texts: Sequence[str], embedder: TokenEmbedder) -> None:
    """Checks what an embedder gave as the tokens of `texts`.

    Raises:
        EmbedderError: not one entry a text, or not one row of length 1 a word.
    """
    if len(tokens) != len(texts):
        raise EmbedderError(f"{embedder.name} gave the tokens of {len(tokens)} texts for {len(texts)}")
    for each in tokens:
        if each.vectors.shape != (len(each.words), embedder.token_dim):
            raise EmbedderError(
                f"{embedder.name} gave token vectors of shape {each.vectors.shape} for {len(each.words)} tokens of "
                f"{embedder.token_dim}"
            )
    rows = np.concatenate([each.vectors for each in tokens]) if tokens else np.zeros((0, 1), np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if not (np.abs(lengths - 1.0) < LENGTH_OFF).all():  # a NaN is not near 1 either
        raise EmbedderError(f"{embedder.name} gave a token vector that is not of length 1")


Kept = TypeVar("Kept")


class VectorCache(Generic[Kept]):
    """The vectors (or what else is kept) of the texts met last, so that a repeated text is not encoded again.

    Thread-safe. Keys are digests: the cache keeps no text alive, so erasing a person's texts leaves none behind here.
    """

    def __init__(self, size: int = CACHED_TEXTS) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, Kept] = OrderedDict()
        self._lock = threading.Lock()

    @staticmethod
    def key(text: str, query: bool) -> bytes:
        """The key of a cleaned text."""
        return blake2b(text.encode(), digest_size=16, person=b"query" if query else b"passage").digest()

    def get(self, key: bytes) -> Kept | None:
        """The vector under `key`, now the most recent one; None if it is not there."""
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, key: bytes, vector: Kept) -> None:
        """Keeps `vector`; the one unused for longest goes when the cache is full."""
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            if len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._vectors.clear()


def clean(texts: Sequence[str], max_chars: int) -> list[str]:
    """What models can take: the first `max_chars` characters, NUL as a space, lone surrogates as "?".

    Raises:
        InputError: `texts` is a single string, or an item is no string.
    """
    if isinstance(texts, str):
        raise InputError("embed takes a list of texts, not one string")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{i}] is {type(text).__name__}, not str")
    return [t[:max_chars].replace("\0", " ").encode("utf-8", "replace").decode() for t in texts]


def unit(vector: NDArray[Any]) -> Vector:
    """`vector` scaled to length 1, as float32; zeros stay zeros.

    Raises:
        EmbedderError: a component is not finite.
    """
    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(norm):
        raise EmbedderError("the embedding model gave a vector with components that are not finite numbers")
    return (vector / norm if norm else vector).astype(np.float32)


def sound(vectors: Vector, texts: Sequence[str], embedder: Embedder) -> Vector:
    """The vectors an embedder gave for `texts`, unless they cannot be vectors of them: nothing is computed from those.

    Raises:
        EmbedderError: another shape than (n, dim), a component that is no finite number, a row that is not of length
            1, or zeros for a text that has words.
    """
    shape = getattr(vectors, "shape", None)
    if shape != (len(texts), embedder.dim):
        raise EmbedderError(f"{embedder.name} gave vectors of shape {shape} for {len(texts)} texts of {embedder.dim}")
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    for n in np.flatnonzero(~(np.abs(lengths - 1.0) < LENGTH_OFF)).tolist():  # a NaN is not near 1 either
        if lengths[n] != 0.0:
            raise EmbedderError(f"{embedder.name} gave a vector of length {lengths[n]:.3g}, not 1")
        if any(character.isalnum() for character in texts[n]):
            raise EmbedderError(f"{embedder.name} gave a vector of zeros for a text with words")
    return vectors


Model = TypeVar("Model")
EncodeTurn = Callable[[list[tuple[bytes, str]], bool], list[Kept]]


class LocalEmbedder(ABC, Generic[Model]):
    """An encoder that runs in this process, on one thread of its own.

    The model is loaded by that thread at the first text, once. Calls from any thread or event loop take turns of a few
    texts each, so a query does not wait for the whole of an import. A subclass says how to load and encode.
    """

    max_chars = 16_384

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim
        self._cache: VectorCache[Vector] = VectorCache()
        self._model: Model | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memstrata-embed")
        self._lock = threading.Lock()
        self._closed = False

    @abstractmethod
    def _load(self) -> Model:
        """Loads the model and sets `dim` if it was not known. Runs on the worker thread.

        Raises:
            EmbedderError: it cannot be loaded; says what to do.
        """

    @abstractmethod
    def _encode(self, model: Model, text: str, query: bool) -> NDArray[Any]:
        """The vector of one cleaned, non-blank text, of any length. Runs on the worker thread.

        Raises:
            EmbedderError: the model failed.
        """

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        """See `Embedder.embed`."""
        rows = await self._all(self._cache, self._encode_turn, texts, query)
        return np.stack(rows) if rows else np.zeros((0, self.dim), np.float32)

    async def _all(
        self, cache: VectorCache[Kept], encode: EncodeTurn[Kept], texts: Sequence[str], query: bool
    ) -> list[Kept]:
        """What `encode` gives for each text, or what the cache has of it; a few texts at a time."""
        if self._closed:
            raise ClosedError("this embedder is closed")
        cleaned = clean(texts, self.max_chars)
        keys = [cache.key(text, query) for text in cleaned]
        rows = [cache.get(key) for key in keys]
        missing = [i for i, row in enumerate(rows) if row is None]
        for start in range(0, len(missing), TURN):
            turn = missing[start : start + TURN]
            made = await asyncio.wrap_future(self._submit(encode, [(keys[i], cleaned[i]) for i in turn], query))
            for i, row in zip(turn, made, strict=True):
                rows[i] = row
        return [row for row in rows if row is not None]

    async def close(self) -> None:
        """See `Embedder.close`. Texts in hand are finished first."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            unloaded = self._worker.submit(self._unload)
            self._worker.shutdown(wait=False)
        await asyncio.wrap_future(unloaded)

    def _submit(self, encode: EncodeTurn[Kept], work: list[tuple[bytes, str]], query: bool) -> Future[list[Kept]]:
        with self._lock:
            if self._closed:
                raise ClosedError("this embedder is closed")
            return self._worker.submit(encode, work, query)

    def _loaded(self) -> Model:
        if self._model is None:
            self._model = self._load()
        return self._model

    def _encode_turn(self, work: list[tuple[bytes, str]], query: bool) -> list[Vector]:
        model = self._loaded()
        vectors = []
        for key, text in work:
            vector = self._cache.get(key)  # the same text may have come twice in the meantime
            if vector is None:
                blank = not text or text.isspace()
                vector = np.zeros(self.dim, np.float32) if blank else unit(self._encode(model, text, query))
                self._cache.put(key, vector)
            vectors.append(vector)
        return vectors

    def _unload(self) -> None:
        self._model = None
        self._cache.clear()


class LocalTokenEmbedder(LocalEmbedder[Model]):
    """A local encoder that gives the vectors of a text's tokens too."""

    def __init__(self, name: str, dim: int, token_dim: int) -> None:
        super().__init__(name, dim)
        self.token_dim = token_dim
        self._tokens: VectorCache[tuple[Vector, Tokens]] = VectorCache(CACHED_TOKENS)

    @abstractmethod
    def _encode_tokens(self, model: Model, text: str, query: bool) -> tuple[NDArray[Any], Tokens]:
        """The vector of one cleaned, non-blank text, of any length, and its tokens. Runs on the worker thread.

        Raises:
            EmbedderError: the model failed.
        """

    async def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> tuple[Vector, list[Tokens]]:
        """See `TokenEmbedder.embed_tokens`."""
        rows = await self._all(self._tokens, self._encode_turn_tokens, texts, query)
        vectors = np.stack([vector for vector, _ in rows]) if rows else np.zeros((0, self.dim), np.float32)
        return vectors, [tokens for _, tokens in rows]

    def _encode_turn_tokens(self, work: list[tuple[bytes, str]], query: bool) -> list[tuple[Vector, Tokens]]:
        model = self._loaded()
        made = []
        for key, text in work:
            known = self._tokens.get(key)
            if known is None:
                if not text or text.isspace():
                    known = (np.zeros(self.dim, np.float32), Tokens((), np.zeros((0, self.token_dim), np.float32)))
                else:
                    vector, tokens = self._encode_tokens(model, text, query)
                    known = (unit(vector), tokens)
                self._tokens.put(key, known)
                self._cache.put(key, known[0])  # the text itself may be asked for next
            made.append(known)
        return made

    def _unload(self) -> None:
        super()._unload()
        self._tokens.clear()


def require(module: str, what: str, extra: str) -> None:
    """Checks that `module` is installed, without importing it.

    Raises:
        MissingExtraError: it is not; names the extra that brings it.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(what, extra)
