"""Receipts: what an operation did, stored with it; the outcomes of candidates join it once they are decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from memstrata.errors import IdempotencyError
from memstrata.store.base import Db, Row
from memstrata.store.read import Key, key_of, operation_row
from memstrata.store.rows import candidate_of, decision_of, dump
from memstrata.types import CandidateOutcome, Decision, MessageOutcome, Receipt, Scope

TURN_VERBS = ("add", "remember")


def receipt_of(row: Row) -> Receipt:
    """The receipt as it was stored with its operation."""
    data: dict[str, Any] = orjson.loads(row["receipt"])
    messages = tuple(MessageOutcome(**{**item, "redacted": tuple(item["redacted"])}) for item in data.pop("messages"))
    candidates = tuple(CandidateOutcome(**item) for item in data.pop("candidates"))
    return Receipt(**{**data, "at": datetime.fromisoformat(data["at"]), "messages": messages, "candidates": candidates})


def outcome_of(decision: Decision) -> CandidateOutcome:
    return CandidateOutcome(
        decision.outcome,
        decision.candidate.content,
        decision.id,
        decision.note,
        decision.score,
        decision.reason,
    )


def full_receipt(db: Db, scope: Scope, operation: str) -> Receipt:
    """The receipt of an operation with the outcomes of its candidates so far, and how many turns still wait.

    A turn waits while it is hot or on a page that has not cooled. Raises NotFoundError for an unknown operation.
    """
    row = operation_row(db, scope, operation)
    receipt = receipt_of(row)
    key = key_of(scope)
    if row["verb"] not in TURN_VERBS:
        return replace(
            receipt, candidates=tuple(outcome_of(each) for each in decisions_of_operation(db, key, operation))
        )
    payload = orjson.loads(row["payload"])
    if payload["first"] is None:
        return receipt
    rows = db.all(
        "SELECT body FROM decisions WHERE tenant = ? AND owner = ? AND turn BETWEEN ? AND ? ORDER BY turn, op, n",
        (*key, payload["first"], payload["last"]),
    )
    waiting = db.one(
        "SELECT count(*) AS n FROM turns t LEFT JOIN pages p"
        " ON p.tenant = t.tenant AND p.owner = t.owner AND p.no = t.page"
        " WHERE t.tenant = ? AND t.owner = ? AND t.no BETWEEN ? AND ?"
        " AND (t.tier = 'hot' OR (t.tier = 'page' AND p.state <> 'distilled'))",
        (*key, payload["first"], payload["last"]),
    )
    decided = tuple(outcome_of(decision_of(row)) for row in rows)
    deferred = tuple(_deferred(db, key, payload["first"], payload["last"]))
    pending = (waiting["n"] if waiting else 0) + (len(deferred) if row["verb"] == "remember" else 0)
    return replace(receipt, candidates=(*decided, *deferred) or receipt.candidates, pending=pending)


def _deferred(db: Db, key: Key, first: int, last: int) -> Iterator[CandidateOutcome]:
    """Candidates of these turns that could not be decided so far, with the reason: they are tried again."""
    jobs = db.all(
        "SELECT kind, payload, state, error FROM jobs WHERE tenant = ? AND owner = ? AND attempts > 0"
        " AND kind IN ('distill', 'remember') ORDER BY no",
        key,
    )
    for job in jobs:
        payload = orjson.loads(job["payload"])
        if job["kind"] == "remember":
            rows = db.all(
                "SELECT text FROM turns WHERE tenant = ? AND owner = ? AND no BETWEEN ? AND ? AND no BETWEEN ? AND ?"
                " ORDER BY no",
                (*key, payload["turn"], payload.get("last", payload["turn"]), first, last),
            )
            contents = [row["text"] for row in rows]
        else:
            row = db.one("SELECT drafts FROM pages WHERE tenant = ? AND owner = ? AND no = ?", (*key, payload["page"]))
            drafts = orjson.loads(row["drafts"] or "[]") if row is not None else []
            mine = [candidate_of(each) for each in drafts if any(first <= no <= last for no in each["evidence"])]
            contents = [candidate.content for candidate in mine]
        for content in contents:
            yield undecided(content, job["error"] or "", is_queued=job["state"] == "queued")


def undecided(content: str, reason: str, *, is_queued: bool) -> CandidateOutcome:
    """A candidate that waits for another try ("deferred"), or whose tries are used up ("failed")."""
    if is_queued:
        return CandidateOutcome("deferred", content, "", None, None, f"{reason}; it is queued and will be retried")
    return CandidateOutcome("failed", content, "", None, None, f"{reason}; it waits for retry_failed")


def decisions_of_operation(db: Db, key: Key, operation: str) -> list[Decision]:
    rows = db.all("SELECT body FROM decisions WHERE tenant = ? AND owner = ? AND op = ? ORDER BY n", (*key, operation))
    return [decision_of(row) for row in rows]


def digest_of(payload: object) -> str:
    """What tells whether two calls with one idempotency key are the same call."""
    return hashlib.blake2b(dump(payload).encode(), digest_size=16).hexdigest()


def earlier_receipt(db: Db, scope: Scope, verb: str, idempotency_key: str | None, digest: str) -> Receipt | None:
    """The receipt of an earlier call with this key; IdempotencyError when that call said something else."""
    if idempotency_key is None:
        return None
    row = db.one(
        "SELECT id, digest FROM operations"
        " WHERE tenant = ? AND owner = ? AND agent = ? AND verb = ? AND idempotency_key = ?",
        (*key_of(scope), scope.agent or "", verb, idempotency_key),
    )
    if row is None:
        return None
    if row["digest"] != digest:
        raise IdempotencyError(
            f"idempotency key {idempotency_key!r} was used for another {verb} ({row['id']}); nothing was written"
        )
    return replace(full_receipt(db, scope, row["id"]), repeated=True)
