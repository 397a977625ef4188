"""No way across tenants and users, by any verb: foreign ids, prefixes, wildcards, cursors, injected text, bombs."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.servers import RedisServer

from memstrata import Memory
from memstrata.server.verbs import EXPORT, VERBS, Verb

from .conftest import Serving

SECRET = {"en": "My vault opens with the word ostrich.", "ja": "金庫の合言葉は駝鳥です。", "zh": "保险箱的密码是鸵鸟。"}
MARKS = ("ostrich", "駝鳥", "鸵鸟")
# Names that a store which compares by pattern, prefix or case, or joins keys, would take for ana's.
NEAR = ("an", "Ana", "%", "ana*", "u:ana", "ana\u200b", "' OR '1'='1")


@dataclass
class Owned:
    """What ana of tenant one has, by the name of the parameter that takes it."""

    note_id: str
    id: str
    operation: str
    cursors: dict[str, str]


@pytest.fixture(scope="module")
def owned(serving: Serving) -> Owned:
    client = serving.client(serving.key("one"))
    whose = {"user_id": "ana"}
    kept = [client.post("/v1/remember", json={**whose, "text": text}).json() for text in SECRET.values()]
    for n in range(14):
        client.post("/v1/turns", json={**whose, "messages": f"{SECRET['en']} ({n})", "session_id": f"s{n % 2}"})
    client.post("/v1/distil", json=whose)
    cursors = {}
    for verb in VERBS:
        if verb.in_query and "cursor" in verb.signature.parameters and verb.name != "owners":
            cursors[verb.name] = client.get(verb.path, params={**whose, "limit": 1}).json()["cursor"]
    found = client.post("/v1/recall", json={**whose, "query": "ostrich", "k": 1}).json()
    candidate = kept[0]["candidates"][0]
    cursors["recall"] = found["cursor"]
    return Owned(candidate["note"], candidate["decision"], kept[0]["operation"], cursors)


def asked(client: httpx.Client, verb: Verb, given: dict[str, Any]) -> httpx.Response:
    path = verb.path
    if verb.id_name is not None:
        path = path.replace(f"{{{verb.id_name}}}", str(given[verb.id_name]))
    parameters = set(verb.signature.parameters) - {verb.id_name}
    arguments = {name: value for name, value in given.items() if name in parameters}
    if verb is EXPORT:
        return client.post(path, params=arguments)
    return client.request(verb.method, path, **{"params" if verb.in_query else "json": arguments})


GIVEN: dict[str, Any] = {
    "messages": "hello",
    "text": "hello",
    "query": "ostrich 駝鳥 鸵鸟",
    "question": "ostrich?",
    "accept": False,
    "policy": "strict",
    "cascade": True,
    "hard": True,
    "include_superseded": True,
    "include_forgotten": True,
    "tags": ["x"],
}
SCOPED = [verb for verb in (*VERBS, EXPORT) if {"user_id", "agent_id"} & verb.signature.parameters.keys()]


def given_to(verb: Verb, owned: Owned) -> dict[str, Any]:
    """Every argument that the verb has a use for, with ana's ids and cursor in it."""
    given = {**GIVEN, "note_id": owned.note_id, "id": owned.id, "operation": owned.operation}
    if verb.name in ("list", "graph"):
        del given["tags"]
    if verb.name in owned.cursors:
        given["cursor"] = owned.cursors[verb.name]
    return given


@pytest.mark.parametrize("verb", SCOPED, ids=lambda verb: verb.name)
def test_nothing_of_one_reaches_another(serving: Serving, owned: Owned, verb: Verb) -> None:
    given = given_to(verb, owned)
    callers = [("one", {"user_id": name}) for name in NEAR]
    callers += [("two", {"user_id": "ana"}), ("on", {"user_id": "ana"}), ("%", {"user_id": "ana"})]
    callers += [("one", {"agent_id": "ana"}), ("one", {"user_id": "bob", "agent_id": "ana"})]
    clients = {tenant: serving.client(serving.key(tenant)) for tenant, _ in callers}
    for tenant, whose in callers:
        answer = asked(clients[tenant], verb, {**given, **whose})
        assert answer.status_code < 500, (whose, answer.text)
        assert not any(mark in answer.text.replace("ostrich 駝鳥 鸵鸟", "") for mark in MARKS), (whose, answer.text)
        assert owned.note_id not in answer.text or answer.status_code == 404, (whose, answer.text)
        if verb.id_name is not None:
            assert answer.status_code in (404, 422), (whose, answer.text)


def test_what_belongs_to_ana_is_still_there(serving: Serving, owned: Owned) -> None:
    client = serving.client(serving.key("one"))
    note = client.get(f"/v1/notes/{owned.note_id}", params={"user_id": "ana"}).json()
    assert (note["content"], note["state"], note["revision"]) == (SECRET["en"], "current", 1)
    assert client.get("/v1/stats", params={"user_id": "ana"}).json()["turns"] == 17


def test_cursors_are_of_their_list(serving: Serving, owned: Owned) -> None:
    client = serving.client(serving.key("one"))
    whose = {"user_id": "ana"}
    for name, cursor in owned.cursors.items():
        for verb in VERBS:
            if "cursor" in verb.signature.parameters and verb.name != name:
                answer = asked(client, verb, {**whose, "query": "another", "cursor": cursor})
                assert answer.status_code in (200, 422), answer.text


HOSTILE = (
    "'; DROP TABLE notes; --",
    '" UNION SELECT * FROM keys --',
    "{{7*7}} ${7*7} <%= 7*7 %> #{7*7}",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\r\nSet-Cookie: stolen=1\r\n\r\n<html>",
    "../../../../etc/passwd",
    "\u202egnp.exe\u2066",
    "![x](http://127.0.0.1:9/x)",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(serving: Serving, text: str) -> None:
    client = serving.client(serving.key("hostile"))
    whose = {"user_id": text} if "\r" not in text else {"user_id": "crlf"}
    said = {"role": "user", "content": f"My note says {text}", "metadata": {text: text}}
    added = client.post("/v1/turns", json={"messages": said, "session_id": whose["user_id"], **whose})
    assert added.status_code == 201, added.text
    turns = client.get("/v1/turns", params={**whose, "session_id": whose["user_id"]})
    assert turns.json()["turns"][0]["text"] == f"My note says {text}"
    assert turns.json()["turns"][0]["metadata"] == {text: text}
    assert turns.headers["Content-Type"] == "application/json"
    assert turns.headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in turns.headers
    for path, params in (
        ("/v1/notes", {**whose, "filters": json.dumps({f"metadata.{text}": text})}),
        ("/v1/notes", {**whose, "cursor": text}),
        ("/v1/operations", {**whose, "verb": text}),
        ("/v1/notes/" + quote(text, safe=""), whose),
    ):
        answer = client.get(path, params=params)
        assert answer.status_code in (200, 404, 422), answer.text
        assert "root:" not in answer.text
        assert "Set-Cookie" not in answer.headers
    recalled = client.post("/v1/recall", json={**whose, "query": text, "filters": {"speaker": {"ne": text}}})
    assert recalled.status_code == 200


def test_nothing_that_is_named_in_a_message_is_fetched(serving: Serving) -> None:
    asked_for: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked_for.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/inside"
    try:
        client = serving.client(serving.key("fetch"))
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": f"see {url}"}]
        said = {"messages": [{"role": "user", "content": content}], "user_id": "u"}
        assert client.post("/v1/turns", json=said).status_code == 201
        client.post("/v1/remember", json={"text": f"My page is {url}", "user_id": "u"})
        client.post("/v1/flush", json={})
        client.post("/v1/context", json={"query": url, "user_id": "u"})
        client.post("/v1/import", content=url.encode(), params={"user_id": "u"})
    finally:
        server.shutdown()
        server.server_close()
    assert asked_for == []


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/recall", {"query": "x", "filters": nested(500)}),
        ("/v1/recall", {"query": "x" * 3_000_000}),
        ("/v1/recall", {"query": "x", "k": 10**30}),
        ("/v1/recall", {"query": "x", "tags": ["x"] * 100_000}),
        ("/v1/recall", {"query": "x", "filters": {"OR": [{"text": {"contains": "x"}}] * 50_000}}),
        ("/v1/turns", {"messages": {"role": "user", "content": "x", "metadata": nested(500)}}),
        ("/v1/turns", {"messages": {"role": "user", "content": "x", "metadata": {"n": 10**400}}}),
        ("/v1/turns", {"messages": "\ud800"}),
        ("/v1/turns", {"messages": "\x00"}),
        ("/v1/context", {"query": "x", "max_tokens": 10**12}),
        ("/v1/remember", {"text": "x", "at": "9" * 5000}),
    ],
    ids=range(11),
)
def test_bombs_are_refused_or_harmless(serving: Serving, path: str, body: dict[str, Any]) -> None:
    client = serving.client(serving.key("bombs"))
    data = json.dumps({**body, "user_id": "u"})
    answer = client.post(path, content=data, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500, answer.text
    assert len(answer.content) < 10_000
    assert client.get("/readyz").status_code == 200


def test_erasing_takes_the_turns_out_of_every_file(
    serve: Callable[..., Serving], tmp_path: Path, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Out of the store, its indexes, the queue, the hot tier, the service's own file; none of it was ever logged."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO)
    service = serve(hot_url=redis.url, worker=False)
    client, whose = service.client(service.key()), {"user_id": "ana-the-erased"}
    asking = {**whose, "session_id": "s"}
    for text in SECRET.values():
        client.post("/v1/turns", json={"messages": text, **asking})
        client.post("/v1/remember", json={"text": text, **whose})
        client.post("/v1/recall", json={"query": text, **whose})
        client.post("/v1/context", json={"query": text, **asking})
    assert client.post("/v1/flush", json={}).status_code == 200
    for text in SECRET.values():
        client.post("/v1/turns", json={"messages": text, **asking})
    client.post("/v1/export", params=whose)
    with Memory(service.store, embedder="hashing", worker=False) as beside:
        beside.backup(tmp_path / "before.db")
    assert client.get("/v1/jobs", params=whose).json(), "work is queued"
    assert b"ostrich" in held_by(tmp_path, redis)

    erased = client.post("/v1/erase", json=whose).json()
    assert erased["complete"] is True
    assert erased["backups"] == [str(tmp_path / "before.db")], "the receipt names what is the operator's to erase"
    (tmp_path / "before.db").unlink()
    assert client.get("/v1/jobs", params=whose).json() == []
    everything = held_by(tmp_path, redis)
    logged = "\n".join(line.getMessage() for line in caplog.records if line.name.startswith("memstrata"))
    assert "/v1/turns" in logged
    for mark in (*MARKS, "ana-the-erased"):
        assert mark.encode() not in everything, mark
        assert mark not in logged, mark


def held_by(folder: Path, redis: RedisServer) -> bytes:
    """The bytes of every file, and what Redis has."""
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"".join([*files, *(name + b"".join([*each, *each.values()]) for name, each in redis.held().items())])
