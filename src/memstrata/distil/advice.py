"""The second call of a page: what the model says of the notes that its candidates became."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memstrata.distil.drafting import without_model
from memstrata.distil.knowledge import Known
from memstrata.distil.plan import Plan
from memstrata.engine import Engine
from memstrata.errors import LLMError
from memstrata.journal.jobs import Job
from memstrata.types import Candidate, Scope

if TYPE_CHECKING:
    from memstrata.calls import Asked
    from memstrata.distil.counsel import Counsel, Rival

CONTRADICTS = 0.5  # chance of a contradiction from which the language model is asked about a pair


@dataclass(slots=True)
class Adviser:
    """Asks the model once for a job, and gives its answer to every plan that is made for it.

    `counts` and `versions` tell of the call, for the receipt. Without a model, and where nothing was admitted or
    nothing is near it, nothing is asked. A `short` page, the last one of a session, is asked about only when something
    may contradict it: so that a session costs two calls for five turns, however it ends.
    """

    engine: Engine
    scope: Scope
    operation: str
    job: Job
    page: int | None = None
    short: bool = False
    _asked: Asked[Any] | None = None
    _counsel: Counsel | None = None
    _without: tuple[dict[str, int], dict[str, str]] | None = None

    @property
    def counts(self) -> dict[str, int]:
        if self._without is not None:
            return self._without[0]
        if self._asked is None or self._counsel is None:
            return {}
        dropped = {f"llm_dropped_{why}": count for why, count in self._counsel.dropped.items()}
        return added(self._asked.counts, dropped)

    @property
    def versions(self) -> dict[str, str]:
        if self._without is not None:
            return self._without[1]
        return {} if self._asked is None else {"notes_model": self._asked.model, "notes_prompt": self._asked.prompt}

    async def counsel(self, plan: Plan, candidates: Sequence[Candidate], known: Known) -> Counsel | None:
        """What the model says of a plan that was made without it; None when there is nothing to say.

        Raises LLMError when the model fails and may not be done without.
        """
        if self.engine.llm is None or self._without is not None or not plan.made:
            return None
        from memstrata.calls import Purpose, ask_model
        from memstrata.distil.counsel import Offer, counsel_of, offer_of

        if self._asked is None:
            offer = offer_of(plan, candidates, known, await self._rivals(plan, candidates, known))
            if offer is None or (self.short and not offer.pairs):
                return None
            purpose = Purpose("notes", self.scope, self.operation, self.job, self.page)
            try:
                self._asked = await ask_model(self.engine, purpose, offer.text, offer.stored())
            except LLMError as error:
                self._without = without_model(self.engine, self.job, error)
                return None
        self._counsel = counsel_of(self._asked.answer.value, Offer.of(self._asked.offered))
        return self._counsel

    async def _rivals(self, plan: Plan, candidates: Sequence[Candidate], known: Known) -> list[Rival]:
        """The pairs that may contradict each other. Those without a slot go past the inference model, if one is set.

        Raises ModelFileError when that model fails: the job is tried again.
        """
        from memstrata.distil.counsel import rivals_of

        found = rivals_of(plan, candidates, known)
        if self.engine.nli is None:
            return found
        asked = [each for each in found if not each.is_planned]
        pairs = [(each.note.content, candidates[each.n].content) for each in asked]
        said = zip(asked, await self.engine.nli.judge(pairs), strict=True)
        apart = {each.n for each, inference in said if inference.contradiction < CONTRADICTS}
        return [each for each in found if each.is_planned or each.n not in apart]


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The sums of two tables of counts."""
    return {
        name: one.get(name, 0) + other.get(name, 0) for name in (*one, *(each for each in other if each not in one))
    }
