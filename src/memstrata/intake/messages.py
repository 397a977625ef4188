"""What a caller passes to `add`, read into `types.Message` records: every fault is an error that names the message.

Shapes: a string (said by the user), a dict, an object with `role` and `content`, or a list of dicts and objects, in
the forms of OpenAI, Anthropic, Gemini, LangChain and the AI SDK. Nothing is stored or redacted here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memstrata.errors import MessageError
from memstrata.intake import parts as content_parts
from memstrata.intake.characters import fault_in_id, fault_in_text
from memstrata.intake.parts import PartFault
from memstrata.intake.times import check_not_future, parse_time, zone
from memstrata.types import Message, Part, Role

__all__ = ["check_not_future", "parse", "parse_time"]

MAX_METADATA_BYTES = 64 * 1024
MAX_DEPTH = 100  # of metadata: deeper is no data, and more than JSON libraries take

# The names that providers use for the four roles.
ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",  # LangChain, ShareGPT
    "assistant": "assistant",
    "ai": "assistant",  # LangChain
    "model": "assistant",  # Gemini
    "system": "system",
    "developer": "system",  # OpenAI's later name
    "tool": "tool",
    "function": "tool",  # OpenAI's earlier name, Gemini's results
}
# Items of the OpenAI responses API that stand for a message without a role.
ROLE_OF_ITEM: Mapping[str, Role] = {
    "function_call": "assistant",
    "reasoning": "assistant",
    "function_call_output": "tool",
}
_ATTRIBUTES = ("role", "type", "content", "name", "at", "id", "metadata", "tool_calls", "tool_call_id")


@dataclass(slots=True)
class _Content:
    """What the content of one message gave so far."""

    texts: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


def parse(
    messages: object, *, at: datetime | str | None = None, tz: str | None = None, max_chars: int
) -> list[Message]:
    """The messages of one call, in order.

    Text parts are joined by a newline. Other parts are kept as references with their caption; tool calls are kept and
    are never a source; thinking leaves only the fact that it was there. A user message that holds nothing but tool
    results (Anthropic, Gemini) is the tool's message; beside a user's own text, results are references without text.

    Args:
        messages: a string, a dict, an object with `role` and `content`, or a list of dicts and objects.
        at: when they were said, for those without an `at` of their own; stays None when neither is given.
        tz: the IANA zone of naive times.
        max_chars: the most characters that the text of one message, or one part of it, may have.

    Raises:
        MessageError: one of them cannot be taken: `index` (and `part`) say which, the message why and what to do.
        TimeError: a time cannot be taken, or `tz` is unknown.
    """
    if tz is not None:
        zone(tz)
    said_at = None if at is None else parse_time(at, tz=tz)
    if isinstance(messages, (bytes, bytearray, memoryview)):
        raise MessageError("bytes cannot be taken: decode them to a string")
    if isinstance(messages, str):
        return [_read({"role": "user", "content": messages}, None, said_at, tz, max_chars)]
    if not isinstance(messages, (list, tuple)):
        return [_read(_as_mapping(messages, None), None, said_at, tz, max_chars)]
    if not messages:
        raise MessageError("the list of messages is empty")
    read = [_read(_as_mapping(item, index), index, said_at, tz, max_chars) for index, item in enumerate(messages)]
    _check_ids(read)
    return read


def _as_mapping(item: object, index: int | None) -> Mapping[str, Any]:
    """A message as a mapping: itself, a pydantic model's dump, or the known attributes of another object."""
    if isinstance(item, Mapping):
        return item
    dump = getattr(item, "model_dump", None)
    if callable(dump) and not isinstance(item, type):
        dumped = dump()
        if isinstance(dumped, Mapping):
            return dumped
    if isinstance(item, (str, bytes)) or not (
        hasattr(item, "content") and (hasattr(item, "role") or hasattr(item, "type"))
    ):
        where = "messages" if index is None else "a message"
        hint = " (a bare string is taken only alone)" if isinstance(item, str) else ""
        raise MessageError(
            f"{where} cannot be of type {type(item).__name__}{hint}: pass {{'role': 'user', 'content': '...'}}",
            index=index,
        )
    return {name: getattr(item, name) for name in _ATTRIBUTES if hasattr(item, name)}


def _read(
    message: Mapping[str, Any], index: int | None, said_at: datetime | None, tz: str | None, max_chars: int
) -> Message:
    role = _role(message, index)
    content = _content(message, index)
    text = "\n".join(piece for piece in content.texts if piece.strip())
    if not text and content.results:
        # A user's message that is nothing but results is what the tool said.
        role = "tool" if role == "user" else role
        text = "\n".join(content.results)
    elif role == "tool":
        text = "\n".join([text, *content.results]).strip()
    where = "at" if index is None else f"messages[{index}].at"
    at = message.get("at")
    read = Message(
        role=role,
        text=text,
        name=_id(message, "name", index),
        at=said_at if at is None else parse_time(at, tz=tz, what=where),
        id=_id(message, "id", index),
        parts=tuple(content.parts),
        metadata=check_metadata(message.get("metadata"), index),
        is_source=bool(text.strip()) or any(part.type not in ("tool_call", "thinking") for part in content.parts),
    )
    _check_size(read, index, max_chars)
    return read


def _role(message: Mapping[str, Any], index: int | None) -> Role:
    named = message.get("role")
    if named is None:
        kind = message.get("type")  # LangChain writes the role as type; the responses API has items without a role
        named = ROLE_OF_ITEM.get(kind, kind) if isinstance(kind, str) else None
    if named is None:
        raise MessageError("has no 'role': pass one of user, assistant, system, tool", index=index)
    if not isinstance(named, str):
        raise MessageError(f"role must be a string, not {type(named).__name__}", index=index)
    role = ROLES.get(named.casefold())
    if role is None:
        raise MessageError(f"unknown role {named[:60]!r}: pass one of {', '.join(ROLES)}", index=index)
    return role


def _content(message: Mapping[str, Any], index: int | None) -> _Content:
    """Text, parts and tool results of one message, tool calls beside the content included."""
    content = message.get("content")
    if message.get("role") is None and message.get("type") in ROLE_OF_ITEM:
        content = [message]  # the item is itself the part
    elif content is None:
        content = message.get("parts")  # Gemini and the AI SDK
    read = _Content()
    if isinstance(content, str):
        read.texts.append(content)
    elif isinstance(content, (list, tuple)):
        for number, part in enumerate(content):
            _add_part(read, part, index, number)
    elif isinstance(content, (bytes, bytearray, memoryview)):
        raise MessageError("content is binary: decode it to a string, or pass it as a file part", index=index)
    elif content is not None:
        raise MessageError(f"content must be a string or a list of parts, not {type(content).__name__}", index=index)
    _add_calls(read, message, index)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        read.texts.append(refusal)
    answered = message.get("tool_call_id")
    if isinstance(answered, str) and answered:
        read.parts.append(Part("tool_result", answered))
    if not read.parts and not any(piece.strip() for piece in [*read.texts, *read.results]):
        raise MessageError("content is empty: leave the message out", index=index)
    return read


def _add_part(read: _Content, part: object, index: int | None, number: int) -> None:
    if isinstance(part, str):
        read.texts.append(part)
        return
    if not isinstance(part, Mapping):
        dump = getattr(part, "model_dump", None)
        dumped = dump() if callable(dump) and not isinstance(part, type) else None
        if not isinstance(dumped, Mapping):
            raise MessageError(
                f"a part must be a string or a dict, not {type(part).__name__}", index=index, part=number
            )
        part = dumped
    try:
        kind = content_parts.kind_of(part)
        if kind == "text":
            read.texts.append(content_parts.text_of(part))
        elif kind == "thinking":
            read.parts.append(Part("thinking"))
        elif kind == "tool_call":
            read.parts.append(content_parts.tool_call(part))
        elif kind == "tool_result":
            text, reference = content_parts.tool_result(part)
            read.results.append(text)
            read.parts.append(reference)
        else:
            read.parts.append(content_parts.media(kind, part))
    except PartFault as fault:
        raise MessageError(str(fault), index=index, part=number) from fault


def _add_calls(read: _Content, message: Mapping[str, Any], index: int | None) -> None:
    """Tool calls that stand beside the content: OpenAI's `tool_calls` and older `function_call`, LangChain's."""
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        raise MessageError(f"tool_calls must be a list, not {type(calls).__name__}", index=index)
    listed = list(calls or [])
    if isinstance(message.get("function_call"), Mapping):
        listed.append(message["function_call"])
    for number, call in enumerate(listed):
        if not isinstance(call, Mapping):
            raise MessageError(f"tool_calls[{number}] must be a dict, not {type(call).__name__}", index=index)
        try:
            made = content_parts.tool_call(call)
        except PartFault as fault:
            raise MessageError(f"tool_calls[{number}]: {fault}", index=index) from fault
        if made not in read.parts:  # LangChain repeats Anthropic's tool_use parts as tool_calls
            read.parts.append(made)


def _check_size(message: Message, index: int | None, max_chars: int) -> None:
    """Refuse what no store takes: characters without UTF-8, text and parts over the limit."""
    fault = fault_in_text(message.text)
    if fault is not None:
        raise MessageError(f"its text {fault}", index=index)
    if len(message.text) > max_chars:
        raise MessageError(
            f"its text has {len(message.text):,} characters, the limit is {max_chars:,}: "
            "split it into several messages, or raise max_chars",
            index=index,
        )
    for number, part in enumerate(message.parts):
        what = f"its {part.type} part (number {number} of those kept)"
        _check_json(dict(part.data), what, index)
        for text in (part.ref, part.caption):
            fault = fault_in_text(text) if text is not None else None
            if fault is not None:
                raise MessageError(f"{what} {fault}", index=index)
        size = len(part.ref or "") + len(part.caption or "") + len(json.dumps(dict(part.data), ensure_ascii=False))
        if size > max_chars:
            raise MessageError(
                f"{what} has {size:,} characters, the limit is {max_chars:,}: store it elsewhere and pass a reference",
                index=index,
            )


def check_metadata(value: object, index: int | None = None) -> Mapping[str, Any]:
    """A copy of the metadata of a message, or of a call; MessageError where it does not go into JSON and back."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise MessageError(f"metadata must be a dict, not {type(value).__name__}", index=index)
    written = _check_json(dict(value), "metadata", index)
    size = len(written.encode())
    if size > MAX_METADATA_BYTES:
        raise MessageError(
            f"metadata has {size:,} bytes as JSON, the limit is {MAX_METADATA_BYTES:,}: keep a reference instead",
            index=index,
        )
    copied: dict[str, Any] = json.loads(written)  # the caller may change its own afterwards
    return copied


def _check_json(value: dict[str, Any], what: str, index: int | None) -> str:
    """The value as JSON, once it is known to come back from JSON as it went in."""
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"{what} is not JSON: {error}", index=index) from error
    _check_values(value, what, index)
    return written


def _check_values(value: object, what: str, index: int | None, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise MessageError(f"{what} is nested deeper than {MAX_DEPTH}: keep it as a text", index=index)
    if isinstance(value, str):
        fault = fault_in_text(value)
        if fault is not None:
            raise MessageError(f"{what} {fault}", index=index)
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise MessageError(f"{what} has a number of more than 64 bits: pass it as a string", index=index)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise MessageError(
                    f"{what} has the key {key!r} of type {type(key).__name__}: keys are strings", index=index
                )
            _check_values(key, what, index, depth)
            _check_values(inner, what, index, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _check_values(inner, what, index, depth + 1)


def _id(message: Mapping[str, Any], what: str, index: int | None) -> str | None:
    value = message.get(what)
    if value is None:
        return None
    fault = fault_in_id(value)
    if fault is not None or not isinstance(value, str):
        raise MessageError(f"{what} {fault}", index=index)
    return value


def _check_ids(messages: list[Message]) -> None:
    """The same id twice in one call means the same message; with another text one of them would be lost."""
    first: dict[str, int] = {}
    for index, message in enumerate(messages):
        if message.id is None:
            continue
        earlier = first.setdefault(message.id, index)
        if messages[earlier].text != message.text:
            raise MessageError(
                f"id {message.id!r} is that of messages[{earlier}] with another text: ids are unique in a session",
                index=index,
            )
