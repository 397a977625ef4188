"""Reads that the hot tier may answer: by the record's own state, never by time."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from memstrata.embed.base import require
from memstrata.errors import MemstrataError, StoreFormatError
from memstrata.hot.told import Answers, Recording, Told, Untold
from memstrata.store.base import Db, Store
from memstrata.store.tables import STORE_ID

if TYPE_CHECKING:
    from memstrata.engine import Engine
    from memstrata.hot.redis_tier import RedisTier

T = TypeVar("T")
Key = tuple[str, str]  # tenant, owner
Field = tuple[str | None, str | None, str]  # agent, session, and what is read of it


@dataclass(slots=True)
class HotTier:
    """The hot tier of an open memory.

    `work` gives the function that reads a field; a field that is kept is read again in the background when its owner's
    rows changed.
    """

    url: str
    work: Callable[[Engine, Key, Field], Callable[[Db], Any]]
    hits: int = 0
    misses: int = 0
    _tier: RedisTier | None = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _refreshing: dict[Key, bool] = field(default_factory=dict)  # whether to begin again when it is done
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        require("redis", "the hot tier", "redis")

    async def _opened(self, store: Store) -> RedisTier:
        async with self._opening:
            if self._tier is None:
                from memstrata.hot.redis_tier import RedisTier

                self._tier = RedisTier(self.url, await _name_of(store))
            return self._tier

    async def read(self, engine: Engine, key: Key, of: Field) -> Any:
        """What `work` reads of a field, from Redis when that is as the record is now."""
        tier = await self._opened(engine.store)
        work = self.work(engine, key, of)
        if tier.rests:
            return await engine.store.read(work)
        found, state = await asyncio.gather(
            tier.get(key, _text(of)), engine.store.read(lambda db: _state(db, key), brief=True)
        )
        if found is not None and found[0] == state:
            try:
                answer = work(Told(found[1]))
            except (Untold, StoreFormatError, LookupError, TypeError, ValueError):  # kept by another version
                pass
            else:
                self.hits += 1
                return answer
        self.misses += 1
        answer, keeping = await self._read(tier, engine, key, of)
        self._start(keeping)
        return answer

    async def _read(
        self, tier: RedisTier, engine: Engine, key: Key, of: Field
    ) -> tuple[Any, Coroutine[Any, Any, None] | None]:
        """What the record says of a field, and what is left to do to keep it."""
        fence = await tier.fence()

        def work(db: Db) -> tuple[Any, Any, Answers]:
            recording = Recording(db)
            return self.work(engine, key, of)(recording), _state(db, key), recording.answers

        answer, state, answers = await engine.store.read(work)
        return answer, None if fence is None or state is None else tier.keep(key, _text(of), fence, state, answers)

    def changed(self, engine: Engine, key: Key) -> None:
        """Read again, in the background, what is kept of an owner."""
        if key in self._refreshing:
            self._refreshing[key] = True
        else:
            self._refreshing[key] = False
            self._start(self._refresh(engine, key))

    async def _refresh(self, engine: Engine, key: Key) -> None:
        try:
            again = True
            while again:
                self._refreshing[key] = False
                tier = await self._opened(engine.store)
                for text in await tier.fields(key):
                    agent, session, what = orjson.loads(text)
                    _, keeping = await self._read(tier, engine, key, (agent, session, what))
                    if keeping is not None:
                        await keeping
                again = self._refreshing[key]
        finally:
            del self._refreshing[key]

    def _start(self, work: Coroutine[Any, Any, None] | None) -> None:
        if work is not None:
            task = asyncio.get_running_loop().create_task(_quietly(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        """Wait for what goes on in the background."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def drop(self, store: Store, key: Key) -> None:
        """Forget an owner, as far as Redis answers; what it cannot be told, it loses after an hour."""
        await (await self._opened(store)).drop(key)

    async def clear(self, store: Store) -> bool:
        """Forget everything of the store. False when Redis does not answer."""
        return await (await self._opened(store)).clear()

    async def close(self) -> None:
        await self.settle()
        if self._tier is not None:
            await self._tier.close()


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """What is done in the background fails with the call that needs it, not here."""
    try:
        await work
    except MemstrataError:
        return


def _text(of: Field) -> str:
    return orjson.dumps(of).decode()


def _state(db: Db, key: Key) -> list[Any] | None:
    """What changes with every row that a context shows, also when an older state of the store was restored.

    Every operation has a `seq`, also a touch and a page's summary; `remember` decides under the operation that stored
    its turn, but then a note changes. That turns were indexed is none of it.
    """
    row = db.one(
        "SELECT w.notes_changed, w.epoch, w.seq, o.id FROM owners w LEFT JOIN operations o"
        " ON o.tenant = w.tenant AND o.owner = w.owner AND o.seq = w.seq WHERE w.tenant = ? AND w.owner = ?",
        key,
    )
    return None if row is None else list(row)


async def _name_of(store: Store) -> str:
    """The store's own name, drawn when it is first asked for."""

    def read(db: Db) -> str | None:
        row = db.one("SELECT value FROM meta WHERE key = ?", (STORE_ID,))
        return None if row is None else str(row["value"])

    def draw(db: Db) -> None:
        db.run("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", (STORE_ID, uuid.uuid4().hex))

    if (name := await store.read(read)) is None:
        await store.write(draw)
        name = await store.read(read)
    return str(name)
