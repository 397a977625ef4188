"""Hot to warm: turns leave the hot tier as pages, and each page made moves the tick that cools the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memstrata.journal.recorder import Recorder
from memstrata.settings import Settings
from memstrata.store.base import Row
from memstrata.store.rows import to_us
from memstrata.tiers.heat import cools_at, heat_after_recall


def hot_rows(rec: Recorder, agent: str, session: str, count: int) -> list[Row]:
    """The last `count` hot turns of a session, oldest first."""
    rows = rec.db.all(
        "SELECT no, position, at FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?"
        " AND tier = 'hot' ORDER BY position DESC LIMIT ?",
        (*rec.key, agent, session, count),
    )
    return rows[::-1]


def advance_tick(rec: Recorder, agent: str, settings: Settings, *, by: int = 1) -> int:
    """Move the scope's tick counter and queue the pages that have cooled; returns the new tick."""
    rec.db.run(
        "INSERT INTO scopes (tenant, owner, agent, tick) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, owner, agent) DO UPDATE SET tick = scopes.tick + ?",
        (*rec.key, agent, by, by),
    )
    row = rec.db.one("SELECT tick FROM scopes WHERE tenant = ? AND owner = ? AND agent = ?", (*rec.key, agent))
    assert row is not None
    tick = int(row["tick"])
    if settings.cold:
        queue_pages(rec, agent, tick)
    return tick


def queue_pages(rec: Recorder, agent: str, tick: int | None = None) -> int:
    """Queue the distillation of the scope's pages that have cooled at this tick, of all warm ones when none is given.

    Once due, a page is due for good; one that an undo made warm again is queued only by `tick=None`. Returns how many.
    """
    cooled = "" if tick is None else " AND due_at IS NULL AND cools_at <= ?"
    due = rec.db.all(
        f"SELECT no FROM pages WHERE tenant = ? AND owner = ? AND agent = ? AND state = 'warm'{cooled}"
        " ORDER BY cools_at, no",
        (*rec.key, agent, *(() if tick is None else (tick,))),
    )
    if not due:
        return 0
    newest = rec.db.one("SELECT newest_at FROM scopes WHERE tenant = ? AND owner = ? AND agent = ?", (*rec.key, agent))
    for page in due:
        rec.update("pages", (page["no"],), {"due_at": to_us(rec.now)})
        rec.enqueue("distill", {"page": page["no"], "newest_at": newest["newest_at"] if newest else 0}, agent=agent)
    return len(due)


def make_page(rec: Recorder, agent: str, session: str, turns: Sequence[Row], settings: Settings) -> int:
    """Move these hot turns to a new page; its summary, embedding and drafts are queued work."""
    no = rec.counter.next_page
    rec.counter.next_page += 1
    tick = advance_tick(rec, agent, settings)
    rec.insert(
        "pages",
        {
            "no": no,
            "agent": agent,
            "session": session,
            "first": turns[0]["position"],
            "last": turns[-1]["position"],
            "summary": "",
            "drafts": "",
            "state": "warm",
            "h": 1.0,
            "h_tick": tick,
            "cools_at": cools_at(1.0, tick, alpha=settings.alpha, beta=settings.beta) if settings.warm else tick,
            "recalls": 0,
            "due_at": None,
            "started_at": min(turn["at"] for turn in turns),
            "ended_at": max(turn["at"] for turn in turns),
            "op": rec.operation,
        },
    )
    rec.update_alike(
        "turns", [turn["no"] for turn in turns], {"tier": "hot", "page": None}, {"tier": "page", "page": no}
    )
    rec.enqueue("page", {"page": no}, agent=agent)
    if settings.cold and not settings.warm:
        queue_pages(rec, agent, tick)
    return no


def end_session(rec: Recorder, agent: str, session: str, settings: Settings) -> list[int]:
    """The hot turns of a session become pages of five, the last one shorter; returns the pages' numbers."""
    row = rec.db.one(
        "SELECT hot FROM sessions WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?",
        (*rec.key, agent, session),
    )
    if row is None:
        return []
    turns = hot_rows(rec, agent, session, row["hot"]) if row["hot"] else []
    size = settings.page_size
    pages = [
        make_page(rec, agent, session, turns[start : start + size], settings) for start in range(0, len(turns), size)
    ]
    rec.db.run(
        "UPDATE sessions SET hot = 0, state = 'ended' WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?",
        (*rec.key, agent, session),
    )
    return pages


def touch_pages(rec: Recorder, agent: str, pages: Sequence[int], settings: Settings) -> None:
    """A recall at a new tick returned something of these pages: their heat rises, everything else cools by one."""
    tick = advance_tick(rec, agent, settings)
    for no in pages:
        row = rec.select("pages", (no,))
        if row is None or row["state"] != "warm":
            continue
        h = heat_after_recall(row["h"], tick - row["h_tick"], alpha=settings.alpha)
        rec.db.run(
            "UPDATE pages SET h = ?, h_tick = ?, cools_at = ?, recalls = recalls + 1"
            " WHERE tenant = ? AND owner = ? AND no = ?",
            (h, tick, cools_at(h, tick, alpha=settings.alpha, beta=settings.beta), *rec.key, no),
        )
        rec.mark("pages", no)


def idle_sessions(rec: Recorder, agent: str, before: datetime, *, besides: str) -> list[str]:
    """Open sessions of the scope whose last turn was said before `before`."""
    rows = rec.db.all(
        "SELECT session FROM sessions WHERE tenant = ? AND owner = ? AND state = 'open' AND hot > 0 AND last_at < ?"
        " AND agent = ? AND session <> ? ORDER BY last_at, session",
        (*rec.key, to_us(before), agent, besides),
    )
    return [row["session"] for row in rows]
