"""Every provider's shape is read, and every fault names its message."""

import base64
import hashlib
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from memstrata.errors import MessageError, TimeError
from memstrata.intake.messages import parse
from memstrata.types import Message, Part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
ENCODED = base64.b64encode(PNG).decode()
STORED = {"size": len(PNG), "sha256": hashlib.sha256(PNG).hexdigest(), "media_type": "image/png"}


def one(message: object, **settings: Any) -> Message:
    (read,) = parse(message, **({"max_chars": 1000} | settings))
    return read


def user(*parts: object) -> dict[str, object]:
    return {"role": "user", "content": list(parts)}


def test_a_string_is_the_users() -> None:
    assert one("ポルトに引っ越した") == Message("user", "ポルトに引っ越した")


@pytest.mark.parametrize(
    ("given", "role"),
    [("user", "user"), ("human", "user"), ("assistant", "assistant"), ("ai", "assistant"), ("model", "assistant"),
     ("system", "system"), ("developer", "system"), ("tool", "tool"), ("function", "tool"), ("User", "user")],
)  # fmt: skip
def test_roles(given: str, role: str) -> None:
    assert one({"role": given, "content": "你好"}).role == role
    assert one({"type": given.lower(), "content": "你好"}).role == role  # LangChain


def test_objects() -> None:
    class Said(BaseModel):
        role: str
        content: list[dict[str, str]]
        name: str | None = None

    assert one(Said(role="user", content=[{"type": "text", "text": "hi"}])) == Message("user", "hi")
    assert one([SimpleNamespace(role="ai", content="hi", id="m1")]) == Message("assistant", "hi", id="m1")


def test_times() -> None:
    noon = datetime(2023, 5, 8, 12, tzinfo=UTC)
    first, second = parse(
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b", "at": "2023-05-08T21:00:00"}],
        at=datetime(2023, 5, 7, tzinfo=UTC),
        tz="Asia/Tokyo",
        max_chars=9,
    )
    assert first.at == datetime(2023, 5, 7, tzinfo=UTC)
    assert second.at == noon
    with pytest.raises(TimeError, match=r"messages\[0\]\.at"):
        parse([{"role": "user", "content": "b", "at": "2023-05-08T21:00:00"}], max_chars=9)
    with pytest.raises(TimeError, match="IANA"):
        parse("a", tz="Nowhere", max_chars=9)


IMAGES = [
    ({"type": "image_url", "image_url": {"url": "https://x.test/a.png", "alt": "a cat"}}, "https://x.test/a.png"),
    ({"type": "input_image", "image_url": "https://x.test/a.png", "caption": "a cat"}, "https://x.test/a.png"),
    (
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}, "title": "a cat"},
        "https://x.test/a.png",
    ),
    ({"type": "image", "image": "https://x.test/a.png", "blip_caption": "a cat"}, "https://x.test/a.png"),
    ({"file_data": {"file_uri": "gs://b/a.png", "mime_type": "image/png"}, "alt": "a cat"}, "gs://b/a.png"),
]
PAYLOADS = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
    {"inline_data": {"mime_type": "image/png", "data": PNG}},
    {"inlineData": {"mimeType": "image/png", "data": ENCODED}},
    {"type": "image", "base64": ENCODED, "mime_type": "image/png"},
    {"type": "file", "file": {"file_data": f"data:image/png;base64,{ENCODED}", "filename": "a.png"}},
]


@pytest.mark.parametrize(("part", "ref"), IMAGES)
def test_images_are_references_and_their_captions_are_searched(part: dict[str, object], ref: str) -> None:
    read = one(user({"type": "text", "text": "look"}, part))
    assert (read.parts[0].type, read.parts[0].ref, read.parts[0].caption) == ("image", ref, "a cat")
    assert read.indexed_text == "look [a cat]"


@pytest.mark.parametrize("part", PAYLOADS)
def test_bytes_are_not_kept(part: dict[str, object]) -> None:
    (kept,) = one(user(part)).parts
    assert (kept.type, kept.ref, kept.data) == ("image", None, STORED)
    assert ENCODED[:20] not in repr(kept)


def test_sounds_and_files() -> None:
    sound, file, document = one(
        user(
            {"type": "input_audio", "input_audio": {"data": ENCODED, "format": "wav"}},
            {"type": "input_file", "file_id": "file-1", "filename": "plan.pdf"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "秘"}, "title": "memo"},
        )
    ).parts
    assert (sound.type, sound.data["media_type"]) == ("audio", "audio/wav")
    assert (file.ref, file.caption) == ("file-1", "plan.pdf")
    assert (document.data["size"], document.caption) == (3, "memo")


CALL = Part("tool_call", "c1", None, {"name": "find", "arguments": {"q": 1}})


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": {"q": 1}}}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "find", "input": {"q": 1}}]},
        {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "find", "args": {"q": 1}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"q": 1}}, "id": "c1"}]},
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": {"q": 1}},
    ],
)  # fmt: skip
def test_tool_calls_are_kept_and_are_no_source(message: dict[str, object]) -> None:
    read = one(message)
    assert (read.role, read.parts, read.is_source, read.indexed_text) == ("assistant", (CALL,), False, "")


def test_text_beside_a_call_is_a_source() -> None:
    read = one({"role": "assistant", "content": "let me look", "function_call": {"name": "find", "arguments": "{}"}})
    assert read.is_source
    assert read.text == "let me look"


def test_results_are_the_tools() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "12 °C"}]}
    assert one(user(result)) == Message("tool", "12 °C", parts=(Part("tool_result", "c1"),))
    mixed = one(user(result, "thanks"))
    assert (mixed.role, mixed.text) == ("user", "thanks")
    assert one({"role": "tool", "content": "12 °C", "tool_call_id": "c1"}).parts == (Part("tool_result", "c1"),)
    assert (
        one({"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"result": "x"}}}]}).role
        == "tool"
    )
    assert one({"type": "function_call_output", "call_id": "c1", "output": "x"}).text == "x"


def test_thinking_leaves_no_text() -> None:
    read = one(
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hmm secret"}, {"type": "text", "text": "ok"}],
        }
    )
    assert read == Message("assistant", "ok", parts=(Part("thinking"),))
    assert not one({"role": "model", "parts": [{"text": "hmm", "thought": True}]}).is_source


def test_texts_are_joined_by_a_newline() -> None:
    assert one(user("a", {"type": "input_text", "text": "b"}, {"type": "refusal", "refusal": "no"})).text == "a\nb\nno"


OK = {"role": "user", "content": "ok"}
FAULTS: list[tuple[object, str]] = [
    ([], "empty"),
    (b"hi", "bytes"),
    (None, "NoneType"),
    (7, "int"),
    ("", "empty"),
    (" \n\t", "empty"),
    ([OK, "hi"], r"messages\[1\].*str"),
    ([OK, {"content": "hi"}], r"messages\[1\].*role"),
    ([OK, {"role": "wizard", "content": "hi"}], r"messages\[1\].*wizard"),
    ([OK, {"role": 1, "content": "hi"}], r"messages\[1\].*int"),
    ([OK, {"role": "user", "content": None}], r"messages\[1\].*empty"),
    ([OK, {"role": "user", "content": []}], r"messages\[1\].*empty"),
    ([OK, {"role": "user", "content": 5}], r"messages\[1\].*int"),
    ([OK, {"role": "user", "content": b"\x00"}], r"messages\[1\].*binary"),
    ([OK, {"role": "user", "content": "ab\x00"}], r"messages\[1\].*null byte at character 2"),
    ([OK, {"role": "user", "content": "日本\ud800"}], r"messages\[1\].*U\+D800 at character 2"),
    ([OK, {"role": "user", "content": "a" * 1001}], r"messages\[1\].*1,001.*1,000.*split"),
    ([OK, user("a", {"type": "hologram"})], r"messages\[1\]\.content\[1\].*hologram"),
    ([OK, user("a", {"what": "x"})], r"messages\[1\]\.content\[1\].*no type"),
    ([OK, user("a", 5)], r"messages\[1\]\.content\[1\].*int"),
    ([OK, user({"type": "text", "text": 5})], r"messages\[1\]\.content\[0\].*int"),
    ([OK, user({"type": "image"})], r"messages\[1\]\.content\[0\].*nothing"),
    ([OK, user({"type": "image", "base64": "!!!"})], r"messages\[1\]\.content\[0\].*base64"),
    ([OK, user({"type": "tool_use", "id": "x"})], r"messages\[1\]\.content\[0\].*name"),
    ([OK, OK | {"tool_calls": "x"}], r"messages\[1\].*list"),
    ([OK, OK | {"id": 5}], r"messages\[1\].*id.*str\(id\)"),
    ([OK, OK | {"id": "x" * 257}], r"messages\[1\].*id.*256"),
    ([OK, OK | {"name": ["x"]}], r"messages\[1\].*name.*list"),
    ([OK, OK | {"name": ""}], r"messages\[1\].*name.*empty"),
    ([OK, OK | {"metadata": []}], r"messages\[1\].*metadata.*list"),
    ([OK, OK | {"metadata": {"a": {1}}}], r"messages\[1\].*metadata.*JSON"),
    ([OK, OK | {"metadata": {"a": float("nan")}}], r"messages\[1\].*metadata.*JSON"),
    ([OK, OK | {"metadata": {1: "a"}}], r"messages\[1\].*metadata.*key 1"),
    ([OK, OK | {"metadata": {"a": ["\x00"]}}], r"messages\[1\].*metadata.*null byte"),
    ([OK, OK | {"metadata": {"a": "\udfff"}}], r"messages\[1\].*metadata.*U\+DFFF"),
    ([OK, OK | {"metadata": {"a": "x" * 65536}}], r"messages\[1\].*metadata.*65,536"),
    ([{**OK, "id": "m"}, {"role": "user", "content": "other", "id": "m"}], r"messages\[1\].*'m'.*messages\[0\]"),
]


@pytest.mark.parametrize(("messages", "pattern"), FAULTS)
def test_faults_name_the_message(messages: object, pattern: str) -> None:
    with pytest.raises(MessageError, match=pattern) as caught:
        parse(messages, max_chars=1000)
    assert len(str(caught.value)) < 1000


def test_deep_metadata_is_an_error_not_a_crash() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(MessageError, match="metadata"):
        one(OK | {"metadata": deep})


def test_metadata_is_copied() -> None:
    mine = {"tags": ["a"]}
    read = one(OK | {"metadata": mine})
    mine["tags"].append("b")
    assert read.metadata == {"tags": ["a"]}


def test_the_same_id_with_the_same_text_is_left_to_the_store() -> None:
    assert len(parse([{**OK, "id": "m"}, {**OK, "id": "m"}], max_chars=9)) == 2
