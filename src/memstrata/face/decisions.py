"""The verbs on the gate's decisions: what people say of them, the close ones, another policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memstrata.face.base import MemoryBase
from memstrata.gate.policy import Policy
from memstrata.intake.arguments import flag, identifier
from memstrata.ledger import decisions, feedback
from memstrata.ledger.decisions import PolicyReplay
from memstrata.types import Decision, Receipt


class MemoryDecisions(MemoryBase):
    """The verbs on the gate's decisions: what people say of them, the close ones, another policy."""

    async def feedback(
        self,
        id: str,
        accept: bool,
        *,
        reason: str | None = None,
        apply: bool = True,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Receipt:
        """Say whether a decision was right: of a decision ("d_..."), or of that which a note ("n_...") came from.

        It is kept for fitting the gate (`labelled`), and done: a note that is rejected is forgotten, a statement that
        was kept out and is accepted becomes a note (its decision has the rule "user"), a forgotten note that is
        accepted comes back. `undo` of the receipt's operation takes all of it back. The last word on a decision counts.

        Args:
            accept: True: it belongs into the memory. False: it does not.
            reason: why, kept with it.
            apply: False only keeps what was said.

        Raises:
            NotFoundError: no such note or decision in this scope, or a note that came without a decision.
            ConflictError: the decision was undone.
        """
        scope = self._scope(user_id, agent_id)
        receipt = await feedback.feedback(
            self._engine,
            scope,
            identifier(id, "id"),
            accept=flag(accept, "accept"),
            reason=reason,
            apply=flag(apply, "apply"),
        )
        self._poke()
        return receipt

    async def review(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 20, judged: bool = False
    ) -> tuple[Decision, ...]:
        """The decisions nearest to the threshold, on either side: where a word of their user tells the gate most.

        Those that somebody gave `feedback` on are left out, unless `judged`.
        """
        scope = self._scope(user_id, agent_id)
        return await decisions.review(self._engine, scope, limit=limit, judged=flag(judged, "judged"))

    async def replay_decisions(
        self, policy: str | Path | Policy, *, user_id: str | None = None, agent_id: str | None = None
    ) -> PolicyReplay:
        """Take the stored decisions of a scope again under another policy, and show what would be otherwise.

        No model is asked and nothing is written: a decision is stored with all that it was computed from. What
        classification found stays as it was, and so does what its user decided.

        Args:
            policy: a preset (memstrata, strict, a-mac), the path of a TOML file, or a `Policy`.
        """
        return await decisions.replay_decisions(self._engine, self._scope(user_id, agent_id), policy)

    async def labelled(self, *, user_id: str | None = None, agent_id: str | None = None) -> tuple[dict[str, Any], ...]:
        """What people said of decisions, as labelled candidates that `memstrata admission fit` reads.

        One mapping each: id, group (the owner), text, speaker, role, at, turn, previous and next (the turns around),
        kind, signals, rule, outcome, label (1: accepted), reason, judged_at.
        """
        return await decisions.labelled(self._engine, self._scope(user_id, agent_id))
