"""The language models by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from memstrata.errors import SettingsError
from memstrata.llm.base import LLM, Profile

REMOTE = ("openai", "anthropic", "google", "bedrock")
LOCAL = "local"


def create_llm(
    spec: str, *, base_url: str | None = None, profile: Profile | None = None, timeout: float = 120.0
) -> LLM:
    """The language model named `spec`: "openai:NAME", "anthropic:NAME", "google:NAME", "bedrock:NAME", "local:PATH".

    `base_url` is any other endpoint that speaks the provider's protocol; OpenAI's is the common one. Keys come from the
    environment, under the names that each provider gives them (OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY,
    AWS_*). "local" is a GGUF file that runs in this process. `profile`
    None: "small" for local models, else "full". `timeout` in seconds.

    Raises:
        SettingsError: no such provider, no key, no such file.
        MissingExtraError: the extra that it needs is not installed.
    """
    provider, _, model = spec.partition(":")
    if provider == LOCAL and model:
        if base_url is not None:
            raise SettingsError("llm_base_url goes with a provider, not with a local model")
        return _made(import_module("memstrata.llm.local").LocalLLM(model, profile=profile or "small", timeout=timeout))
    if provider in REMOTE and model:
        batches = import_module("memstrata.llm.batches")
        home = import_module("memstrata.llm.providers")
        kind = batches.BatchProviderLLM if provider in batches.BATCHED else home.ProviderLLM
        return _made(kind(provider, model, base_url=base_url, profile=profile or "full", timeout=timeout))
    known = ", ".join([*(f"{name}:MODEL" for name in REMOTE), f"{LOCAL}:PATH.gguf"])
    raise SettingsError(f"unknown language model {spec!r}; there are: {known}")


def _made(llm: LLM) -> LLM:
    return llm
