"""Answers kept in Redis or Valkey, one hash a (tenant, owner) with a field a session.

What is kept is never the record: it names the state of the owner's rows that it was read at, and counts only while the
record is in that state. So whatever Redis loses, keeps too long, or is told late costs time and nothing else; a server
that does not answer within TIMEOUT_SECONDS is left alone for REST_SECONDS.

What leaves the record leaves Redis: `drop` and `clear` remove keys and count up a fence, and nothing is kept that was
read before the fence was last counted up.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Awaitable
from typing import Any, cast

import orjson
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from memstrata.errors import SettingsError

log = logging.getLogger("memstrata")
TIMEOUT_SECONDS = 0.25
REST_SECONDS = 5.0
KEPT_SECONDS = 3600  # what nobody asked for in so long goes by itself
BATCH = 500
_KEEP = """
if (redis.call('GET', KEYS[2]) or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
"""
Key = tuple[str, str]  # tenant, owner


class RedisTier:
    """The hot tier of one store in a Redis. `store` tells stores apart that share a server."""

    def __init__(self, url: str, store: str) -> None:
        self._prefix = f"memstrata:{store}:"
        self._rests_until = 0.0
        try:
            self._redis = Redis.from_url(
                url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS, retry=Retry(NoBackoff(), 0)
            )
        except ValueError as error:
            raise SettingsError(f"hot_url is no address of a Redis ({error}); say redis://HOST:PORT/0") from error

    def _key(self, key: Key) -> str:
        """Names of tenants and owners are hashed: whoever lists the keys learns none."""
        return f"{self._prefix}{hashlib.sha256(orjson.dumps(key)).hexdigest()[:32]}"

    @property
    def _fence(self) -> str:
        return f"{self._prefix}fence"

    async def _ask(self, call: Awaitable[Any], default: Any) -> Any:
        """The answer of Redis; `default` when it does not answer."""
        try:
            return await call
        except (RedisError, OSError, TimeoutError) as error:
            self._rests_until = time.monotonic() + REST_SECONDS
            log.warning("the hot tier does not answer, the store does without: %s", type(error).__name__)
            return default

    @property
    def rests(self) -> bool:
        """Whether Redis is left alone, since it did not answer."""
        return time.monotonic() < self._rests_until

    async def get(self, key: Key, field: str) -> tuple[Any, dict[str, Any]] | None:
        """The state that a field was read at, and its answers; None when it is not there."""
        if self.rests:
            return None
        found = await self._ask(cast("Awaitable[Any]", self._redis.hget(self._key(key), field)), None)
        if found is None:
            return None
        try:
            state, answers = orjson.loads(found)
        except ValueError:  # another program's, or a later version's
            return None
        return state, answers

    async def fields(self, key: Key) -> list[str]:
        """What is kept of an owner."""
        if self.rests:
            return []
        found = await self._ask(cast("Awaitable[Any]", self._redis.hkeys(self._key(key))), [])
        return [field.decode() for field in found]

    async def fence(self) -> str | None:
        """How often something had to leave so far; None when Redis does not answer."""
        if self.rests:
            return None
        found = await self._ask(self._redis.get(self._fence), False)
        return None if found is False else (found or b"0").decode()

    async def keep(self, key: Key, field: str, fence: str, state: Any, answers: Any) -> None:
        """Keep answers that were read after `fence` was asked for."""
        if self.rests:
            return
        call = self._redis.eval(
            _KEEP, 2, self._key(key), self._fence, fence, field, orjson.dumps([state, answers]), KEPT_SECONDS
        )
        await self._ask(call, 0)

    async def drop(self, key: Key) -> bool:
        """Forget an owner. False when Redis does not answer."""
        return await self._remove([self._key(key)])

    async def clear(self) -> bool:
        """Forget all of this store. False when Redis does not answer."""
        try:
            found = [name async for name in self._redis.scan_iter(match=f"{self._prefix}*", count=BATCH)]
        except (RedisError, OSError, TimeoutError):
            return False
        return await self._remove([name for name in found if name.decode() != self._fence])

    async def _remove(self, names: list[Any]) -> bool:
        try:
            await self._redis.incr(self._fence)
            for start in range(0, len(names), BATCH):
                await self._redis.delete(*names[start : start + BATCH])
        except (RedisError, OSError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        await self._redis.aclose()
