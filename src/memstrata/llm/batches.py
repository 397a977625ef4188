"""Batches of OpenAI and Anthropic: many requests sent together, answered within a day at a lower price.

OpenAI's go through its Responses protocol, the only one that the library has batches for. A batch's handle is the
library's own, as JSON, without the hash of the key that it holds: a key may be changed while a batch is under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from memstrata.errors import LLMError, SettingsError
from memstrata.llm.base import Completion, Request
from memstrata.llm.providers import ProviderLLM, completion_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import BatchRequest

BATCHED = ("openai", "anthropic")  # providers whose batches this speaks


class BatchProviderLLM(ProviderLLM):
    """A model whose provider takes batches; see `ProviderLLM`."""

    async def submit(self, requests: Mapping[str, Request]) -> str:
        """See `BatchLLM.submit`."""
        model = self._batching()
        try:
            encoded = [await model.batch_encode(self._batched(model, name, each)) for name, each in requests.items()]
            batch = await model.batch_create(encoded)
        except Exception as error:
            raise self._told(error) from error
        return _stored(batch)

    async def collect(self, handle: str, like: Request) -> Mapping[str, Completion | LLMError] | None:
        """See `BatchLLM.collect`."""
        from pydantic import TypeAdapter
        from pydantic_ai.models.batch import Batch

        model = self._batching()
        found: dict[str, Completion | LLMError] = {}
        try:
            batch = await model.batch_status(TypeAdapter(Batch).validate_json(handle))
            if batch.status != "ended":
                return None
            results = await model.batch_results(batch)
        except Exception as error:
            raise self._told(error) from error
        for each in results:
            try:
                decoded = model.batch_decode(each, self._batched(model, each.custom_id, like))
                found[each.custom_id] = completion_of(decoded)
            except Exception as error:  # noqa: BLE001 - of this request; the answers to the others are good
                found[each.custom_id] = self._told(error)
        return found

    def _batching(self) -> Model[Any]:
        """The model with batches. Raises SettingsError where the endpoint has none."""
        model = self._opened()
        if self._named[0] == "openai":
            from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider

            assert isinstance(model, OpenAIChatModel)
            model = OpenAIResponsesModel(self._named[1], provider=OpenAIProvider(openai_client=model.client))
        if model.batch_max_requests is None:
            raise SettingsError(f"{self.name} has no batches at this endpoint: leave llm_batch_seconds unset")
        return model

    def _batched(self, model: Model[Any], name: str, request: Request) -> BatchRequest:
        from pydantic_ai.messages import InstructionPart
        from pydantic_ai.models.batch import BatchRequest

        parameters = self._parameters(model, request)
        parameters.instruction_parts = [InstructionPart(content=request.instructions)]
        return BatchRequest(
            custom_id=name,
            messages=self._messages(request),
            model_settings=self._settings(model, request),
            model_request_parameters=parameters,
        )


def _stored(batch: Any) -> str:
    from pydantic import TypeAdapter
    from pydantic_ai.models.batch import Batch

    handle = orjson.loads(TypeAdapter(Batch).dump_json(batch))
    handle["group"] = orjson.dumps({**orjson.loads(handle["group"]), "credential": ""}).decode()
    return orjson.dumps(handle).decode()
