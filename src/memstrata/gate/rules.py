"""Hard rules: they come before the score, decide alone, and are stored by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memstrata.errors import InputError
from memstrata.gate.policy import Policy
from memstrata.types import Candidate

RULES: Mapping[str, str] = MappingProxyType(
    {
        "echo": "it repeats a memory that was served into this session",
        "secret_only": "nothing but a redacted secret is left of it",
        "instruction": "it tells the assistant what to do and says nothing to remember",
        "system": "system text is never a source",
        "tool": "a tool's text is not a source here",
        "tool_call": "tool calls are never a source",
        "quarantined": "text of this trust class waits in quarantine",
        "heartbeat": "it is a heartbeat of a program",
        "boilerplate": "it is a line that a program repeats or logs",
        "over_limit": "its turn holds more statements than are taken from one turn",
        "unconfirmed": "the assistant says it and the user did not confirm it",
        "question": "it only asks and states nothing",
        "empty": "it has no words",
        "unsupported": "too little of it is said in the turns it cites",
        "over_budget": "the budget of notes is spent",
    }
)
"""Each rule with what it means, to be read after "not kept: "."""

BY_USER = "user"  # the rule of a decision that was turned round by the person whose memory it is


def rule_for(candidate: Candidate, confidence: float, policy: Policy) -> str | None:
    """The first rule that refuses the candidate, or None.

    A rule that extraction saw (`candidate.rule`) comes first: it knows the turns around. InputError when it is not one
    of `RULES`, so that no refusal goes unexplained.
    """
    if candidate.rule is not None:
        if candidate.rule not in RULES:
            raise InputError(f"unknown rule {candidate.rule!r} (one of {', '.join(RULES)})")
        return candidate.rule
    if candidate.trust == "system":
        return "system"
    if candidate.trust in policy.quarantine:
        return "quarantined"
    if not any(character.isalnum() for character in candidate.text):
        return "empty"
    if confidence < policy.unsupported:
        return "unsupported"
    return None
