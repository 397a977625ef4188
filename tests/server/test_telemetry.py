"""Traces from a caller through queued work into the model's endpoint, figures, logs: no memory text in any of them."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from memstrata.llm.fakes import ScriptedLLM
from memstrata.server.metrics import Metrics

from .conftest import Serving
from .test_docs import free_port

TRACED = """
import json, sys
from pathlib import Path
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.contract.chat_server import chat_server
from tests.server.conftest import served

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
parents = {name: f"00-{n:032x}-{n:016x}-01" for n, name in enumerate(("add", "ask"), 1)}
with chat_server() as chat:
    with served(Path(sys.argv[1]), llm="openai:test", llm_base_url=chat.url) as service:
        client = service.client(service.key())
        for n in range(13):
            body = {"messages": f"秘密 {n}: I live in Porto.", "user_id": "secret-user"}
            client.post("/v1/turns", json=body, headers={"traceparent": parents["add"]})
        client.post("/v1/flush", json={})
        client.post("/v1/ask", json={"question": "Porto?", "user_id": "secret-user"},
                    headers={"traceparent": parents["ask"]})
spans = [{"name": each.name, "trace": each.context.trace_id, "parent": each.parent and each.parent.span_id,
          "id": each.context.span_id,
          "text": str(dict(each.attributes)) + str(each.events) + str(each.status.description)}
         for each in exporter.get_finished_spans()]
print(json.dumps({"spans": spans, "sent": [each.get("traceparent") for each in chat.headers]}))
"""


def test_a_trace_goes_from_the_caller_through_the_queue_into_the_model(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", TRACED, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    by_trace: dict[int, set[str]] = {}
    for span in told["spans"]:
        by_trace.setdefault(span["trace"], set()).add(span["name"])
        assert "秘密" not in span["text"]
        assert "secret-user" not in span["text"]
        assert "Porto" not in span["text"]
    # Queued by the first caller: indexed, made a page, which the model was asked for.
    assert {"POST /v1/turns", "memstrata.index", "memstrata.embed", "memstrata.page", "memstrata.llm"} <= by_trace[1]
    assert {"POST /v1/ask", "memstrata.search", "memstrata.embed", "memstrata.llm"} <= by_trace[2]
    assert [span["parent"] for span in told["spans"] if span["name"] == "POST /v1/ask"] == [2]
    assert {int(sent.split("-")[1], 16) for sent in told["sent"]} == {1, 2}
    ids = {f"{span['id']:016x}" for span in told["spans"] if span["name"] == "memstrata.llm"}
    assert {sent.split("-")[2] for sent in told["sent"]} <= ids


def test_nothing_is_traced_where_opentelemetry_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom memstrata import Memory\n"
        "with Memory(sys.argv[1], embedder='hashing') as memory:\n"
        "    memory.add('x', user_id='u'); memory.recall('x', user_id='u')\n"
        "print('opentelemetry' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.db")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_figures_of_requests_and_of_the_pipeline(serve: Callable[..., Serving]) -> None:
    metrics, port = Metrics(), free_port()
    stop = metrics.serve("127.0.0.1", port)
    try:
        service = serve(metrics=metrics)
        client = service.client(service.key("figures-tenant"))
        client.post("/v1/remember", json={"text": "我对花生过敏。", "user_id": "secret-user"})
        client.post("/v1/remember", json={"text": "今後は必ず敬語で答えてください。", "user_id": "secret-user"})
        for n in range(13):
            client.post("/v1/turns", json={"messages": f"I have {n} cats.", "user_id": "secret-user"})
        client.post("/v1/distil", json={"user_id": "secret-user"})
        client.post("/v1/maintain", json={})
        client.get("/v1/notes/n_none", params={"user_id": "secret-user"})
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
    finally:
        stop()
    figures = {name: float(value) for name, value in re.findall(r"^(memstrata_\S+) (\S+)$", text, re.MULTILINE)}
    assert figures['memstrata_decisions_total{outcome="admitted"}'] >= 1
    assert figures['memstrata_decisions_total{outcome="rejected"}'] >= 1
    assert figures['memstrata_jobs_total{kind="distill",outcome="done"}'] == 1
    assert figures["memstrata_notes_forgotten_total"] == 0
    assert figures['memstrata_requests_total{status="201",verb="add"}'] == 13
    assert figures['memstrata_requests_total{status="404",verb="get"}'] == 1
    assert figures['memstrata_request_seconds_count{verb="add"}'] == 13
    assert figures["memstrata_requests_open"] == 0
    assert figures["memstrata_store_bytes"] > 0
    assert not re.search(r"secret-user|figures-tenant|花生|cats", text)


def test_logs_hold_no_text_no_names_and_no_keys(
    serve: Callable[..., Serving], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    service = serve(max_chars=100)
    key = service.key()
    client = service.client(key)
    for body in (
        {"messages": "我的秘密", "user_id": "secret-user"},
        {"messages": [{"role": "我的秘密", "content": 1}], "user_id": "secret-user"},
        {"messages": "我的秘密" * 100, "user_id": "secret-user"},
        {"我的秘密": 1},
    ):
        client.post("/v1/turns", json=body)
    client.get("/v1/notes/secret-user", params={"user_id": "secret-user", "filters": "我的秘密"})
    client.get("/v1/我的秘密", params={"api_key": key})
    service.client(f"{key}x").get("/v1/whoami")
    own = [record.getMessage() for record in caplog.records if record.name.startswith("memstrata")]
    lines = [json.loads(line) for line in own if line.startswith("{")]
    assert [line["status"] for line in lines] == [201, 422, 422, 422, 422, 404, 401]
    assert {line["verb"] for line in lines} >= {"add"}
    for line in own:
        assert "我的秘密" not in line
        assert "secret-user" not in line
        assert key.rpartition("_")[2][:10] not in line


def test_an_answer_comes_as_events(serve: Callable[..., Serving]) -> None:
    llm = ScriptedLLM(lambda request: {"found": True, "answer": "In Porto.", "citations": ["[1]"]})
    service = serve(llm=llm, worker=False)
    client = service.client(service.key())
    client.post("/v1/turns", json={"messages": "I live in Porto.", "user_id": "u", "session_id": "a"})
    body = {"question": "Where do I live?", "user_id": "u"}
    events = client.post("/v1/ask", json=body, headers={"Accept": "text/event-stream"})
    assert events.headers["Content-Type"].startswith("text/event-stream")
    kinds = re.findall(r"^event: (\w+)$", events.text, re.MULTILINE)
    assert kinds == ["asked", "answer"]
    answer = json.loads(re.findall(r"^data: (.*)$", events.text, re.MULTILINE)[1])
    assert answer["text"] == client.post("/v1/ask", json=body).json()["text"] == "In Porto."
    service.app.tenants._root._engine.llm = None
    service.app.tenants.memory("default")._engine.llm = None
    refused = client.post("/v1/ask", json=body, headers={"Accept": "text/event-stream"})
    assert re.findall(r"^event: (\w+)$", refused.text, re.MULTILINE) == ["asked", "problem"]
    assert json.loads(re.findall(r"^data: (.*)$", refused.text, re.MULTILINE)[1])["error"] == "SettingsError"
