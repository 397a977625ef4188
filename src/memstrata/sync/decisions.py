"""face/decisions.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memstrata.gate.policy import Policy
from memstrata.ledger.decisions import PolicyReplay
from memstrata.sync.thread import MemoryThread
from memstrata.types import Decision, Receipt


class SyncDecisions(MemoryThread):
    """The verbs on the gate's decisions: what people say of them, the close ones, another policy."""

    def feedback(
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
        return self._run(
            self._async.feedback(id, accept, reason=reason, apply=apply, user_id=user_id, agent_id=agent_id)
        )

    def review(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 20, judged: bool = False
    ) -> tuple[Decision, ...]:
        """The decisions nearest to the threshold, on either side: where a word of their user tells the gate most.

        Those that somebody gave `feedback` on are left out, unless `judged`.
        """
        return self._run(self._async.review(user_id=user_id, agent_id=agent_id, limit=limit, judged=judged))

    def replay_decisions(
        self, policy: str | Path | Policy, *, user_id: str | None = None, agent_id: str | None = None
    ) -> PolicyReplay:
        """Take the stored decisions of a scope again under another policy, and show what would be otherwise.

        No model is asked and nothing is written: a decision is stored with all that it was computed from. What
        classification found stays as it was, and so does what its user decided.

        Args:
            policy: a preset (memstrata, strict, a-mac), the path of a TOML file, or a `Policy`.
        """
        return self._run(self._async.replay_decisions(policy, user_id=user_id, agent_id=agent_id))

    def labelled(self, *, user_id: str | None = None, agent_id: str | None = None) -> tuple[dict[str, Any], ...]:
        """What people said of decisions, as labelled candidates that `memstrata admission fit` reads.

        One mapping each: id, group (the owner), text, speaker, role, at, turn, previous and next (the turns around),
        kind, signals, rule, outcome, label (1: accepted), reason, judged_at.
        """
        return self._run(self._async.labelled(user_id=user_id, agent_id=agent_id))
