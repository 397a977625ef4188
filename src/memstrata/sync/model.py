"""face/model.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memstrata.ledger.cost import Costs
from memstrata.recall.ask import Answer
from memstrata.sync.thread import MemoryThread


class SyncModel(MemoryThread):
    """What needs a language model: answers, and what they and all other calls cost."""

    def ask(
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
        return self._run(
            self._async.ask(
                question,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                max_tokens=max_tokens,
                k=k,
                now=now,
                tz=tz,
                touch=touch,
            )
        )

    def cost(self, *, user_id: str | None = None, agent_id: str | None = None, by: Sequence[str] = ("stage",)) -> Costs:
        """What the language model cost: calls, tokens, seconds and money, of one scope or of everybody.

        by: what the lines are told apart by: stage, model, prompt, session, user, agent, day; any of them together.
        """
        return self._run(self._async.cost(user_id=user_id, agent_id=agent_id, by=by))
