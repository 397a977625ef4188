"""A server on loopback that speaks the protocols of four providers, and misbehaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from .batch_server import Batches


@dataclass
class ChatServer:
    """`answer` gives the text for a request's body; `faults` are answered first: (status, headers, seconds to wait).

    `raw` are bodies that are sent in the place of replies, as they are. `finish` is "stop" or "length". `url` is the
    endpoint for OpenAI's clients, `root` that of the others.
    """

    root: str = ""
    answer: Callable[[dict[str, Any]], str] = lambda body: "{}"
    faults: list[tuple[int, dict[str, str], float]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    finish: str = "stop"
    batches: Batches = field(default_factory=Batches)

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        text, asked = self.answer(body), len(json.dumps(body)) // 4
        dialect = next(dialect for mark, dialect in DIALECTS.items() if mark in path)
        return dialect(body, text, asked, self.finish)


def openai(body: Mapping[str, Any], text: str, asked: int, finish: str) -> dict[str, Any]:
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": len(text) // 4,
            "total_tokens": asked + len(text) // 4,
            "prompt_tokens_details": {"cached_tokens": asked // 2},
        },
    }


def anthropic(body: Mapping[str, Any], text: str, asked: int, finish: str) -> dict[str, Any]:
    """Its input tokens leave those of the cache out."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": {"stop": "end_turn", "length": "max_tokens"}[finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": asked - asked // 2,
            "cache_read_input_tokens": asked // 2,
            "cache_creation_input_tokens": 0,
            "output_tokens": len(text) // 4,
        },
    }


def google(body: Mapping[str, Any], text: str, asked: int, finish: str) -> dict[str, Any]:
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}[finish]
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}],
        "modelVersion": "test-model",
        "responseId": "r1",
        "usageMetadata": {
            "promptTokenCount": asked,
            "candidatesTokenCount": len(text) // 4,
            "totalTokenCount": asked + len(text) // 4,
            "cachedContentTokenCount": asked // 2,
        },
    }


def bedrock(body: Mapping[str, Any], text: str, asked: int, finish: str) -> dict[str, Any]:
    """Its input tokens leave those of the cache out, too."""
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": {"stop": "end_turn", "length": "max_tokens"}[finish],
        "usage": {
            "inputTokens": asked - asked // 2,
            "outputTokens": len(text) // 4,
            "totalTokens": asked + len(text) // 4,
            "cacheReadInputTokens": asked // 2,
            "cacheWriteInputTokens": 0,
        },
        "metrics": {"latencyMs": 1},
    }


DIALECTS = {"/chat/completions": openai, "/v1/messages": anthropic, ":generateContent": google, "/converse": bedrock}


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """Runs a server until the block ends."""
    state = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if (made := state.batches.post(self.path, sent)) is not None:
                self.send(200, json.dumps(made).encode())
                return
            body = json.loads(sent)
            state.requests.append(body)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, wait = state.faults.pop(0) if state.faults else (200, {}, 0.0)
            time.sleep(wait)
            if status != 200:
                keys = [self.headers.get(name, "") for name in ("Authorization", "x-api-key", "x-goog-api-key")]
                error = {"message": f"fault {status} for {' '.join(keys)}", "type": "fault", "code": status}
                data = json.dumps({"error": error, "message": error["message"]}).encode()
            elif state.raw:
                data = state.raw.pop(0)
            else:
                data = json.dumps(state.reply(self.path, body)).encode()
            self.send(status, data, headers)

        def do_GET(self) -> None:
            data = state.batches.get(self.path)
            self.send(404, b"{}") if data is None else self.send(200, data)

        def do_DELETE(self) -> None:
            self.send(200, b'{"id": "file-1", "object": "file", "deleted": true}')

        def send(self, status: int, data: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.root = state.batches.root = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
