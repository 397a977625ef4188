"""Reembed: the store moves to another model. New vectors gather in a side table; one transaction puts them in place.

Until that transaction the store answers with the old model; what is in the side table survives a crash, so that the
next run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

from memstrata.embed.base import Embedder
from memstrata.index.encode import Encoded, encode
from memstrata.ledger.documents import Key, documents_of, read_sources
from memstrata.ledger.reindex import BATCH, report
from memstrata.store.base import Db, Store
from memstrata.store.kinds import TURN
from memstrata.types import Progress


def digest_of_text(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


async def reembed(
    store: Store, embedder: Embedder, progress: Progress | None = None, *, tokens: bool = True
) -> dict[str, int]:
    """Compute every vector of the store (of all tenants: a store has one model) with `embedder`, then switch; with
    `tokens`, where it can, those of the tokens of turns too.

    Returns how many texts were embedded by this run and how many vectors were switched: none where the store has this
    model already.
    """
    store = store.within(None)
    model = await store.read(lambda db: db.one("SELECT value FROM meta WHERE key = 'embedder'"))
    if model is not None and model["value"] == embedder.name:
        return {"embedded": 0, "vectors": 0}
    owners = await store.read(_owners)
    embedded = 0
    for n, key in enumerate(owners, 1):
        embedded += await _fill(store, embedder, key, tokens)
        report(progress, "owners", n, len(owners))
    while True:
        switched, late = await store.write(lambda db: _switch(db, embedder.name))
        if not late:
            return {"embedded": embedded, "vectors": switched}
        for key in late:  # written to since we looked
            embedded += await _fill(store, embedder, key, tokens)


def _owners(db: Db) -> list[Key]:
    return [(row["tenant"], row["owner"]) for row in db.all("SELECT tenant, owner FROM owners ORDER BY tenant, owner")]


async def _fill(store: Store, embedder: Embedder, key: Key, tokens: bool) -> int:
    """Put the vectors of an owner's texts that the side table lacks into it; returns how many."""
    model = embedder.name

    def read(db: Db) -> dict[str, bool]:
        """The texts, and whether a turn says them."""
        known = _gathered(db, key, model)
        documents = documents_of(read_sources(db, key))
        said = {text for document in documents if document.kind == TURN for text in document.dense}
        texts = dict.fromkeys(text for document in documents for text in document.dense)
        return {text: text in said for text in texts if digest_of_text(text) not in known}

    missing = await store.read(read)
    for part, late in _batches(missing, tokens):
        encoded = await encode(embedder, part, late=late)

        def write(db: Db, part: Sequence[str] = part, encoded: Encoded = encoded) -> None:
            if db.one("SELECT 1 FROM owners WHERE tenant = ? AND owner = ?", key) is None:
                return  # erased in between
            db.many(
                "INSERT INTO next_vectors (tenant, owner, model, digest, vector, tokens) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                [
                    (*key, model, digest_of_text(text), vector.astype("<f4").tobytes(), packed)
                    for text, vector, packed in zip(
                        part, encoded.vectors, encoded.tokens or (None,) * len(part), strict=True
                    )
                ],
            )

        await store.write(write)
    return len(missing)


def _batches(texts: Mapping[str, bool], tokens: bool) -> Iterator[tuple[list[str], bool]]:
    """Texts in batches, and whether the vectors of their tokens are wanted."""
    for said in (True, False):
        chosen = [text for text, is_said in texts.items() if is_said == said]
        for start in range(0, len(chosen), BATCH):
            yield chosen[start : start + BATCH], said and tokens


def _gathered(db: Db, key: Key, model: str) -> dict[bytes, tuple[bytes, bytes | None]]:
    """The vector of each text, and its tokens'."""
    rows = db.all(
        "SELECT digest, vector, tokens FROM next_vectors WHERE tenant = ? AND owner = ? AND model = ?", (*key, model)
    )
    return {bytes(row["digest"]): (bytes(row["vector"]), row["tokens"]) for row in rows}


def _switch(db: Db, model: str) -> tuple[int, list[Key]]:
    """Put all gathered vectors in place, unless some owner lacks some: then those owners are named, nothing changes."""
    ready: list[tuple[object, ...]] = []
    late: list[Key] = []
    owners = _owners(db)
    for key in owners:
        rows = _vector_rows(db, key, model)
        if rows is None:
            late.append(key)
        else:
            ready.extend(rows)
    if late:
        return 0, late
    db.many(
        "UPDATE vectors SET model = ?, dim = ?, vector = ?, tokens = ?"
        " WHERE tenant = ? AND owner = ? AND unit = ? AND chunk = ?",
        ready,
    )
    db.run("DELETE FROM vectors WHERE model <> ?", (model,))
    db.run("UPDATE owners SET changed = changed + 1, epoch = epoch + 1")  # readers load their owners anew
    db.run(
        "INSERT INTO meta (key, value) VALUES ('embedder', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (model,),
    )
    db.run("DELETE FROM next_vectors")
    return len(ready), []


def _vector_rows(db: Db, key: Key, model: str) -> list[tuple[object, ...]] | None:
    """The parameters that put an owner's vectors in place; None when a text has no vector yet."""
    gathered = _gathered(db, key, model)
    units = {
        (row["kind"], row["ref"]): row["no"]
        for row in db.all("SELECT no, kind, ref FROM units WHERE tenant = ? AND owner = ?", key)
    }
    rows: list[tuple[object, ...]] = []
    for document in documents_of(read_sources(db, key)):
        unit = units.get((document.kind, document.ref))
        if unit is None:
            continue
        for chunk, text in enumerate(document.dense):
            found = gathered.get(digest_of_text(text))
            if found is None:
                return None
            vector, tokens = found
            packed = tokens if document.kind == TURN else None
            rows.append((model, len(vector) // 4, vector, packed, *key, unit, chunk))
    return rows
