"""Language models behind an API, through pydantic-ai's direct interface: one request, no agent.

It was chosen over a client for each provider (four vocabularies of errors, usage and schemas to translate here) and
over instructor (which asks again by itself, so that calls are no longer counted here). It maps every provider's errors
to classes with `retry_after`, normalises usage with cached tokens, and knows prices without a network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstrata import trace
from memstrata.embed.base import require
from memstrata.errors import ClosedError, LLMRefusedError, LLMUnavailableError, MissingExtraError, SettingsError
from memstrata.llm.base import Completion, Profile, Request, Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

RETRIES = 2  # of the provider's client, which waits as Retry-After says; longer waits are the job queue's
EXTRA = {"openai": "llm", "anthropic": "llm", "google": "llm-google", "bedrock": "llm-bedrock"}
KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "bedrock": (),  # AWS has a chain of its own
}
AWS_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
WITHOUT_TEMPERATURE = ("anthropic_disallows_sampling_settings", "openai_supports_reasoning")
"""What the library knows of models that take no temperature."""
PLACEHOLDER_KEY = "none"  # the library insists on a key; a server of one's own ignores it


class ProviderLLM:
    """A model of OpenAI (or any endpoint that speaks its chat protocol), Anthropic, Google or Bedrock.

    The key is read from the environment by the library, at the first call, and is kept nowhere else. The library is
    loaded then, too. The answer is held to the schema where the model can do that; elsewhere the instructions ask for
    it.

    Raises:
        SettingsError: no key is set. MissingExtraError: the provider's extra is not installed.
    """

    def __init__(
        self, provider: str, model: str, *, base_url: str | None = None, profile: Profile = "full", timeout: float
    ) -> None:
        require("pydantic_ai", f"the language model {provider}:{model}", EXTRA[provider])
        self.name = f"{provider}:{model}"
        self.profile: Profile = profile
        self._timeout = timeout
        base_url = base_url or (os.environ.get("OPENAI_BASE_URL") if provider == "openai" else None)
        if KEYS[provider] and not base_url and _key(provider) is None:
            needs = " or ".join(KEYS[provider])
            raise SettingsError(
                f"{self.name} needs {needs} in the environment (or llm_base_url for a server of your own)"
            )
        self._named = (provider, model, base_url)
        self._model: Model[Any] | None = None
        self._closed = False

    async def complete(self, request: Request) -> Completion:
        """See `LLM.complete`."""
        from pydantic_ai.direct import model_request

        model = self._opened()
        settings = self._settings(model, request)
        settings["request_timeout"] = self._timeout * (1 + RETRIES)
        if self._named[0] != "bedrock":  # AWS's client has a time limit and retries of its own
            settings["max_retries"], settings["timeout"] = RETRIES, self._timeout
        if carried := trace.headers():  # the endpoint may go on with the trace
            settings["extra_headers"] = carried
        try:
            response = await model_request(
                model,
                self._messages(request),
                model_settings=settings,
                model_request_parameters=self._parameters(model, request),
            )
        except Exception as error:
            raise self._told(error) from error
        return completion_of(response)

    async def close(self) -> None:
        """See `LLM.close`."""
        self._closed = True
        model, self._model = self._model, None
        client = getattr(model, "client", None)
        close = getattr(client, "close", None)
        if close is not None and hasattr(client, "with_options"):  # the OpenAI and Anthropic clients hold connections
            await close()

    def _opened(self) -> Model[Any]:
        """The library's model, made at the first call. Raises ClosedError, SettingsError, MissingExtraError."""
        if self._closed:
            raise ClosedError("this language model is closed")
        if self._model is None:
            self._model = _model(*self._named, self._timeout)
        return self._model

    def _settings(self, model: Model[Any], request: Request) -> ModelSettings:
        from pydantic_ai.settings import ModelSettings

        settings = ModelSettings(max_tokens=request.max_tokens, cache={"messages": False})
        if not any(model.profile.get(flag) for flag in WITHOUT_TEMPERATURE):
            settings["temperature"] = 0.0
        return settings

    def _messages(self, request: Request) -> list[ModelMessage]:
        from pydantic_ai.messages import ModelRequest

        return [ModelRequest.user_text_prompt(request.text, instructions=request.instructions)]

    def _parameters(self, model: Model[Any], request: Request) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        if not model.profile.get("supports_json_schema_output", False):
            return ModelRequestParameters()
        answer = OutputObjectDefinition(json_schema=dict(request.schema), name=request.name)
        return ModelRequestParameters(output_mode="native", output_object=answer, allow_text_output=True)

    def _line(self, error: Exception) -> str:
        """An error's message in one line, short (bodies of answers may quote the prompt), without the key in it."""
        text = " ".join(str(error).split())
        for name in (*KEYS[self._named[0]], *AWS_SECRETS):
            if secret := os.environ.get(name):
                text = text.replace(secret, "[key]")
        return text[:200]

    def _told(self, error: Exception) -> LLMRefusedError | LLMUnavailableError:
        """An error of the library as one of ours: is it of use to try again?"""
        from pydantic_ai import exceptions as kinds

        message = f"{self.name}: {type(error).__name__}: {self._line(error)}"
        if isinstance(error, (kinds.ModelRequestRejectedError, kinds.ModelQuotaExceededError)):
            return LLMRefusedError(message)
        if isinstance(error, kinds.ModelAPIError):
            return LLMUnavailableError(message, retry_after=error.retry_after)
        if isinstance(error, (kinds.UnexpectedModelBehavior, kinds.UserError)):
            # a content filter, no choices, an unsupported setting
            return LLMRefusedError(f"{self.name}: {self._line(error)}")
        # a provider's own client met an answer, or a setting, that it cannot take
        what = f"{type(error).__name__}: {self._line(error)}"
        return LLMUnavailableError(f"{self.name} answered what its client cannot read: {what}")


def _key(provider: str) -> str | None:
    """The provider's key, from the environment."""
    return next(filter(None, map(os.environ.get, KEYS[provider])), None)


def _model(provider: str, model: str, base_url: str | None, timeout: float) -> Model[Any]:
    """The library's model. Raises SettingsError or MissingExtraError with what is missing."""
    key = _key(provider) or (PLACEHOLDER_KEY if base_url else None)
    try:
        from pydantic_ai.exceptions import UserError

        try:
            if provider == "openai":
                from pydantic_ai.models.openai import OpenAIChatModel
                from pydantic_ai.providers.openai import OpenAIProvider

                return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=key))
            if provider == "anthropic":
                from pydantic_ai.models.anthropic import AnthropicModel
                from pydantic_ai.providers.anthropic import AnthropicProvider

                return AnthropicModel(model, provider=AnthropicProvider(base_url=base_url, api_key=key or ""))
            if provider == "google":
                from pydantic_ai.models.google import GoogleModel
                from pydantic_ai.providers.google import GoogleProvider

                return GoogleModel(model, provider=GoogleProvider(base_url=base_url, api_key=key))
            from pydantic_ai.models.bedrock import BedrockConverseModel
            from pydantic_ai.providers.bedrock import BedrockProvider

            # Its client takes no time limit a request, and retries by rules of AWS's own.
            aws = BedrockProvider(base_url=base_url, aws_read_timeout=timeout, aws_connect_timeout=timeout)
            return BedrockConverseModel(model, provider=aws)
        except UserError as error:
            raise SettingsError(f"{provider}:{model}: {error}") from error
    except ImportError as error:
        raise MissingExtraError(f"the language model {provider}:{model}", EXTRA[provider]) from error


def completion_of(response: ModelResponse) -> Completion:
    from pydantic_ai.messages import TextPart

    used = response.usage
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    usage = Usage(
        used.input_tokens,
        used.output_tokens,
        used.cache_read_tokens,
        None if used.cost is None else float(used.cost),
    )
    return Completion(text, usage, complete=response.finish_reason != "length")
