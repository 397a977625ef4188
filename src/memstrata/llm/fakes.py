"""Language models that need none, for tests: ours, and those of programs that use memstrata.

`EchoLLM` answers with what it was asked, `ScriptedLLM` with what a list or a function says, `RecordedLLM` with what a
real model once answered, from a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memstrata.errors import ClosedError, InputError, LLMRefusedError
from memstrata.llm.base import LLM, Completion, Profile, Request, Usage

Answer = str | Mapping[str, Any] | Completion | Exception
Script = Callable[[Request], Answer]

CHARACTERS_A_TOKEN = 4  # a rough count, so that the costs of fakes are not all zero


class _Fake:
    """What the fakes share: a name, a profile, and the requests they saw."""

    def __init__(self, name: str, profile: Profile) -> None:
        self.name = name
        self.profile: Profile = profile
        self.requests: list[Request] = []
        self._closed = False

    async def close(self) -> None:
        """See `LLM.close`."""
        self._closed = True

    def _asked(self, request: Request) -> None:
        if self._closed:
            raise ClosedError("this language model is closed")
        self.requests.append(request)


class EchoLLM(_Fake):
    """Answers every request with its own text: JSON where the text is JSON, else nothing that can be read."""

    def __init__(self, *, profile: Profile = "full") -> None:
        super().__init__("fake:echo", profile)

    async def complete(self, request: Request) -> Completion:
        """See `LLM.complete`."""
        self._asked(request)
        return _completion(request, request.text)


class ScriptedLLM(_Fake):
    """Answers from a script: a list of answers in their order, or a function of the request.

    An answer is a text, a mapping (sent as JSON), a `Completion`, or an exception, which is raised. When the list is
    used up, LLMRefusedError.

    >>> import asyncio
    >>> llm = ScriptedLLM([{"answer": "Porto"}])
    >>> asyncio.run(llm.complete(Request("ask", "", "Where?", "answer", {}))).text
    '{"answer": "Porto"}'
    """

    def __init__(self, script: Script | Iterable[Answer], *, name: str = "scripted", profile: Profile = "full") -> None:
        super().__init__(f"fake:{name}", profile)
        self._next = script if callable(script) else None
        self._answers = iter(()) if callable(script) else iter(list(script))

    async def complete(self, request: Request) -> Completion:
        """See `LLM.complete`."""
        self._asked(request)
        answer = self._next(request) if self._next is not None else next(self._answers, None)
        if answer is None:
            raise LLMRefusedError("the script has no more answers")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return _completion(request, answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))


class RecordedLLM(_Fake):
    """Answers from a cassette: a JSON Lines file of requests (as digests) and the answers a model gave.

    With a `llm` it asks that model what the cassette does not know yet, and writes it down; without one such a request
    is refused. The cassette holds answers in plain text: record nothing that is private.
    """

    def __init__(self, cassette: str | Path, llm: LLM | None = None, *, profile: Profile = "full") -> None:
        super().__init__("fake:recorded" if llm is None else llm.name, profile if llm is None else llm.profile)
        self._path, self._llm = Path(cassette), llm
        self._known: dict[str, Completion] = {}
        if self._path.exists():
            text = self._path.read_text("utf-8")
            whole = text[: text.rfind("\n") + 1]  # a line that was cut while it was written is asked for again
            if whole != text and llm is not None:
                self._path.write_text(whole, "utf-8")
            self._known = dict(map(_recorded, whole.split("\n")[:-1]))  # not splitlines: U+2028 stands in answers
        elif llm is None:
            raise InputError(f"{cassette}: no such cassette")

    async def complete(self, request: Request) -> Completion:
        """See `LLM.complete`."""
        self._asked(request)
        key = digest(request)
        if key not in self._known:
            if self._llm is None:
                raise LLMRefusedError(f"the cassette {self._path} has no answer to this {request.stage} request")
            self._known[key] = await self._llm.complete(request)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(key, request, self._known[key]))
        return self._known[key]

    async def close(self) -> None:
        """See `LLM.close`. Closes the model behind, too."""
        await super().close()
        if self._llm is not None:
            await self._llm.close()


def digest(request: Request) -> str:
    """What tells whether two requests are the same."""
    fields = [request.stage, request.instructions, request.text, request.name, request.schema, request.max_tokens]
    return blake2b(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode(), digest_size=16).hexdigest()


def _completion(request: Request, text: str) -> Completion:
    asked = len(request.instructions) + len(request.text)
    return Completion(text, Usage(asked // CHARACTERS_A_TOKEN, len(text) // CHARACTERS_A_TOKEN, 0, 0.0))


def _line(key: str, request: Request, completion: Completion) -> str:
    usage = completion.usage
    entry = {
        "request": key,
        "stage": request.stage,
        "answer": completion.text,
        "complete": completion.complete,
        "usage": [usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost],
    }
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _recorded(line: str) -> tuple[str, Completion]:
    entry = json.loads(line)
    return entry["request"], Completion(entry["answer"], Usage(*entry["usage"]), entry["complete"])
