"""What a page gets when it is made: a summary and candidates, by one call of the model or by the offline stage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memstrata.engine import Engine
from memstrata.errors import LLMBudgetError, LLMError
from memstrata.extract.candidates import draft
from memstrata.extract.summary import summarise
from memstrata.journal.jobs import Job
from memstrata.text.measure import clip
from memstrata.types import Candidate, Scope, Turn

if TYPE_CHECKING:
    from memstrata.distil.answered import Page

FEWEST = 2  # turns of a page that a call is worth: it costs as much for one turn as for five
TURN_WORDS = 400.0  # of a turn that the model is shown
EARLIER = 2  # turns before the page that it is shown, too, each with its first words
EARLIER_WORDS = 30.0
_FENCE = re.compile(r"</?\s*(?:turns|new|known|pairs|memory|memstrata-context)\b[^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Drafts:
    """A page's summary and candidates; `counts` and `versions` tell of the call that made them, for the receipt."""

    summary: str
    candidates: Sequence[Candidate]
    counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


async def draft_page(
    engine: Engine,
    scope: Scope,
    job: Job,
    page: int,
    turns: Sequence[Turn],
    *,
    before: Sequence[Turn],
    after: Sequence[Turn],
    served: Sequence[str],
) -> Drafts:
    """The drafts of a page. Raises LLMError when the model fails and may not be done without."""
    if engine.llm is None or len(turns) < FEWEST:
        return Drafts(summarise(turns), draft(turns, before=before, after=after, served=served))
    from memstrata.calls import Purpose, ask_model
    from memstrata.distil.answered import candidates_of, page_of, summary_of

    read = page_of(turns, before, after, served)
    if not _has_source(read):
        return Drafts(summarise(turns), read.offline)  # nothing that could be remembered: nothing is asked
    purpose = Purpose("page", scope, job.operation, job, page)
    try:
        asked = await ask_model(engine, purpose, page_text(read), {})
    except LLMError as error:
        return Drafts(summarise(turns), read.offline, *without_model(engine, job, error))
    candidates = candidates_of(asked.answer.value, read, fill=engine.llm.profile == "small")
    summary = summary_of(asked.answer.value, read) or summarise(turns)
    dropped = {f"llm_dropped_{why}": count for why, count in read.dropped.items()}
    filled = {"llm_passed_over": read.filled} if read.filled else {}
    return Drafts(summary, candidates, {**asked.counts, **dropped, **filled}, asked.versions)


def text_to_ask(
    turns: Sequence[Turn], *, before: Sequence[Turn], after: Sequence[Turn], served: Sequence[str]
) -> str | None:
    """What a model is asked about a page; None where it is drafted without one."""
    from memstrata.distil.answered import page_of

    if len(turns) < FEWEST:
        return None
    read = page_of(turns, before, after, served)
    return page_text(read) if _has_source(read) else None


def _has_source(read: Page) -> bool:
    """Whether there is anything in a page that could be remembered."""
    return any(read.is_shown(turn) and not read.is_context(turn) for turn in read.turns)


def without_model(engine: Engine, job: Job, error: LLMError) -> tuple[dict[str, int], dict[str, str]]:
    """Counts and versions of a stage that goes on without the model; raises the error where it may not.

    It may with llm_fallback="offline", at the job's last attempt or when the day's budget is used up. That it did is
    in the receipt: undoing the operation makes the page warm again, and the model is asked anew.
    """
    settings = engine.settings
    last = job.attempts + 1 >= settings.job_attempts
    if settings.llm_fallback != "offline" or not (last or isinstance(error, LLMBudgetError)):
        raise error
    return {"llm_fallback": 1}, {"fallback": type(error).__name__}


def page_text(page: Page) -> str:
    """The page as the model is shown it: a line a turn, fenced as data."""
    lines = [f"(earlier) {line(turn, EARLIER_WORDS)}" for turn in page.before[-EARLIER:] if turn.is_source]
    for number, turn in enumerate(page.turns, 1):
        if page.is_shown(turn):
            mark = " (context)" if page.is_context(turn) else ""
            lines.append(f"[{number}]{mark} {line(turn, TURN_WORDS)}")
    return "\n".join(["<turns>", *lines, "</turns>"])


def line(turn: Turn, most_words: float) -> str:
    """A turn in one line, with its day and speaker."""
    return f"{turn.at:%Y-%m-%d} {one_line(turn.said, most_words)}"


def one_line(text: str, most_words: float) -> str:
    """A text as data in a prompt: in one line, cut, without the marks that end the data."""
    return _FENCE.sub(" ", clip(" ".join(text.split()), most_words))
