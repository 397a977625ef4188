"""A server on loopback that speaks the chat protocol of OpenAI, and misbehaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """`answer` gives the text for a request's body; `faults` are answered first: (status, headers, seconds to wait)."""

    url: str = ""
    answer: Callable[[dict[str, Any]], str] = lambda body: "{}"
    faults: list[tuple[int, dict[str, str], float]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    finish: str = "stop"

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self.answer(body)
        asked = sum(len(str(message["content"])) for message in body["messages"]) // 4
        return {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": self.finish}],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": len(text) // 4,
                "total_tokens": asked + len(text) // 4,
                "prompt_tokens_details": {"cached_tokens": asked // 2},
            },
        }


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """Runs a server until the block ends."""
    state = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append(body)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, wait = state.faults.pop(0) if state.faults else (200, {}, 0.0)
            time.sleep(wait)
            reply = state.reply(body) if status == 200 else {"error": {"message": f"fault {status}", "type": "fault"}}
            data = json.dumps(reply).encode()
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
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
