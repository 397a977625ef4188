"""Whose memory a call is about: ids checked once, at the door."""

from __future__ import annotations

from memstrata.errors import ScopeError
from memstrata.intake.characters import fault_in_id
from memstrata.types import Scope


def scope_of(tenant: object, user_id: object = None, agent_id: object = None, session_id: object = None) -> Scope:
    """The scope that a call names.

    Ids are strings of 1 to 256 characters without control characters. Any other character is allowed and none has a
    meaning: `%`, `_`, `.`, `:`, `/` and `..` are compared for equality like letters. Nothing is trimmed, casefolded or
    normalised, so "Ana" and "ana" are two users.

    Raises:
        ScopeError: neither a user nor an agent is named, or an id cannot be taken; the message says which and why.
    """
    named = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id}
    ids = {"tenant": _id("tenant", tenant)} | {
        what: _id(what, value) for what, value in named.items() if value is not None
    }
    if "user_id" not in ids and "agent_id" not in ids:
        raise ScopeError()
    return Scope(ids["tenant"], ids.get("user_id"), ids.get("agent_id"), ids.get("session_id"))


def _id(what: str, value: object) -> str:
    fault = fault_in_id(value)
    if fault is not None or not isinstance(value, str):
        raise ScopeError(f"{what} {fault}")
    return value


def scope_of_owner(tenant: str, owner: str, agent: str = "", session: str | None = None) -> Scope:
    """The scope that an owner column and an agent column stand for."""
    kind, _, name = owner.partition(":")
    return Scope(tenant, name, agent or None, session) if kind == "u" else Scope(tenant, None, name, session)
