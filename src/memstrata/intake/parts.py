"""Content parts as the common providers write them: OpenAI (chat and responses), Anthropic, Gemini, LangChain, AI SDK.

Text is joined by the caller; everything else becomes a `Part`, a reference with a caption. Bytes are never kept: a
base64 payload is replaced by its media type, size and SHA-256.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any

from memstrata.types import Part

# The part's `type` -> what it is here. What is missing from this table is an error, never dropped.
KIND_OF_TYPE: Mapping[str, str] = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "text-plain": "text",
    "refusal": "text",  # what the assistant said instead of an answer
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "media": "file",
    "tool_use": "tool_call",
    "server_tool_use": "tool_call",
    "tool_call": "tool_call",
    "tool-call": "tool_call",
    "function": "tool_call",
    "function_call": "tool_call",
    "custom": "tool_call",
    "tool_result": "tool_result",
    "tool-result": "tool_result",
    "function_call_output": "tool_result",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "reasoning": "thinking",
}
# Gemini names a part by the key it has instead of a type.
KIND_OF_KEY: Mapping[str, str] = {
    "text": "text",
    "inline_data": "file",
    "inlineData": "file",
    "file_data": "file",
    "fileData": "file",
    "function_call": "tool_call",
    "functionCall": "tool_call",
    "function_response": "tool_result",
    "functionResponse": "tool_result",
}
_NESTED = (
    "image_url", "input_audio", "video_url", "file", "source", "inline_data", "inlineData", "file_data", "fileData",
    "image", "audio", "video",
)  # fmt: skip
_CALL_NESTED = ("function", "custom", "function_call", "functionCall", "function_response", "functionResponse")
_CAPTION_KEYS = ("alt", "alt_text", "caption", "title", "blip_caption", "filename", "file_name", "display_name", "name")
_MEDIA_TYPE_KEYS = ("media_type", "mime_type", "mimeType", "mediaType")
_REFERENCE_KEYS = ("url", "uri", "file_uri", "fileUri", "file_url", "file_id", "image_url", "video_url")
_PAYLOAD_KEYS = ("data", "base64", "bytes", "file_data", "image", "audio", "video")
_CALL_ID_KEYS = ("call_id", "tool_call_id", "tool_use_id", "toolCallId", "id")
_ARGUMENT_KEYS = ("arguments", "args", "input")
_RESULT_KEYS = ("content", "output", "result", "response")


class PartFault(Exception):
    """A part cannot be taken; the reader of the message adds which one."""


def kind_of(part: Mapping[str, Any]) -> str:
    """What a part is: "text", "image", "audio", "video", "file", "tool_call", "tool_result" or "thinking".

    Raises:
        PartFault: of a type that is not in the tables above.
    """
    named = part.get("type")
    if named is None:
        if part.get("thought") is True:  # Gemini's thinking is a text part with a flag
            return "thinking"
        kinds = [kind for key, kind in KIND_OF_KEY.items() if part.get(key) is not None]
        if not kinds:
            raise PartFault(f"has no type, and none of its keys {sorted(map(str, part))[:8]} names one")
        return kinds[0]
    if not isinstance(named, str):
        raise PartFault(f"has a type that is not a string but {type(named).__name__}")
    if named not in KIND_OF_TYPE:
        raise PartFault(f"unknown part type {named[:60]!r}; known are {', '.join(sorted(KIND_OF_TYPE))}")
    return KIND_OF_TYPE[named]


def text_of(part: Mapping[str, Any]) -> str:
    """The text of a text part.

    Raises:
        PartFault: it has none, or it is not a string.
    """
    key = "refusal" if part.get("type") == "refusal" else "text"
    text = part.get(key)
    if isinstance(text, Mapping):  # the OpenAI assistants' {"text": {"value": ...}}
        text = text.get("value")
    if not isinstance(text, str):
        raise PartFault(f"its {key!r} must be a string, not {type(text).__name__}")
    return text


def tool_call(call: Mapping[str, Any]) -> Part:
    """A tool call in any provider's shape: `ref` is its id, `data` its name and arguments. It has no caption, so it is
    never searched."""
    body = next((call[key] for key in _CALL_NESTED if isinstance(call.get(key), Mapping)), call)
    name = _first(body, ("name", "toolName"))
    if not isinstance(name, str):
        raise PartFault("a tool call needs a 'name'")
    return Part(
        "tool_call",
        _string(_first(call, _CALL_ID_KEYS)),
        None,
        {"name": name, "arguments": _first(body, _ARGUMENT_KEYS)},
    )


def tool_result(part: Mapping[str, Any]) -> tuple[str, Part]:
    """The text that a tool returned ("" when it is not text) and the part that refers to its call."""
    body = next((part[key] for key in _CALL_NESTED if isinstance(part.get(key), Mapping)), part)
    name = _string(_first(body, ("name", "toolName")))
    reference = Part("tool_result", _string(_first(part, _CALL_ID_KEYS)), None, {"name": name} if name else {})
    return _result_text(_first(body, _RESULT_KEYS)), reference


def media(kind: str, part: Mapping[str, Any]) -> Part:
    """An image, sound, video or file as a reference: its URL or file id, its caption, and for inline bytes their media
    type, size in bytes and SHA-256.

    Raises:
        PartFault: it refers to nothing, or its base64 cannot be read.
    """
    bodies = [part, *(part[key] for key in _NESTED if isinstance(part.get(key), Mapping))]
    data: dict[str, Any] = {}
    media_type = next((value for body in bodies if (value := _string(_first(body, _MEDIA_TYPE_KEYS)))), None)
    if media_type is None and kind == "audio":  # OpenAI: {"input_audio": {"data": ..., "format": "wav"}}
        encoding = next((value for body in bodies if (value := _string(body.get("format")))), None)
        media_type = f"audio/{encoding}" if encoding else None
    reference = next((value for body in bodies if (value := _string(_first(body, _REFERENCE_KEYS)))), None)
    payloads = (_bytes_or_text(body, _PAYLOAD_KEYS) for body in bodies)
    payload = next((found for found in payloads if found is not None), None)
    if reference is not None and reference.startswith("data:"):
        reference, payload = None, reference
    if isinstance(payload, str) and payload.startswith(("http://", "https://")):  # the AI SDK's {"image": url}
        reference, payload = payload, None
    plain = any(body.get("type") == "text" for body in bodies[1:])  # Anthropic's document of plain text
    if payload is not None:
        declared, content = _content(payload, plain=plain)
        media_type = media_type or declared
        data = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    elif reference is None and not any("content" in body for body in bodies[1:]):
        raise PartFault("refers to nothing: it needs a URL, a file id or base64 data")
    if media_type is not None:
        data["media_type"] = media_type
        if kind == "file" and media_type.split("/")[0] in ("image", "audio", "video"):
            kind = media_type.split("/")[0]
    caption = next((value for body in bodies if (value := _caption(body))), None)
    return Part(kind, reference, caption, data)


def _caption(body: Mapping[str, Any]) -> str | None:
    for key in _CAPTION_KEYS:
        value = body.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def _content(payload: str | bytes, *, plain: bool) -> tuple[str | None, bytes]:
    """The declared media type of a data URL, and the bytes of a payload."""
    if isinstance(payload, bytes):
        return None, payload
    if plain:
        return "text/plain", payload.encode("utf-8", "surrogatepass")
    declared = None
    encoded = payload
    if payload.startswith("data:"):
        head, separator, encoded = payload.partition(",")
        if not separator:
            raise PartFault("its data URL has no comma")
        declared = head[5:].split(";")[0] or None
        if ";base64" not in head:
            return declared, encoded.encode("utf-8", "surrogatepass")
    compact = "".join(encoded.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return declared, base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise PartFault("its data is not valid base64") from error


def _result_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):  # Gemini's {"response": {"result": "..."}}
        return _result_text(_first(value, ("text", "value", *_RESULT_KEYS)))
    if isinstance(value, (list, tuple)):
        return "\n".join(filter(None, (_result_text(item) for item in value)))
    return ""


def _first(body: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((body[key] for key in keys if body.get(key) is not None), None)


def _bytes_or_text(body: Mapping[str, Any], keys: tuple[str, ...]) -> str | bytes | None:
    return next((body[key] for key in keys if isinstance(body.get(key), (str, bytes)) and body[key]), None)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
