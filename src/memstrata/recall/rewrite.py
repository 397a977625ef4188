"""A query with words that a model adds: names and terms that an answer would have. Never needed, never in its place."""

from __future__ import annotations

import logging
from dataclasses import replace

from memstrata.calls import Purpose, ask_model
from memstrata.distil.drafting import one_line
from memstrata.engine import Engine
from memstrata.errors import LLMError
from memstrata.recall.request import Ask
from memstrata.text.measure import clip
from memstrata.types import Scope

log = logging.getLogger("memstrata")
QUERY_WORDS = 200.0  # of the query that the model is shown
MORE_WORDS = 20.0  # that it may add


async def rewritten(engine: Engine, scope: Scope, ask: Ask) -> tuple[Ask, tuple[str, ...]]:
    """The recall with the model's words; as it was where the model fails, and what is to be said of that."""
    text = f"{ask.now:%Y-%m-%d}\n{one_line(ask.query, QUERY_WORDS)}"
    try:
        asked = await ask_model(engine, Purpose("rewrite", scope, "recall"), text, {})
    except LLMError as error:
        log.warning("recall goes on without a rewritten query: %s", type(error).__name__)
        return ask, (f"rewrite: {type(error).__name__}",)
    words = clip(" ".join(asked.answer.value.words), MORE_WORDS)
    return replace(ask, more_words=words), ()
