"""One scenario, locally and through a service: the same results, the same errors, the same export."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from memstrata import AsyncMemory, Memory
from memstrata.clock import SetClock
from memstrata.errors import (
    AccessError,
    ClosedError,
    ConflictError,
    FilterError,
    IdempotencyError,
    InputError,
    MemstrataError,
    MessageError,
    MissingExtraError,
    NotFoundError,
    ScopeError,
    ServiceError,
    SettingsError,
    UndoError,
)
from memstrata.remote import RemoteMemory
from memstrata.remote.problems import error_of
from memstrata.server.verbs import VERBS
from memstrata.store.rows import dump

from .conftest import SETTINGS, Serving, served

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SAID = datetime(2026, 2, 1, 9, tzinfo=UTC)
ANA: dict[str, Any] = {"user_id": "アナ/%_..?#&"}
LINES = [
    "I live in Porto with my sister Marta.",
    "私は京都に住んでいます。",
    "我对花生过敏。",
    "I work at Acme as an auditor.",
    "好きな食べ物はラーメンです。",
    "我妹妹叫小雨。",
]


def counted() -> Callable[[], str]:
    """Operation ids that are the same each time: all other ids follow from them."""
    numbers = count(1)
    return lambda: f"op_{next(numbers):025x}"


@dataclass
class Told:
    """What a scenario was told, step by step, as JSON."""

    steps: list[Any] = field(default_factory=list)

    def __call__(self, call: Callable[[], Any]) -> Any:
        try:
            result = call()
        except MemstrataError as error:
            details = {name: getattr(error, name, None) for name in ("index", "part", "blockers")}
            self.steps.append([type(error).__name__, str(error), orjson.loads(dump(details))])
            return None
        self.steps.append([type(result).__name__, orjson.loads(dump(result))])
        return result


def scenario(memory: Memory, clock: SetClock, folder: Path) -> list[Any]:
    """A call of nearly every verb, good and bad."""
    told = Told()
    for n in range(16):
        said = {"role": "user", "content": f"{LINES[n % 6]} ({n})", "at": SAID, "metadata": {"n": n}, "id": f"m{n}"}
        told(lambda said=said: memory.add(said, **ANA, session_id="話"))
    told(lambda: memory.add([{"role": "user", "content": "x"}, {"role": "robot", "content": "y"}], **ANA))
    told(lambda: memory.add("again", **ANA, idempotency_key="鍵 1"))
    told(lambda: memory.add("again", **ANA, idempotency_key="鍵 1"))
    told(lambda: memory.add("else", **ANA, idempotency_key="鍵 1"))
    told(lambda: memory.add("no scope"))
    kept = told(lambda: memory.remember("I live in Madrid now.", **ANA, tags=["home"], at=SAID, metadata={"a": [1]}))
    told(lambda: memory.remember("I live in Madrid now.", **ANA))
    told(lambda: memory.preview("My bicycle is a red Brompton.", **ANA))
    told(lambda: memory.end_session(**ANA, session_id="話"))
    told(lambda: memory.flush(timeout=60))
    told(lambda: memory.distil(**ANA))
    clock.advance(hours=1)
    told(lambda: memory.recall("Where do I live?", **ANA, k=3, filters={"metadata.n": {"gte": 0}}, since=SAID))
    told(memory.flush)  # what was touched is written, so that the next touches are an operation of their own
    told(lambda: memory.recall("京都", **ANA, kinds=["fact", "identity"], touch=False, now=START, tz="Asia/Tokyo"))
    told(lambda: memory.recall("花生", **ANA, filters={"$where": 1}))
    told(lambda: memory.context("小雨", **ANA, session_id="話", max_tokens=300))
    told(memory.flush)
    told(lambda: memory.profile(ANA["user_id"]))
    page = told(lambda: memory.list(**ANA, limit=2))
    told(lambda: memory.list(**ANA, limit=2, cursor=page.cursor, filters={"pinned": False}, include_superseded=True))
    told(lambda: memory.list(**ANA, cursor="?"))
    note = page.notes[0].id
    told(lambda: memory.get(note, **ANA))
    told(lambda: memory.get("n_none", **ANA))
    told(lambda: memory.update(note, **ANA, tags=["自転車"], revision=page.notes[0].revision))
    told(lambda: memory.update(note, **ANA, tags=["x"], revision=page.notes[0].revision))
    told(lambda: memory.pin(note, **ANA))
    told(lambda: memory.pin(note, **ANA, pinned=False))
    forgotten = told(lambda: memory.forget(note, **ANA))
    told(lambda: memory.restore(note, **ANA))
    told(lambda: memory.undo(forgotten.operation, **ANA))
    told(lambda: memory.undo(forgotten.operation, **ANA, cascade=True))
    told(lambda: memory.history(note, **ANA))
    told(lambda: memory.explain(note, **ANA))
    told(lambda: memory.receipt(kept.operation, **ANA))
    told(lambda: memory.feedback(kept.candidates[0].decision, False, **ANA, reason="違う"))
    told(lambda: memory.labelled(**ANA))
    told(lambda: memory.review(**ANA, limit=5))
    told(lambda: memory.replay_decisions("strict", **ANA))
    for look in (memory.sessions, memory.turns, memory.pages, memory.heat, memory.decisions, memory.graph):
        told(lambda look=look: look(**ANA, limit=3))
    told(lambda: memory.operations(**ANA, verb="add", limit=3))
    told(lambda: memory.owners())
    told(lambda: memory.jobs())
    told(lambda: memory.cost(by=["stage", "day"]))
    told(lambda: memory.ask("Where do I live?", **ANA))
    clock.advance(days=40)
    told(lambda: memory.maintain())
    told(lambda: memory.retry_failed())
    told(lambda: memory.reindex())
    told(lambda: {name: n for name, n in memory.stats(**ANA).items() if not name.startswith("bytes")})
    stream = io.BytesIO()
    told(lambda: memory.export(stream, **ANA))
    told(lambda: memory.export(folder / "all.jsonl"))
    told(lambda: memory.export(folder / "none.jsonl", user_id="nobody"))
    told(lambda: memory.import_(folder / "all.jsonl"))
    told(lambda: memory.erase(**ANA))
    told(lambda: memory.import_(io.BytesIO(stream.getvalue())))
    told(lambda: memory.import_(io.StringIO('{"role": "user", "content": "你好"}\n'), user_id="新"))
    told(lambda: memory.import_(folder / "missing.jsonl", user_id="新"))
    return [*told.steps, stream.getvalue().decode(), (folder / "all.jsonl").read_text()]


def test_local_and_remote_are_told_the_same(tmp_path: Path) -> None:
    for name in ("near", "far", "near-files", "far-files"):
        (tmp_path / name).mkdir()
    clock = SetClock(START)
    with Memory(tmp_path / "near/memory.db", clock=clock, worker=False, **SETTINGS) as memory:
        memory._async._engine.operation_id = counted()
        near = scenario(memory, clock, tmp_path / "near-files")
    clock = SetClock(START)
    with served(tmp_path / "far", clock=clock, worker=False) as service:
        service.app.tenants._root._engine.operation_id = counted()
        with Memory(service.url, api_key=service.key()) as memory:
            far = scenario(memory, clock, tmp_path / "far-files")
    paths = {str(tmp_path / name): "FOLDER" for name in ("near-files", "far-files")}
    for one, two in zip(near, far, strict=True):
        assert _without(two, paths) == _without(one, paths)
    assert len({step[0] for step in near if isinstance(step, list)}) > 25


def _without(told: Any, paths: dict[str, str]) -> str:
    text = orjson.dumps(told).decode()
    for path, name in paths.items():
        text = text.replace(path, name)
    # The client sends `add` and `remember` under keys of its own.
    return re.sub(r',\\"idempotency_key\\":\\"[0-9a-f]{32}\\"', "", text)


@pytest.fixture
def memory(serving: Serving) -> Iterator[Memory]:
    with Memory(serving.url, api_key=serving.key("remote")) as memory:
        yield memory


def test_a_memory_at_an_address_is_a_service(serving: Serving, tmp_path: Path) -> None:
    with Memory(serving.url, api_key=serving.key()) as memory:
        assert isinstance(memory._async, RemoteMemory)
        with pytest.raises(SettingsError):
            memory.settings  # noqa: B018
        with pytest.raises(SettingsError):
            memory.check()
    with pytest.raises(ClosedError):
        memory.recall("x", user_id="ana")
    with Memory(tmp_path / "http:", **SETTINGS) as memory:
        assert not isinstance(memory._async, RemoteMemory)
    with pytest.raises(SettingsError, match="embedder"):
        AsyncMemory(serving.url, embedder="hashing")


def test_what_a_service_sets_itself_cannot_be_given(memory: Memory) -> None:
    with pytest.raises(InputError, match="trust"):
        memory.add("x", user_id="u", trust="user")
    with pytest.raises(InputError, match="now"):
        memory.maintain(datetime(2030, 1, 1, tzinfo=UTC))
    with pytest.raises(InputError, match="policy"):
        memory.replay_decisions("my.toml", user_id="u")
    with pytest.raises(InputError, match="JSON"):
        memory.add({"role": "user", "content": object()}, user_id="u")


def test_an_id_leads_to_no_other_path(memory: Memory) -> None:
    memory.remember("我住在上海。", user_id="u")
    for crafted in ("../owners", "..%2fowners", "x?user_id=v", "x#y", "%00", "*", "n_%"):
        with pytest.raises(NotFoundError):
            memory.get(crafted, user_id="u")
    with pytest.raises(InputError):
        memory.get("", user_id="u")


def test_a_wrong_key_and_a_wrong_address(serving: Serving) -> None:
    with Memory(serving.url, api_key="ms_no_key") as memory, pytest.raises(AccessError) as refused:
        memory.list(user_id="ana")
    assert refused.value.status == 401
    with Memory("http://127.0.0.1:9", api_key="x") as memory, pytest.raises(ServiceError, match="reached"):
        memory.list(user_id="ana")


@pytest.mark.parametrize(
    "kind",
    [
        ConflictError,
        FilterError,
        IdempotencyError,
        MessageError,
        MissingExtraError,
        NotFoundError,
        ScopeError,
        UndoError,
        ServiceError,
    ],
)
def test_errors_come_back_as_what_they_were(kind: type[MemstrataError]) -> None:
    body = orjson.dumps({"detail": "違います", "error": kind.__name__, "blockers": ["op_1"], "index": 3})
    error = error_of(409, body)
    assert type(error) is kind
    assert str(error) == "違います"
    assert getattr(error, "blockers", ("op_1",)) == ("op_1",)
    assert getattr(error, "index", 3) == 3
    assert isinstance(error_of(502, b"<html>"), ServiceError)
    assert isinstance(error_of(401, b'{"detail": "x", "error": "Exception"}'), AccessError)


class Unsteady(httpx.AsyncBaseTransport):
    """A network that loses the answer to every other request, after the service has done it."""

    def __init__(self) -> None:
        self.inner = httpx.AsyncHTTPTransport()
        self.calls = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        answer = await self.inner.handle_async_request(request)
        if self.calls % 2:
            await answer.aclose()
            raise httpx.ReadError("cut")
        return answer

    async def aclose(self) -> None:
        await self.inner.aclose()


async def test_a_cut_call_is_sent_again_where_that_does_nothing_twice(serving: Serving) -> None:
    transport = Unsteady()
    async with AsyncMemory(serving.url, api_key=serving.key("unsteady"), transport=transport) as memory:
        for line in LINES:
            await memory.add(line, user_id="u", session_id="s")
        assert [turn.text for turn in await memory.turns(user_id="u")] == LINES
        transport.calls = 0
        with pytest.raises(ServiceError):
            await memory.end_session(user_id="u", session_id="s")
        assert transport.calls == 1  # it may have been done


def test_the_table_of_verbs_covers_the_client() -> None:
    for verb in VERBS:
        method = getattr(RemoteMemory, verb.name)
        assert method is not getattr(AsyncMemory, verb.name)
        assert method.__doc__ == getattr(AsyncMemory, verb.name).__doc__
