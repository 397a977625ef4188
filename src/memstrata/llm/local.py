"""A GGUF model in this process, through xllamacpp; its answers are held to the schema by the sampler."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memstrata.embed.base import require
from memstrata.errors import ClosedError, LLMRefusedError, LLMUnavailableError, SettingsError
from memstrata.llm.base import Completion, Profile, Request, Usage

if TYPE_CHECKING:
    from xllamacpp import Server

CONTEXT = 8192  # tokens of prompt and answer together
LONGEST_TEXT, MOST_ITEMS = 600, 40  # of an answer: small models fall into loops, and the sampler can end them


class LocalLLM:
    """A model in a GGUF file of the user's; nothing is downloaded.

    It is loaded at the first call, in a thread of its own, and answers one call at a time. The engine also listens on
    a loopback port, as its library does; a random key that nobody learns keeps everyone else out.
    """

    def __init__(
        self,
        path: str,
        *,
        profile: Profile = "small",
        threads: int | None = None,
        context: int = CONTEXT,
        timeout: float = 600.0,
    ) -> None:
        require("xllamacpp", "a local language model", "local")
        if not Path(path).is_file():
            raise SettingsError(f"local:{path}: no such file; name a GGUF model")
        self.name = f"local:{Path(path).stem}"
        self.profile: Profile = profile
        self._path, self._context, self._timeout = path, context, timeout
        self._threads = threads or max(1, (os.cpu_count() or 2) // 2)  # threads that wait for a busy core cost tenfold
        self._server: Server | None = None
        self._closed = False
        self._turn = asyncio.Lock()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memstrata-llm")

    async def complete(self, request: Request) -> Completion:
        """See `LLM.complete`."""
        async with self._turn:  # the time of others' answers is not this one's
            if self._closed:
                raise ClosedError("this language model is closed")
            running = asyncio.get_running_loop().run_in_executor(self._worker, self._answer, request)
            try:
                async with asyncio.timeout(self._timeout):
                    return await asyncio.shield(running)
            except TimeoutError as error:
                raise LLMUnavailableError(f"{self.name}: no answer within {self._timeout:g} s") from error

    async def close(self) -> None:
        """See `LLM.close`. A call in hand is finished first."""
        if self._closed:
            return
        self._closed = True
        unloaded = asyncio.get_running_loop().run_in_executor(self._worker, self._unload)
        self._worker.shutdown(wait=False)
        await unloaded

    def _unload(self) -> None:
        self._server = None

    def _load(self) -> Server:
        from xllamacpp import CommonParams, Server

        params = CommonParams()
        params.model.path = self._path
        params.n_ctx = self._context
        params.n_parallel = 1
        params.cpuparams.n_threads = self._threads
        params.cpuparams_batch.n_threads = self._threads
        params.sampling.temp = 0.0
        params.sampling.seed = 1
        params.verbosity = -1
        params.api_keys = [secrets.token_hex(32)]
        params.endpoint_slots = False
        params.ui = False
        try:
            return Server(params)
        except RuntimeError as error:
            raise LLMRefusedError(f"{self.name} cannot be loaded: {error}") from error

    def _answer(self, request: Request) -> Completion:
        if self._server is None:
            self._server = self._load()
        answer: dict[str, Any] = self._server.handle_chat_completions(
            {
                "messages": [
                    {"role": "system", "content": request.instructions},
                    {"role": "user", "content": request.text},
                ],
                "max_tokens": request.max_tokens,
                "temperature": 0.0,
                "cache_prompt": True,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": request.name, "schema": bounded(request.schema)},
                },
            }
        )
        if "choices" not in answer:
            fault = answer.get("error", answer)
            message = fault.get("message", fault) if isinstance(fault, dict) else fault
            raise LLMRefusedError(f"{self.name}: {str(message)[:200]}")
        choice, used = answer["choices"][0], answer.get("usage", {})
        cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        usage = Usage(used.get("prompt_tokens", 0), used.get("completion_tokens", 0), cached, 0.0)
        return Completion(choice["message"]["content"] or "", usage, complete=choice["finish_reason"] != "length")


def bounded(schema: Any) -> Any:
    """A JSON schema with the longest text and the most items of every list in it.

    >>> bounded({"type": "array", "items": {"type": "string"}})
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 600}, 'maxItems': 40}
    """
    if isinstance(schema, list):
        return [bounded(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {name: bounded(value) for name, value in schema.items()}
    if schema.get("type") == "string" and "enum" not in schema and "const" not in schema:
        found.setdefault("maxLength", LONGEST_TEXT)
    if schema.get("type") == "array":
        found.setdefault("maxItems", MOST_ITEMS)
    return found
