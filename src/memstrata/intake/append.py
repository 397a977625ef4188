"""Append: turns become durable, the hot window overflows into pages, idle sessions end. One transaction, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memstrata.errors import ConflictError
from memstrata.journal.recorder import Recorder
from memstrata.settings import Settings
from memstrata.store.rows import to_us, turn_row
from memstrata.tiers.pages import end_session, hot_rows, idle_sessions, make_page
from memstrata.types import Message, MessageOutcome, Role, Tier, Trust, Turn

TRUST: dict[Role, Trust] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


@dataclass(slots=True)
class SessionState:
    """What `append` needs to know of a session, and writes back."""

    next_position: int
    hot: int
    started_at: int
    last_at: int
    is_new: bool


def append(
    rec: Recorder,
    messages: Sequence[Message],
    *,
    at: datetime,
    settings: Settings,
    trust: Trust | None = None,
    tier: Tier = "hot",
) -> tuple[list[MessageOutcome], list[Turn]]:
    """Store messages as turns of the recorder's session.

    `at` is said of messages that carry no time of their own. A message whose `id` is already in the session is
    skipped; ConflictError when its text differs. `tier="transcript"` keeps the turns out of the hot window (the
    evidence of `remember`). Indexing them is for the caller to queue.
    """
    agent, session = rec.agent, rec.scope.session or ""
    state = _session(rec, agent, session, to_us(min(message.at or at for message in messages)))
    outcomes: list[MessageOutcome] = []
    turns: list[Turn] = []
    _save_scope(rec, agent, max(to_us(message.at or at) for message in messages))
    for index, message in enumerate(messages):
        known = _known(rec, agent, session, message, index)
        if known is not None:
            outcomes.append(known)
            continue
        said_at = message.at or at
        if tier == "hot":
            _end_idle(rec, agent, session, state, said_at, settings)
        turn = _turn(rec, message, said_at, state.next_position, trust, tier)
        rec.insert("turns", turn_row(turn, message.id))
        turns.append(turn)
        outcomes.append(
            MessageOutcome(
                index,
                "redacted" if message.redacted else "stored",
                turn.id,
                turn.position,
                message.redacted,
            )
        )
        state.next_position += 1
        if tier == "hot":
            state.last_at = max(state.last_at, to_us(said_at)) if not state.is_new else to_us(said_at)
            state.is_new = False
            state.hot += 1
            if state.hot > settings.hot_capacity:
                oldest = hot_rows(rec, agent, session, state.hot)[: settings.page_size]
                make_page(rec, agent, session, oldest, settings)
                state.hot -= len(oldest)
    if turns:
        _save_session(rec, agent, session, state)
    return outcomes, turns


def _turn(rec: Recorder, message: Message, at: datetime, position: int, trust: Trust | None, tier: Tier) -> Turn:
    no = rec.counter.next_turn
    rec.counter.next_turn += 1
    speaker = message.name or ("assistant" if message.role == "assistant" else None)
    return Turn(
        no=no,
        id=message.id or f"t{no}",
        agent=rec.scope.agent,
        session=rec.scope.session or "",
        position=position,
        role=message.role,
        speaker=speaker,
        text=message.text,
        at=at,
        recorded_at=rec.now,
        trust=trust or TRUST[message.role],
        tier=tier,
        parts=message.parts,
        metadata=message.metadata,
        is_source=message.is_source,
        operation=rec.operation,
    )


def _known(rec: Recorder, agent: str, session: str, message: Message, index: int) -> MessageOutcome | None:
    """The outcome for a message whose id is already in the session."""
    if message.id is None:
        return None
    row = rec.db.one(
        "SELECT no, text, position FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND id = ?",
        (*rec.key, agent, session, message.id),
    )
    if row is None:
        return None
    if row["text"] != message.text:
        raise ConflictError(
            f"messages[{index}]: id {message.id!r} is already in session {session!r} with another text; "
            "give the new message an id of its own"
        )
    return MessageOutcome(index, "skipped", message.id, row["position"], reason="already in this session")


def _session(rec: Recorder, agent: str, session: str, at: int) -> SessionState:
    row = rec.db.one(
        "SELECT next_position, hot, started_at, last_at FROM sessions"
        " WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?",
        (*rec.key, agent, session),
    )
    if row is None:
        return SessionState(1, 0, at, at, True)
    return SessionState(row["next_position"], row["hot"], row["started_at"], row["last_at"], False)


def _end_idle(
    rec: Recorder, agent: str, session: str, state: SessionState, said_at: datetime, settings: Settings
) -> None:
    """End the scope's sessions that this turn's time leaves idle; this session too, when it resumes after a pause.

    A session that is written to now is never ended for being older than others: old conversations may be imported
    message by message.
    """
    before = said_at - timedelta(hours=settings.session_idle_hours)
    for idle in idle_sessions(rec, agent, before, besides=session):
        end_session(rec, agent, idle, settings)
    if state.hot and state.last_at < to_us(before):
        _save_session(rec, agent, session, state)
        end_session(rec, agent, session, settings)
        state.hot = 0


def _save_session(rec: Recorder, agent: str, session: str, state: SessionState) -> None:
    rec.db.run(
        "INSERT INTO sessions (tenant, owner, agent, session, next_position, hot, state, started_at, last_at,"
        " last_recorded) VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?, ?)"
        " ON CONFLICT (tenant, owner, agent, session) DO UPDATE SET next_position = excluded.next_position,"
        " hot = excluded.hot, state = 'open', last_at = excluded.last_at, last_recorded = excluded.last_recorded",
        (
            *rec.key,
            agent,
            session,
            state.next_position,
            state.hot,
            state.started_at,
            state.last_at,
            to_us(rec.now),
        ),
    )


def _save_scope(rec: Recorder, agent: str, newest_at: int) -> None:
    rec.db.run(
        "INSERT INTO scopes (tenant, owner, agent, newest_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, owner, agent) DO UPDATE SET newest_at = max(scopes.newest_at, excluded.newest_at)",
        (*rec.key, agent, newest_at),
    )
