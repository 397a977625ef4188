"""Who calls: a credential becomes a tenant and rights, before anything of the request is read."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.datastructures import Headers

from memstrata.server.keys import RIGHTS, AccessFile
from memstrata.server.problems import HttpError
from memstrata.server.verbs import Right, Verb

MOST_BUCKETS = 10_000  # callers whose rate is known; the longest unseen are forgotten


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls. The tenant comes from nowhere else; `user` and `agent`, where set, are the only ones to be named."""

    tenant: str
    rights: frozenset[Right]
    credential: str
    user: str | None = None
    agent: str | None = None

    def need(self, right: Right) -> None:
        """Raise a 403 when the credential lacks a right."""
        if right not in self.rights:
            raise HttpError(403, "ForbiddenError", f"this credential has no right to {right}")

    def place(self, verb: Verb, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the user and agent that the credential stands for; a 403 when they name another.

        What is about the whole tenant needs the right "admin" and a credential that stands for the whole tenant.
        """
        self.need(verb.right)
        placed = dict(arguments)
        parameters = verb.signature.parameters
        for name, own in (("user_id", self.user), ("agent_id", self.agent)):
            if own is None:
                continue
            if placed.get(name, own) not in (own, None):
                raise HttpError(403, "ForbiddenError", f"this credential stands for one {name[:-3]}, not for that one")
            if name in parameters:
                placed[name] = own
        if placed.get("user_id") is None and placed.get("agent_id") is None and self._is_of_tenant(verb):
            if self.user is not None or self.agent is not None:
                raise HttpError(403, "ForbiddenError", "this credential stands for one user or agent, not for all")
            self.need("admin")
        if verb.name == "forget" and placed.get("hard"):
            self.need("erase")
        return placed

    @staticmethod
    def _is_of_tenant(verb: Verb) -> bool:
        """Whether the verb, called without a user and an agent, is about the whole tenant."""
        return verb.name in ("stats", "cost", "jobs", "export", "import_") or not (
            {"user_id", "agent_id"} & verb.signature.parameters.keys()
        )


class Authenticator(Protocol):
    """Turns a bearer credential into a principal; None when it is not one of its own."""

    async def check(self, credential: str) -> Principal | None: ...


@dataclass(frozen=True, slots=True)
class KeyAuthenticator:
    """API keys."""

    keys: AccessFile

    async def check(self, credential: str) -> Principal | None:
        key = self.keys.check(credential)
        if key is None:
            return None
        return Principal(key.tenant, frozenset(key.rights), f"key:{key.id}", key.user, key.agent)


@dataclass(frozen=True, slots=True)
class NoAuthentication:
    """Everybody is one tenant, with all rights: for a machine of one's own."""

    tenant: str

    async def check(self, credential: str) -> Principal | None:
        del credential
        return Principal(self.tenant, frozenset(RIGHTS), "none")


@dataclass(slots=True)
class Rates:
    """Requests a minute of each caller, as a bucket that fills evenly and holds a tenth of a minute's worth, or 20."""

    buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, caller: str, a_minute: int) -> float:
        """Count a request; 0, or the seconds after which the next one is taken."""
        now, most = time.monotonic(), max(20.0, a_minute / 10)
        left, at = self.buckets.pop(caller, (most, now))
        left = min(most, left + (now - at) * a_minute / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / a_minute
        self.buckets[caller] = (left - 1 if not wait else left, now)
        if len(self.buckets) > MOST_BUCKETS:
            self.buckets.popitem(last=False)
        return wait


def bearer(headers: Headers) -> str:
    """The credential of a request: `Authorization: Bearer ...` or `X-API-Key: ...`; "" where there is none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
