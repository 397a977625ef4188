"""What needs a language model: answers, and what they and all other calls cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memstrata.errors import ClosedError
from memstrata.face.recall import MemoryOut
from memstrata.intake.arguments import flag
from memstrata.ledger import cost
from memstrata.ledger.cost import Costs
from memstrata.recall import ask
from memstrata.recall.ask import Answer


class MemoryModel(MemoryOut):
    """What needs a language model: answers, and what they and all other calls cost."""

    async def ask(
        self,
        question: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        max_tokens: int = 2000,
        k: int | None = None,
        now: datetime | str | None = None,
        tz: str | None = None,
        touch: bool = True,
    ) -> Answer:
        """Answer a question from memory: its context, one call of the model, and the memories the answer stands on.

        Where memory does not have it, the text is "not in memory" and `found` is False. Only the cited memories count
        as accessed. The other arguments are those of `context`.

        Raises:
            SettingsError: no model is set. LLMError: it cannot be reached, its budget is used up, or it answers nothing
                that can be read.
        """
        scope = self._scope(user_id, agent_id, session_id)
        flag(touch, "touch")
        await self._worker.index_now(scope.owner)
        k = self._engine.settings.context_hits if k is None else k
        answer, found = await ask.ask(self._engine, scope, question, max_tokens=max_tokens, k=k, now=now, tz=tz)
        if touch and found is not None:
            self._touch(scope, found, [hit.id for hit in answer.citations.values()], served=True)
        return answer

    async def cost(
        self, *, user_id: str | None = None, agent_id: str | None = None, by: Sequence[str] = ("stage",)
    ) -> Costs:
        """What the language model cost: calls, tokens, seconds and money, of one scope or of everybody.

        by: what the lines are told apart by: stage, model, prompt, session, user, agent, day; any of them together.
        """
        if self._closed:
            raise ClosedError
        scope = None if user_id is None and agent_id is None else self._scope(user_id, agent_id)
        return await cost.costs(self._engine, scope, by)
