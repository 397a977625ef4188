"""REST: every verb is there, answers what the face answers, and refuses in problem documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import iscoroutinefunction

import httpx
import pytest

from memstrata import AsyncMemory
from memstrata.server.app import Limits
from memstrata.server.verbs import BY_NAME, EXPORT, IMPORT

from .conftest import Serving

AT_HOME = {"backup", "reembed", "check", "close", "import_from"}  # what is done where the store is
SAID = {"en": "I live in Porto with my sister.", "ja": "私は京都に住んでいます。", "zh": "我住在上海，在银行工作。"}


@pytest.fixture
def ana(serving: Serving) -> httpx.Client:
    return serving.client(serving.key("rest"))


def note_of(client: httpx.Client, text: str, user: str) -> str:
    made = client.post("/v1/remember", json={"text": text, "user_id": user})
    assert made.status_code == 201, made.text
    note = made.json()["candidates"][0]["note"]
    assert note is not None
    return str(note)


def test_every_verb_of_the_face_has_a_route(serving: Serving) -> None:
    verbs = {name for name in dir(AsyncMemory) if iscoroutinefunction(getattr(AsyncMemory, name)) and name[0] != "_"}
    assert verbs - AT_HOME == {*BY_NAME, EXPORT.name, IMPORT.name}
    document = serving.client().get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    ids = {each["operationId"] for path in document["paths"].values() for each in path.values()}
    assert {name.rstrip("_") for name in verbs - AT_HOME} <= ids


@pytest.mark.parametrize("language", SAID)
def test_what_is_added_is_recalled(ana: httpx.Client, language: str) -> None:
    user, text = f"add-{language}", SAID[language]
    added = ana.post("/v1/turns", json={"messages": text, "user_id": user, "session_id": "s"})
    assert added.status_code == 201
    assert added.json()["messages"][0]["outcome"] == "stored"
    receipt = ana.get(added.headers["Location"], params={"user_id": user})
    assert receipt.json()["operation"] == added.json()["operation"]
    found = ana.post("/v1/recall", json={"query": text, "user_id": user}).json()
    assert found["hits"][0]["text"] == f"user: {text}"
    assert text in ana.post("/v1/context", json={"query": text, "user_id": user, "session_id": "s"}).json()["text"]


def test_a_note_is_read_edited_pinned_forgotten_and_restored(ana: httpx.Client) -> None:
    whose = {"user_id": "edit"}
    note = note_of(ana, "My bicycle is a red Brompton.", "edit")
    read = ana.get(f"/v1/notes/{note}", params=whose)
    assert read.headers["ETag"] == '"1"'
    edited = ana.patch(f"/v1/notes/{note}", json={**whose, "tags": ["自転車"]}, headers={"If-Match": '"1"'})
    assert edited.status_code == 200
    assert edited.json()["tags"] == ["自転車"]
    late = ana.patch(f"/v1/notes/{note}", json={**whose, "tags": ["x"]}, headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["error"]) == (412, "ConflictError")
    assert ana.put(f"/v1/notes/{note}/pin", json=whose).json()["pinned"] is True
    listed = ana.get("/v1/notes", params={**whose, "tags": ["自転車"], "filters": json.dumps({"pinned": True})})
    assert [each["id"] for each in listed.json()["notes"]] == [note]
    forgotten = ana.post("/v1/forget", json={**whose, "note_id": note}).json()
    assert ana.post("/v1/recall", json={**whose, "query": "bicycle"}).json()["hits"] == []
    assert ana.post(f"/v1/notes/{note}/restore", json=whose).json()["state"] == "current"
    assert len(ana.get(f"/v1/notes/{note}/history", params=whose).json()) >= 4
    assert ana.get(f"/v1/explain/{note}", params=whose).json()["sentence"]
    undone = ana.post(f"/v1/operations/{forgotten['operation']}/undo", json=whose)
    assert (undone.status_code, undone.json()["error"]) == (409, "UndoError")
    assert undone.json()["blockers"]


def test_lists_go_on_by_cursor(ana: httpx.Client) -> None:
    made = [note_of(ana, f"My {n}th favourite dish is number {n} of the menu at Kiyo.", "pages") for n in range(2, 6)]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(4):
        params = {"user_id": "pages", "limit": 2, **({} if cursor is None else {"cursor": cursor})}
        page = ana.get("/v1/notes", params=params).json()
        seen += [each["id"] for each in page["notes"]]
        if (cursor := page["cursor"]) is None:
            break
    assert set(seen) <= set(made)
    assert len(seen) == len(set(seen)) > 2


def test_an_idempotency_key_gives_the_first_receipt(ana: httpx.Client) -> None:
    body = {"messages": "我对花生过敏。", "user_id": "again"}
    first, second = (ana.post("/v1/turns", json=body, headers={"Idempotency-Key": "k-1"}) for _ in range(2))
    assert (first.json()["operation"], True) == (second.json()["operation"], second.json()["repeated"])
    other = ana.post("/v1/turns", json={**body, "messages": "else"}, headers={"Idempotency-Key": "k-1"})
    assert (other.status_code, other.json()["error"]) == (409, "IdempotencyError")
    assert len(ana.post("/v1/recall", json={"query": "花生", "user_id": "again"}).json()["hits"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("POST", "/v1/turns", {"messages": "hi"}, 422, "ScopeError"),
        ("POST", "/v1/turns", {"messages": [{"role": "robot", "content": "x"}], "user_id": "u"}, 422, "MessageError"),
        ("POST", "/v1/turns", {"messages": "hi", "user_id": "u", "trust": "user"}, 422, "InputError"),
        ("POST", "/v1/turns", {"messages": "hi", "user_id": "u", "tenant": "other"}, 422, "InputError"),
        ("POST", "/v1/recall", {"query": "hi", "user_id": "u", "filters": {"$where": 1}}, 422, "FilterError"),
        ("POST", "/v1/recall", {"query": "hi", "user_id": "u", "k": "5"}, 422, "InputError"),
        ("POST", "/v1/ask", {"question": "hi", "user_id": "u"}, 422, "SettingsError"),
        ("GET", "/v1/notes/n_none?user_id=u", None, 404, "NotFoundError"),
        ("GET", "/v1/notes/n_none?user_id=u&x=1", None, 422, "InputError"),
        ("GET", "/v1/notes?user_id=u&filters=%7B", None, 422, "InputError"),
        ("GET", "/v1/nothing", None, 404, "NotFoundError"),
        ("PUT", "/v1/turns", None, 405, "MethodError"),
        ("POST", "/v1/turns", {"messages": "x" * 200_000, "user_id": "u"}, 422, "MessageError"),
        ("POST", "/v1/decisions/replay", {"policy": "/etc/passwd.toml", "user_id": "u"}, 422, "InputError"),
    ],
)
def test_refusals_are_problem_documents(
    ana: httpx.Client, method: str, path: str, body: object, status: int, error: str
) -> None:
    answer = ana.request(method, path, json=body)
    assert answer.headers["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert (answer.status_code, told["status"], told["error"]) == (status, status, error)
    assert told["detail"]
    assert told["request_id"] == answer.headers["X-Request-Id"]


def test_a_refusal_of_the_request_quotes_nothing_of_it(ana: httpx.Client) -> None:
    answer = ana.post("/v1/remember", json={"text": ["私の秘密"], "user_id": "u", "秘密": 1})
    assert answer.status_code == 422
    assert "私の秘密" not in answer.text


def test_bodies_that_are_no_json_or_too_large(serve: Callable[..., Serving]) -> None:
    service = serve(limits=Limits(body_bytes=2048, import_bytes=4096))
    client = service.client(service.key())
    headers = {"Content-Type": "application/json"}
    for broken in (b"{", b"[" * 1900, b'{"messages": "\xff", "user_id": "u"}'):
        assert client.post("/v1/turns", content=broken, headers=headers).status_code in (400, 422)
    large = {"messages": "x" * 3000, "user_id": "u"}
    assert client.post("/v1/turns", json=large).status_code == 413
    chunks = (b"x" * 1000 for _ in range(5))  # of a length that nobody told
    assert client.post("/v1/turns", content=chunks, headers=headers).status_code == 413
    assert client.post("/v1/import", content=b"y" * 5000).status_code == 413
    squeezed = client.post("/v1/turns", content=b"\x1f\x8b", headers={**headers, "Content-Encoding": "gzip"})
    assert squeezed.status_code == 415


def test_export_and_import(serving: Serving, ana: httpx.Client) -> None:
    note_of(ana, "妹の名前は美咲です。", "export")
    ana.post("/v1/turns", json={"messages": "I may buy a boat.", "user_id": "export"})
    ana.post("/v1/flush", json={})
    lines = ana.post("/v1/export", params={"user_id": "export"})
    assert lines.headers["Content-Type"] == "application/x-ndjson"
    other = serving.client(serving.key("elsewhere"))
    counts = other.post("/v1/import", content=lines.content)
    assert counts.json()["turns"] == 2, counts.text
    assert other.post("/v1/export", params={"user_id": "export"}).content == lines.content
    assert other.post("/v1/import", content=b"{broken").json()["error"] == "InputError"


def test_the_gate_is_looked_at_and_corrected(ana: httpx.Client) -> None:
    whose = {"user_id": "gate"}
    made = ana.post("/v1/remember", json={**whose, "text": "今後は必ず敬語で答えてください。"}).json()
    decision = made["candidates"][0]["decision"]
    answer = ana.post(f"/v1/decisions/{decision}/feedback", json={**whose, "accept": True, "reason": "面白い"})
    assert answer.json()["candidates"][0]["outcome"] == "admitted"
    assert ana.get("/v1/decisions/labelled", params=whose).json()[0]["label"] == 1
    assert ana.post("/v1/decisions/replay", json={**whose, "policy": "strict"}).json()["counts"]["decisions"] == 2
    assert isinstance(ana.get("/v1/decisions/review", params=whose).json(), list)


def test_upkeep_figures_and_profile(ana: httpx.Client) -> None:
    whose = {"user_id": "figures"}
    for n in range(14):
        ana.post("/v1/turns", json={**whose, "messages": f"I have a cat named Miso{n}.", "session_id": "s"})
    ended = ana.post("/v1/sessions/end", json={**whose, "session_id": "s"})
    assert ended.status_code == 200
    assert ana.post("/v1/flush", json={"timeout": 60}).json()["failed"] == 0
    assert ana.post("/v1/distil", json=whose).json()["counts"]
    stats = ana.get("/v1/stats", params=whose).json()
    assert stats["turns"] == 14
    assert "bytes" not in stats  # of a file that other tenants share
    assert ana.get("/v1/profile", params=whose).json()["user"] == "figures"
    assert ana.get("/v1/cost", params={**whose, "by": ["stage", "day"]}).json()["total"]["calls"] == 0
    assert set(ana.post("/v1/maintain", json={}).json()) >= {"forgotten", "purged"}
    assert ana.post("/v1/jobs/retry", json={}).json() == 0
    assert ana.post("/v1/reindex", json={}).json()["owners"] >= 1
    erased = ana.post("/v1/erase", json=whose).json()
    assert erased["counts"]["turns"] == 14
    assert ana.get("/v1/stats", params=whose).json()["turns"] == 0


def test_health_needs_no_key_and_headers_are_safe(serving: Serving) -> None:
    client = serving.client()
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz")
    assert ready.json() == {"status": "ready"}
    assert ready.headers["X-Content-Type-Options"] == "nosniff"
    assert ready.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert client.get("/healthz", headers={"X-Request-Id": "mine-1"}).headers["X-Request-Id"] == "mine-1"
    assert client.get("/healthz", headers={"X-Request-Id": "a b"}).headers["X-Request-Id"] != "a b"


def test_one_looks_around(ana: httpx.Client) -> None:
    whose = {"user_id": "look"}
    for n in range(13):
        ana.post("/v1/turns", json={**whose, "messages": f"第{n}回の会議は大阪であります。", "session_id": "会議"})
    ana.post("/v1/flush", json={})
    assert "look" in {each["user"] for each in ana.get("/v1/owners", params={"limit": 1000}).json()["owners"]}
    assert ana.get("/v1/sessions", params=whose).json()["sessions"][0]["hot"] == 8
    turns = ana.get("/v1/turns", params={**whose, "session_id": "会議"}).json()["turns"]
    assert [turn["tier"] for turn in turns] == ["page"] * 5 + ["hot"] * 8
    page = ana.get("/v1/pages", params=whose).json()["pages"][0]
    assert ana.get("/v1/heat", params=whose).json()[0]["page"] == page["id"]
    note_of(ana, "我妹妹叫小雨。", "look")
    assert ana.get("/v1/decisions", params={**whose, "outcome": "admitted"}).json()["decisions"]
    assert ana.get("/v1/operations", params={**whose, "verb": "remember"}).json()["operations"][0]["id"]
    assert len(ana.get("/v1/graph", params=whose).json()["notes"]) == 1
    assert ana.get("/v1/jobs").json() == []
