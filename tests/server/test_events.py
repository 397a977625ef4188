"""Queued work as server-sent events, and what is kept for how long: people long gone, lines of the audit log."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from memstrata.server.door import Auditor
from memstrata.server.keys import Access, Rules

from .conftest import Serving

SAID = {"ana": "I live in Porto.", "健": "私は京都に住んでいます。", "明": "我住在上海。"}


def events(answer: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_work_is_told_until_none_is_queued(serve: Callable[..., Serving]) -> None:
    service = serve(worker=False)
    client, key = service.client(service.key()), service.key()
    for user, text in SAID.items():
        client.post("/v1/turns", json={"messages": text, "user_id": user, "session_id": "s"})
    with client.stream("GET", "/v1/jobs/events", params={"user_id": "健"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = events(answer)
        name, first = next(told)
        assert (name, first["queued"], first["by_kind"], first["failed"]) == ("jobs", 1, {"index": 1}, 0)
        assert first["oldest"] is not None
        assert service.client(key).post("/v1/flush", json={}).status_code == 200
        name, then = next(told)
        assert (name, then["queued"], then["by_kind"], then["oldest"]) == ("jobs", 0, {}, None)
    with client.stream("GET", "/v1/jobs/events", params={"until_idle": True}) as answer:
        assert [name for name, _ in events(answer)] == ["jobs", "idle"]


def test_a_stream_ends_when_the_service_is_about_to(serve: Callable[..., Serving]) -> None:
    service = serve()
    with service.client(service.key()).stream("GET", "/v1/jobs/events") as answer:
        told = events(answer)
        next(told)
        service.app.draining = True
        assert list(told) == []


def test_nobody_watches_the_work_of_others(serving: Serving) -> None:
    ana = serving.client(serving.key("watched", "read", user="ana"))
    assert ana.get("/v1/jobs/events", params={"user_id": "bob"}).status_code == 403
    assert serving.client(serving.key("watched", "read")).get("/v1/jobs/events").status_code == 403  # all: admin's
    assert serving.client().get("/v1/jobs/events").status_code == 401
    with ana.stream("GET", "/v1/jobs/events", params={"until_idle": True}) as answer:
        assert answer.status_code == 200


def test_each_tenant_has_its_own_retention(serve: Callable[..., Serving]) -> None:
    service = serve()
    service.keys.set_rules("short", Rules({"erase_after_days": 1e-9}))
    long, short = service.client(service.key("long")), service.client(service.key("short"))
    for client in (long, short):
        for user, text in SAID.items():
            client.post("/v1/turns", json={"messages": text, "user_id": user, "session_id": "s"})
    assert [client.post("/v1/maintain", json={}).json()["erased"] for client in (long, short)] == [0, 3]
    assert len(long.get("/v1/owners").json()["owners"]) == 3
    assert short.get("/v1/owners").json()["owners"] == []

    def erased() -> list[Access]:
        return [line for user in SAID for line in service.keys.audit(tenant="short", owner=f"u:{user}", limit=1)]

    while {line.verb for line in erased()} != {"erase"}:
        time.sleep(0.05)  # the log is written in the background
    assert [line.credential for line in erased()] == ["retention"] * len(SAID)
    assert all(line.credential != "retention" for line in service.keys.audit(tenant="long"))


@pytest.mark.parametrize("days", [None, 30.0])
def test_old_lines_of_the_audit_log_go(serving: Serving, days: float | None) -> None:
    tenant = f"audit-{days}"
    now = datetime.now(UTC)
    ages = (0, 29, 31)
    serving.keys.write_audit(
        [Access(now - timedelta(days=age), tenant, "key:x", "get", "read", "", 200, f"r{age}") for age in ages]
    )

    async def trim() -> None:
        task = asyncio.create_task(Auditor(serving.keys, days).trim(3600))
        while days is not None and len(serving.keys.audit(tenant=tenant)) == len(ages):
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(trim())
    kept = [line.request for line in serving.keys.audit(tenant=tenant)]
    assert kept == (["r0", "r29", "r31"] if days is None else ["r0", "r29"])
