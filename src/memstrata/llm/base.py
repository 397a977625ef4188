"""The LLM seam: one structured completion, a request in and raw text with its usage out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from memstrata.errors import LLMError

Profile = Literal["full", "small"]
"""How much is asked of a model at once: small ones get simpler schemas and shorter instructions."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked.

    `instructions` are the same for every call of a stage, so that providers find them in their prefix caches; `text` is
    what this call is about; `schema` is the JSON schema of the answer, `name` its name. `max_tokens` bounds the answer.
    """

    stage: str
    instructions: str
    text: str
    name: str
    schema: Mapping[str, Any]
    max_tokens: int = 1500


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost: tokens (the cached ones are among the input), and US dollars where the price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer as it came: nothing in it is trusted. `complete` is False when it was cut at `max_tokens`."""

    text: str
    usage: Usage = Usage()
    complete: bool = True


class LLM(Protocol):
    """A language model.

    `name` says which one, as "provider:model"; it stands in receipts and costs. `profile` is what is asked of it.
    """

    @property
    def name(self) -> str: ...

    @property
    def profile(self) -> Profile: ...

    async def complete(self, request: Request) -> Completion:
        """One completion, at temperature 0 where the model has one. Makes at most a few quick retries of its own.

        Raises:
            LLMUnavailableError: it cannot be reached or is overloaded; says after how long to try again, if known.
            LLMRefusedError: it will not answer, or the request is wrong (key, model name, length).
            ClosedError: after close().
        """
        ...

    async def close(self) -> None:
        """Frees connections or the model. Calling it twice is fine."""
        ...


@runtime_checkable
class BatchLLM(LLM, Protocol):
    """A language model whose provider answers many requests together, later and for less."""

    async def submit(self, requests: Mapping[str, Request]) -> str:
        """Send requests, each under a name of its own (at most 64 letters, digits, "_" and "-"), as one batch.

        Returns a handle, as text without secrets, with which another process can collect the answers. Makes no retry:
        the provider may have taken the batch before the connection failed. Raises what `complete` raises; SettingsError
        where the endpoint has no batches.
        """
        ...

    async def collect(self, handle: str, like: Request) -> Mapping[str, Completion | LLMError] | None:
        """What came of a batch, by name; None while it is under way. `like` is a request with the schema of its own.

        Raises LLMUnavailableError, or LLMRefusedError when there is no such batch.
        """
        ...
