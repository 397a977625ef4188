"""Looking at stored decisions: which are nearest to the threshold, what another policy would say, what people said.

Nothing here asks a model: a decision is stored with all that it was computed from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import orjson

from memstrata.distil.stages import AROUND
from memstrata.engine import Engine
from memstrata.errors import InputError
from memstrata.gate.budget import Spent
from memstrata.gate.decide import Verdict, redecide
from memstrata.gate.policy import Policy, load_policy
from memstrata.gate.rules import BY_USER
from memstrata.ledger.cursors import cursor_at, limit_of, place_of
from memstrata.store.base import Db
from memstrata.store.read import key_of, select_in, turns_by_no, turns_of_page
from memstrata.store.rows import decision_of, from_us
from memstrata.types import Decision, Outcome, Scope, Turn
from memstrata.views import DecisionPage

BATCH = 500  # decisions read at once
KEPT = ("admitted", "admitted_superseding", "superseded_on_arrival")
# Decisions in force that the scope may see. By operation they are about in the order they were taken.
_SEEN = (
    "SELECT d.op, d.n, d.body FROM decisions d JOIN operations o"
    " ON o.tenant = d.tenant AND o.owner = d.owner AND o.id = d.op"
    " WHERE d.tenant = ? AND d.owner = ? AND o.undone_by IS NULL"
)


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A stored decision that another policy would take otherwise: both outcomes, and both margins to the threshold."""

    decision: Decision
    admitted: bool
    score: float | None
    theta: float
    rule: str | None
    reason: str

    @property
    def margin(self) -> float | None:
        """How far the score is above the threshold under the other policy."""
        return None if self.score is None else self.score - self.theta


@dataclass(frozen=True, slots=True)
class PolicyReplay:
    """What another policy would make of stored decisions.

    `counts`: "decisions" that were looked at, "kept" and "kept_now" (with this policy and as stored), "newly_kept",
    "newly_refused", "unchanged", "duplicates" (which no policy changes), "by_user" (which no policy overrules).
    `changes` are sorted by how clear they are: the widest margin under the other policy first.
    """

    policy: str
    counts: Mapping[str, int]
    changes: tuple[DecisionChange, ...]


def decisions_of(db: Db, scope: Scope) -> Iterator[Decision]:
    """Every decision in force of a scope, in the order of their operations."""
    wall, last = _wall(scope), ("", -1)
    while True:
        rows = db.all(
            f"{_SEEN}{wall} AND (d.op > ? OR (d.op = ? AND d.n > ?)) ORDER BY d.op, d.n LIMIT ?",
            (*key_of(scope), *_agents(scope), last[0], last[0], last[1], BATCH),
        )
        yield from (decision_of(row) for row in rows)
        if len(rows) < BATCH:
            return
        last = (rows[-1]["op"], rows[-1]["n"])


def _wall(scope: Scope) -> str:
    return "" if scope.agent is None else " AND o.agent IN ('', ?)"


def _agents(scope: Scope) -> tuple[str, ...]:
    return () if scope.agent is None else (scope.agent,)


# list -----------------------------------------------------------------------------------------------------------------


async def list_decisions(
    engine: Engine, scope: Scope, *, outcome: Outcome | None = None, limit: int = 50, cursor: str | None = None
) -> DecisionPage:
    """Decisions in force, the newest first. See `AsyncMemory.decisions`."""
    limit_of(limit)
    if outcome is not None and outcome not in get_args(Outcome):
        raise InputError(f"no such outcome: {outcome!r:.60} (one of {', '.join(get_args(Outcome))})")
    place = place_of(cursor, str, int)
    before = "" if place is None else " AND (d.op < ? OR (d.op = ? AND d.n < ?))"
    only = "" if outcome is None else " AND d.outcome = ?"
    params = (
        *_agents(scope),
        *(() if outcome is None else (outcome,)),
        *(() if place is None else (place[0], place[0], place[1])),
    )

    def read(db: Db) -> DecisionPage:
        key = key_of(scope)
        rows = db.all(
            f"{_SEEN}{_wall(scope)}{only}{before} ORDER BY d.op DESC, d.n DESC LIMIT ?", (*key, *params, limit + 1)
        )
        found = tuple(decision_of(row) for row in rows[:limit])
        sql = "SELECT decision, accept FROM feedback WHERE tenant = ? AND owner = ? AND decision IN ({marks})"
        judged = {row["decision"]: bool(row["accept"]) for row in select_in(db, sql, key, [each.id for each in found])}
        last = rows[limit - 1] if len(rows) > limit else None
        return DecisionPage(found, judged, None if last is None else cursor_at(last["op"], last["n"]))

    return await engine.store.read(read)


# replay ---------------------------------------------------------------------------------------------------------------


async def replay_decisions(engine: Engine, scope: Scope, policy: str | Path | Policy) -> PolicyReplay:
    """Take the stored decisions of a scope again under another policy. See `AsyncMemory.replay_decisions`."""
    other = policy if isinstance(policy, Policy) else load_policy(_checked(policy))
    found = await engine.store.read(lambda db: list(decisions_of(db, scope)))
    return replay(found, other.for_scope(scope))


def _checked(policy: object) -> str | Path:
    if not isinstance(policy, str | Path):
        raise InputError(f"policy must be a name, a path or a Policy, not {type(policy).__name__}")
    return policy


def replay(decisions: list[Decision], policy: Policy) -> PolicyReplay:
    """Stored decisions under another policy, in their order. Pure; a budget is spent on what this policy keeps."""
    spent = Spent()
    counts: Counter[str] = Counter(
        dict.fromkeys(
            ("decisions", "kept", "kept_now", "newly_kept", "newly_refused", "unchanged", "duplicates", "by_user"), 0
        )
    )
    changes: list[DecisionChange] = []
    for decision in decisions:
        counts["decisions"] += 1
        if decision.outcome == "duplicate":
            counts["duplicates"] += 1
            continue
        was = _was_kept(decision)
        said_at = decision.candidate.said_at
        verdict = redecide(decision, policy, spent=spent.at(said_at) if policy.budget is not None else None)
        if verdict.admitted and decision.computed_from["relation"] == "new":
            spent.add(said_at)
        counts["kept_now"] += was
        counts["kept"] += verdict.admitted
        counts["by_user"] += decision.rule == BY_USER
        if verdict.admitted == was:
            counts["unchanged"] += 1
            continue
        counts["newly_kept" if verdict.admitted else "newly_refused"] += 1
        changes.append(_change(decision, verdict))
    changes.sort(key=lambda change: (-abs(change.margin or 0.0), change.decision.id))
    return PolicyReplay(policy.label, dict(counts), tuple(changes))


def _was_kept(decision: Decision) -> bool:
    """Whether the gate let it in: what it let in and a pinned note then stood against was deferred, not refused."""
    return decision.outcome in KEPT or decision.outcome == "deferred"


def _change(decision: Decision, verdict: Verdict) -> DecisionChange:
    return DecisionChange(decision, verdict.admitted, verdict.score, verdict.theta, verdict.rule, verdict.reason)


# review ---------------------------------------------------------------------------------------------------------------


async def review(engine: Engine, scope: Scope, *, limit: int = 20, judged: bool = False) -> tuple[Decision, ...]:
    """The decisions nearest to the threshold. See `AsyncMemory.review`."""
    limit_of(limit)
    unjudged = (
        ""
        if judged
        else " AND NOT EXISTS (SELECT 1 FROM feedback f"
        " WHERE f.tenant = d.tenant AND f.owner = d.owner AND f.decision = d.id)"
    )

    def read(db: Db) -> tuple[Decision, ...]:
        found: list[Decision] = []
        start = 0
        while len(found) < limit:
            rows = db.all(
                f"{_SEEN}{_wall(scope)} AND d.score IS NOT NULL{unjudged}"
                " ORDER BY abs(d.score - d.theta), d.op, d.n LIMIT ? OFFSET ?",
                (*key_of(scope), *_agents(scope), BATCH, start),
            )
            found += [each for each in map(decision_of, rows) if each.rule is None]  # a rule does not look at the score
            if len(rows) < BATCH:
                break
            start += BATCH
        return tuple(found[:limit])

    return await engine.store.read(read)


# labels ---------------------------------------------------------------------------------------------------------------


async def labelled(engine: Engine, scope: Scope) -> tuple[dict[str, Any], ...]:
    """What people said of decisions, as labelled candidates to fit the gate on. See `AsyncMemory.labelled`."""
    return await engine.store.read(lambda db: tuple(_labelled(db, scope)))


def _labelled(db: Db, scope: Scope) -> Iterator[dict[str, Any]]:
    key = key_of(scope)
    rows = db.all(
        "SELECT f.accept, f.reason, f.at, d.body FROM feedback f"
        " JOIN decisions d ON d.tenant = f.tenant AND d.owner = f.owner AND d.id = f.decision"
        " JOIN operations o ON o.tenant = d.tenant AND o.owner = d.owner AND o.id = d.op"
        f" WHERE f.tenant = ? AND f.owner = ? AND o.undone_by IS NULL{_wall(scope)} ORDER BY d.op, d.n",
        (*key, *_agents(scope)),
    )
    for row in rows:
        decision = decision_of(row)
        cited = turns_by_no(db, key, decision.candidate.evidence)
        turn = next((cited[no] for no in decision.candidate.evidence if no in cited), None)
        yield {
            **_line(scope, decision, turn, _around(db, key, turn)),
            "label": row["accept"],
            "reason": row["reason"],
            "judged_at": from_us(row["at"]).isoformat(),
        }


def _around(db: Db, key: tuple[str, str], turn: Turn | None) -> list[Turn]:
    if turn is None:
        return []
    place = turn.position
    return turns_of_page(db, key, turn.agent or "", turn.session, place - AROUND, place + AROUND)


def _line(scope: Scope, decision: Decision, turn: Turn | None, around: list[Turn]) -> dict[str, Any]:
    candidate, signals = decision.candidate, decision.signals
    place = turn.position if turn is not None else 0
    return {
        "id": decision.id,
        "group": scope.owner,
        "text": candidate.text,
        "speaker": candidate.speaker,
        "role": turn.role if turn is not None else "user",
        "at": candidate.said_at.isoformat(),
        "turn": turn.indexed_text if turn is not None else candidate.text,
        "previous": [_said(each) for each in around if each.position < place],
        "next": [_said(each) for each in around if each.position > place],
        "kind": candidate.kind,
        "signals": None if signals is None else orjson.loads(orjson.dumps(signals)),
        "rule": decision.rule,
        "outcome": decision.outcome,
    }


def _said(turn: Turn) -> dict[str, Any]:
    return {"speaker": turn.speaker, "role": turn.role, "text": turn.indexed_text, "at": turn.at.isoformat()}
