"""The batch protocols of OpenAI (files and batches, over Responses) and Anthropic, for `ChatServer`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

AT = "2026-06-01T12:00:00Z"


@dataclass
class Batches:
    """What was sent as batches: bodies by custom id, by batch. They end when `ended` is set; `failing` counts requests
    of a batch that fail, from its first on. `answer` gives the text for a body, as it does for single requests."""

    answer: Callable[[dict[str, Any]], str] = lambda body: "{}"
    root: str = ""
    sent: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    ended: bool = False
    failing: int = 0
    looked: int = 0
    _files: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def post(self, path: str, raw: bytes) -> dict[str, Any] | None:
        """What answers a POST of these protocols; None for another path."""
        if path.endswith("/files"):
            lines = [json.loads(line) for line in re.findall(rb"^\{.*\}(?=\r?$)", raw, re.MULTILINE)]
            name = f"file-{len(self._files) + 1}"
            self._files[name] = {line["custom_id"]: line["body"] for line in lines}
            return {
                "id": name,
                "object": "file",
                "bytes": len(raw),
                "created_at": 1,
                "filename": "b",
                "purpose": "batch",
            }
        if path.endswith("/v1/batches"):
            return self._openai(self._new(self._files[json.loads(raw)["input_file_id"]]))
        if "/v1/messages/batches" in path:
            return self._anthropic(
                self._new({each["custom_id"]: each["params"] for each in json.loads(raw)["requests"]})
            )
        return None

    def get(self, path: str) -> bytes | None:
        """What answers a GET; None where there is nothing."""
        parts = path.split("?")[0].strip("/").split("/")
        if parts[-1] == "content":
            batch = parts[-2].removeprefix("out-")
            return b"\n".join(self._lines(batch, self._line))
        if parts[-1] == "results":
            return b"\n".join(self._lines(parts[-2], self._result))
        self.looked += 1
        if parts[-1] not in self.sent:
            return None
        shown = self._anthropic(parts[-1]) if "messages" in parts else self._openai(parts[-1])
        return json.dumps(shown).encode()

    def _new(self, requests: dict[str, dict[str, Any]]) -> str:
        name = f"batch-{len(self.sent) + 1}"
        self.sent[name] = requests
        return name

    def _lines(self, batch: str, made: Callable[[str, dict[str, Any], bool], dict[str, Any]]) -> list[bytes]:
        requests = list(self.sent[batch].items())
        lines = [made(name, body, n < self.failing) for n, (name, body) in enumerate(requests)]
        return [json.dumps(line).encode() for line in reversed(lines)]  # in no order

    def _openai(self, batch: str) -> dict[str, Any]:
        status = {"status": "completed", "output_file_id": f"out-{batch}"} if self.ended else {"status": "in_progress"}
        given = {"endpoint": "/v1/responses", "input_file_id": "file-1", "completion_window": "24h", "created_at": 1}
        return {"id": batch, "object": "batch", **given, **status}

    def _line(self, name: str, body: dict[str, Any], fails: bool) -> dict[str, Any]:
        if fails:
            error = {"error": {"message": "overloaded", "type": "server_error"}}
            return {"custom_id": name, "response": {"status_code": 500, "body": error}}
        text, asked = self.answer(body), len(json.dumps(body)) // 4
        message = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
        usage = {
            "input_tokens": asked,
            "input_tokens_details": {"cached_tokens": asked // 2},
            "output_tokens": len(text) // 4,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + len(text) // 4,
        }
        made = {"id": "r1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed"}
        return {
            "custom_id": name,
            "response": {"status_code": 200, "body": {**made, "output": [message], "usage": usage}},
        }

    def _anthropic(self, batch: str) -> dict[str, Any]:
        count = len(self.sent[batch])
        return {
            "id": batch,
            "type": "message_batch",
            "processing_status": "ended" if self.ended else "in_progress",
            "request_counts": {"processing": 0, "succeeded": count, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": AT,
            "expires_at": AT,
            "ended_at": AT if self.ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.root}/v1/messages/batches/{batch}/results" if self.ended else None,
        }

    def _result(self, name: str, body: dict[str, Any], fails: bool) -> dict[str, Any]:
        if fails:
            error = {
                "type": "error",
                "request_id": None,
                "error": {"type": "overloaded_error", "message": "overloaded"},
            }
            return {"custom_id": name, "result": {"type": "errored", "error": error}}
        from .chat_server import anthropic

        text, asked = self.answer(body), len(json.dumps(body)) // 4
        return {"custom_id": name, "result": {"type": "succeeded", "message": anthropic(body, text, asked, "stop")}}
