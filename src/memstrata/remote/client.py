"""`RemoteMemory`: the methods of `AsyncMemory`, each a call of a service.

They are made from the table of verbs that the service serves, so that arguments, results and errors are the same on
both sides. A call that was cut is sent again where that cannot do anything twice: what only reads, and `add` and
`remember`, which go under an idempotency key.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from functools import cache, wraps
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn, Self
from urllib.parse import quote

import orjson
from pydantic import TypeAdapter, ValidationError

from memstrata.async_memory import AsyncMemory
from memstrata.errors import ClosedError, InputError, MissingExtraError, ServiceError, SettingsError, StoreBusyError
from memstrata.ledger.export import opened, write_lines
from memstrata.remote.problems import error_of
from memstrata.server.verbs import EXPORT, IDEMPOTENCY_HEADER, IMPORT, VERBS, Verb
from memstrata.settings import Settings
from memstrata.store.rows import dump

TRIES = 3
WAIT_SECONDS, LONGEST_WAIT = 0.2, 5.0  # before the first try again, doubled at each; the longest
# What may take as long as it takes: a model is waited for, or all queued work.
SLOW = frozenset({"ask", "flush", "maintain", "distil", "reindex", "erase", "export", "import_"})
PIECE = 1 << 20
Params = list[tuple[str, str | int | float | bool | None]]


class RemoteMemory(AsyncMemory):
    """The memory of a service.

    Args:
        path: the service's address, such as "https://memory.example".
        api_key: the credential: an API key or a JWT. It says which tenant.
        timeout: seconds that an answer may take; what waits for a model or for queued work takes as long as it takes.
        transport: an `httpx.AsyncBaseTransport` of one's own.

    Raises what the methods of a local memory raise, and AccessError (a key, right, rate or quota) and ServiceError (it
    cannot be reached). `trust` can be lowered, not raised; `progress` is not called; `maintain` takes no `now`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        transport: Any = None,
        **settings: Any,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("the client of a service", "client") from error
        if given := [name for name, value in settings.items() if value is not None]:
            raise SettingsError(f"{', '.join(given)}: the settings of a service are its operator's")
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._client = httpx.AsyncClient(base_url=str(path), headers=headers, timeout=timeout, transport=transport)
        self._transport_error = httpx.TransportError
        self._never_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
        self._slow = httpx.Timeout(timeout, read=None)
        self._closed = False

    @property
    def settings(self) -> Settings:
        raise SettingsError("the settings of a service are its operator's")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._client.aclose()

    async def reembed(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise SettingsError("a store is moved to another model where it lies: `memstrata reembed`")

    async def backup(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise SettingsError("a store is backed up where it lies: `memstrata backup`")

    async def check(self) -> NoReturn:
        raise SettingsError("a store is checked where it lies: `memstrata check`")

    async def export(
        self, target: str | Path | IO[Any], *, user_id: str | None = None, agent_id: str | None = None
    ) -> dict[str, int]:
        params = _query({"user_id": user_id, "agent_id": agent_id})
        counts: Counter[str] = Counter()
        async with self._streamed(EXPORT, params) as lines:
            with opened(target) as stream:
                async for line in lines:
                    counts[orjson.loads(line)["type"]] += 1
                    await asyncio.to_thread(write_lines, stream, line)
        if not counts.pop("end", 0):
            raise ServiceError("the export was cut; what was written is not whole")
        del counts["header"]
        return dict(counts)

    async def import_(
        self,
        source: str | Path | IO[Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        progress: object = None,
    ) -> dict[str, int]:
        params = _query({"user_id": user_id, "agent_id": agent_id, "session_id": session_id})
        with _readable(source) as stream:
            body = await self._send(IMPORT, IMPORT.path, {"params": params, "content": _pieces(stream)}, again=False)
        return dict(orjson.loads(body))

    # calling ----------------------------------------------------------------------------------------------------------

    async def _call(self, verb: Verb, given: Mapping[str, Any]) -> Any:
        """Call a verb with these arguments of its method; what the face's method returns."""
        headers: dict[bytes, bytes] = {}
        if verb.takes_key:
            key = given.get("idempotency_key") or uuid.uuid4().hex
            headers[IDEMPOTENCY_HEADER.encode()] = str(key).encode("utf-8")
        if verb.name == "update" and given.get("revision") is not None:
            headers[b"If-Match"] = f'"{given["revision"]}"'.encode()
        path, arguments = verb.path, _sendable(verb, given)
        if verb.id_name is not None:
            path = path.replace(f"{{{verb.id_name}}}", quote(_id(given[verb.id_name], verb.id_name), safe=""))
        content: dict[str, Any] = {"headers": headers}
        if verb.in_query:
            content["params"] = _query(arguments)
        else:
            headers[b"Content-Type"] = b"application/json"
            content["content"] = _body(arguments)
        body = await self._send(verb, path, content, again=verb.takes_key or verb.right == "read")
        try:
            return _adapter(verb.name).validate_json(body)
        except ValidationError as error:
            raise ServiceError(f"the answer to {verb.name} cannot be read; is the service of this version?") from error

    async def _send(self, verb: Verb, path: str, content: Mapping[str, Any], *, again: bool) -> bytes:
        """The body of a good answer; `again`: a call that was cut may be sent once more."""
        if self._closed:
            raise ClosedError
        timeout = self._slow if verb.name in SLOW else self._client.timeout
        for left in range(TRIES - 1, -1, -1):
            wait = WAIT_SECONDS * 2.0 ** (TRIES - 1 - left)
            try:
                answer = await self._client.request(verb.method, path, timeout=timeout, **content)
            except self._transport_error as error:
                if not left or not (again or isinstance(error, self._never_sent)):
                    raise _unreachable(self._client.base_url, error) from error
            else:
                if answer.is_success:
                    return bytes(answer.content)
                refusal = error_of(answer.status_code, answer.content)
                if not (left and again and isinstance(refusal, StoreBusyError | ClosedError)):
                    raise refusal
                wait = max(wait, getattr(refusal, "retry_after", None) or 0.0)
            await asyncio.sleep(min(wait, LONGEST_WAIT))
        raise AssertionError  # the last try returned or raised

    @contextlib.asynccontextmanager
    async def _streamed(self, verb: Verb, params: Params) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of an answer, as they come."""
        if self._closed:
            raise ClosedError
        try:
            async with self._client.stream(verb.method, verb.path, params=params, timeout=self._slow) as answer:
                if not answer.is_success:
                    raise error_of(answer.status_code, await answer.aread())
                yield _lines(answer.aiter_bytes())
        except self._transport_error as error:
            raise _unreachable(self._client.base_url, error) from error


def _unreachable(url: object, error: Exception) -> ServiceError:
    return ServiceError(f"{url} cannot be reached ({type(error).__name__}); is the service up, and the address right?")


def _sendable(verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are sent: not what stands in the path or a header, and nothing that cannot be given."""
    for name in verb.hidden:
        if name != "revision" and given.get(name) is not None:
            raise InputError(f"{name} cannot be given to a service: it sets that itself")
    if verb.name == "replay_decisions" and not isinstance(given["policy"], str):
        raise InputError("a service replays decisions under a policy that it knows by name")
    left_out = {"progress", "idempotency_key", verb.id_name, *verb.hidden}
    return {name: value for name, value in given.items() if name not in left_out}


def _body(arguments: Mapping[str, Any]) -> bytes:
    try:
        return dump(arguments).encode()
    except TypeError as error:
        raise InputError(f"this cannot be sent as JSON: {error}") from error


def _query(arguments: Mapping[str, Any]) -> Params:
    """Arguments as a query string: lists as repeated names, mappings as JSON; None is left out."""
    pairs: Params = []
    for name, value in arguments.items():
        if isinstance(value, Sequence) and not isinstance(value, str):
            pairs += [(name, str(each)) for each in value]
        elif isinstance(value, Mapping | bool):
            pairs.append((name, dump(value)))
        elif value is not None:
            pairs.append((name, value.isoformat() if isinstance(value, datetime) else str(value)))
    return pairs


def _id(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be an id as it was given out, not {value!r:.60}")
    return value


@contextlib.contextmanager
def _readable(source: str | Path | IO[Any]) -> Any:
    if not isinstance(source, str | Path):
        yield source
        return
    try:
        with Path(source).open("rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error


async def _pieces(stream: IO[Any]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(stream.read, PIECE):
        yield piece.encode("utf-8") if isinstance(piece, str) else piece


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines, each with its end."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(next(verb for verb in VERBS if verb.name == name).returns)


def _method(verb: Verb) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The method of the face as a call of the service."""
    signature = verb.signature

    @wraps(getattr(AsyncMemory, verb.name))
    async def method(self: RemoteMemory, *args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        del given["self"]
        return await self._call(verb, given)

    return method


for _verb in VERBS:
    setattr(RemoteMemory, _verb.name, _method(_verb))
