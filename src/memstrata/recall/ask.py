"""A question answered from memory: one context, one call of the model, and citations that were offered to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memstrata.engine import Engine
from memstrata.errors import SettingsError
from memstrata.recall.context import make_context
from memstrata.recall.recall import Found
from memstrata.text.tokens import content_words
from memstrata.types import Context, Hit, Scope

NOT_THERE: Final = "not in memory"
GROUNDED: Final = 0.5  # share of an answer's content words that the context has, for one that cites nothing
_MARK = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the memories it stands on. Where memory does not have it, `text` says so and `found` is False.

    `citations` are the hits by their marks in `context.text`: each names its note, if it is one, and its turns.
    `counts` tell of the call: tokens in, out and cached.
    """

    question: str
    text: str
    found: bool
    citations: Mapping[str, Hit]
    context: Context
    counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


async def ask(
    engine: Engine,
    scope: Scope,
    question: str,
    *,
    max_tokens: int,
    k: int,
    now: datetime | str | None,
    tz: str | None,
) -> tuple[Answer, Found | None]:
    """The answer to a question, and what was recalled for it. See `AsyncMemory.ask`.

    Raises SettingsError without a model, and LLMError when it fails: an answer is never made up offline.
    """
    if engine.llm is None:
        raise SettingsError("ask needs a language model: Memory(llm='openai:NAME'), or MEMSTRATA_LLM")
    from memstrata.calls import Purpose, ask_model
    from memstrata.distil.drafting import one_line

    context, found = await make_context(
        engine, scope, question, max_tokens=max_tokens, strategy="hybrid", k=k, now=now, tz=tz
    )
    if not context.text:
        return Answer(question, NOT_THERE, False, {}, context), found
    text = f"<memory>\n{context.text}\n</memory>\nQuestion: {one_line(question, 400.0)}"
    asked = await ask_model(engine, Purpose("ask", scope, "ask"), text, {})
    value = asked.answer.value
    marks = {f"[{number}]" for cited in value.citations for number in _MARK.findall(cited)}
    citations = {mark: hit for mark, hit in context.citations.items() if mark in marks}
    counts = dict(asked.counts)
    if invented := len(marks - citations.keys()):
        counts["llm_dropped_citation"] = invented
    there = bool(value.found and value.answer) and (bool(citations) or _is_grounded(value.answer, context.text))
    if not there:
        citations = {}
    answer = value.answer if there else NOT_THERE
    return Answer(question, answer, there, citations, context, counts, asked.versions), found


def _is_grounded(answer: str, context: str) -> bool:
    """Whether an answer without citations is made of the context's words: the last turns have no marks to cite."""
    told, known = content_words(answer), set(content_words(context))
    return bool(told) and sum(word in known for word in told) >= GROUNDED * len(told)
