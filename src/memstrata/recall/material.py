"""What a context may show besides recalled memories: last turns, page summaries, the whole transcript.

What its user forgot or took back is nowhere in it: turns whose `hidden` says so are left out, and the summary of a page
with such a turn is made again from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memstrata.extract.summary import summarise
from memstrata.settings import Settings
from memstrata.store.base import Db, Row
from memstrata.store.read import key_of
from memstrata.store.rows import evidence_of, page_of, turn_of
from memstrata.tiers.heat import heat_at
from memstrata.types import Evidence, Hit, Page, Scope, Turn

Place = tuple[str | None, str, int]  # agent, session, position: where a turn stands, whatever its id
SHOWN = "hidden IN (0, 2)"  # neither undone nor evidence of a forgotten note, see turns.hidden; superseded is shown


@dataclass(frozen=True, slots=True)
class PageText:
    """A page with its summary as a hit that can be cited; its score is the heat."""

    page: Page
    hit: Hit


@dataclass(frozen=True, slots=True)
class Material:
    """`turns` are the conversation (oldest first), `earlier` the turns of other sessions, `pages` by falling rank."""

    turns: Sequence[Turn] = ()
    pages: Sequence[PageText] = ()
    earlier: Sequence[Turn] = ()


def place_of(turn: Turn | Evidence) -> Place:
    return (turn.agent, turn.session, turn.position)


def visible_agents(db: Db, scope: Scope) -> list[str]:
    """The agents whose rows the scope may see: its own and none, or all of the user's."""
    if scope.agent is not None:
        return ["", scope.agent]
    rows = db.all("SELECT agent FROM scopes WHERE tenant = ? AND owner = ? ORDER BY agent", key_of(scope))
    return [row["agent"] for row in rows]


def session_turns(db: Db, scope: Scope, count: int) -> list[Turn]:
    """The last `count` turns of the named session, oldest first, of each agent that speaks in it.

    Statements given to `remember` are no part of the conversation.
    """
    rows: list[Row] = []
    for agent in visible_agents(db, scope):
        rows += db.all(
            f"SELECT * FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND {SHOWN}"
            " AND tier <> 'transcript' ORDER BY position DESC LIMIT ?",
            (*key_of(scope), agent, scope.session or "", count),
        )
    return [turn_of(row) for row in sorted(rows, key=lambda row: row["no"])]


def turns_in_session(db: Db, scope: Scope) -> int:
    rows = [
        db.one(
            "SELECT next_position - 1 AS n FROM sessions WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?",
            (*key_of(scope), agent, scope.session or ""),
        )
        for agent in visible_agents(db, scope)
    ]
    return sum(row["n"] for row in rows if row is not None)


def session_pages(db: Db, scope: Scope, settings: Settings, *, limit: int) -> list[PageText]:
    """The newest `limit` pages of the named session, distilled ones too, newest first."""
    rows: list[Row] = []
    for agent in visible_agents(db, scope):
        # A session's pages are found by its turns: there is no index of pages by session.
        rows += db.all(
            "SELECT * FROM pages WHERE tenant = ? AND owner = ? AND no IN (SELECT page FROM turns WHERE tenant = ?"
            " AND owner = ? AND agent = ? AND session = ? AND page IS NOT NULL) ORDER BY no DESC LIMIT ?",
            (*key_of(scope), *key_of(scope), agent, scope.session or "", limit),
        )
    rows.sort(key=lambda row: row["no"], reverse=True)
    return page_texts(db, scope, rows[:limit], settings)


def promoted_pages(db: Db, scope: Scope, settings: Settings) -> list[PageText]:
    """The hottest promoted pages: recalled `promote_recalls` times and with a heat of `promote_heat` now."""
    rows: list[Row] = []
    for agent in visible_agents(db, scope):
        rows += db.all(
            "SELECT * FROM pages WHERE tenant = ? AND owner = ? AND agent = ? AND state = 'warm' AND due_at IS NULL"
            " AND recalls >= ?",
            (*key_of(scope), agent, settings.promote_recalls),
        )
    pages = [page for page in page_texts(db, scope, rows, settings) if page.page.promoted]
    pages.sort(key=lambda page: (-page.page.heat, -page.page.no))
    return pages[: settings.promoted_pages]


def page_texts(db: Db, scope: Scope, rows: Iterable[Row], settings: Settings) -> list[PageText]:
    """Pages with their heat as of now, in the order of their rows; one without a turn that may be shown is left out."""
    ticks = {
        row["agent"]: row["tick"]
        for row in db.all("SELECT agent, tick FROM scopes WHERE tenant = ? AND owner = ?", key_of(scope))
    }
    texts = []
    for row in rows:
        heat = heat_at(row["h"], max(0, ticks[row["agent"]] - row["h_tick"]), settings.alpha)
        warm = row["state"] == "warm"
        promoted = warm and row["recalls"] >= settings.promote_recalls and heat >= settings.promote_heat
        page = page_of(row, heat=heat if warm else 0.0, promoted=promoted)
        turns, whole = _turns_of(db, scope, row)
        # Before its page job has run, or when some of its turns are forgotten, a page is summarised here.
        summary = page.summary if whole and page.summary else summarise(turns)
        if summary:
            texts.append(PageText(page, _page_hit(page, summary, turns)))
    return texts


def _turns_of(db: Db, scope: Scope, page: Row) -> tuple[list[Turn], bool]:
    """The turns of a page that may be shown, and whether these are all."""
    rows = db.all(
        "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND position BETWEEN ? AND ?"
        " AND page = ? ORDER BY position",
        (*key_of(scope), page["agent"], page["session"], page["first"], page["last"], page["no"]),
    )
    shown = [turn_of(row) for row in rows if row["hidden"] in (0, 2)]
    return shown, len(shown) == len(rows)


def _page_hit(page: Page, summary: str, turns: Sequence[Turn]) -> Hit:
    reason = f"promoted: recalled {page.recalls} times, heat {page.heat:.2f}" if page.promoted else "summary of a page"
    return Hit(
        id=page.id,
        kind="page",
        text=summary,
        score=min(1.0, page.heat),
        legs=(),
        path=(),
        evidence=tuple(evidence_of(turn) for turn in turns),
        at=page.started_at,
        reason=reason,
    )


def transcript(db: Db, scope: Scope, *, limit: int) -> Material:
    """The newest `limit` turns that the scope may see, in the order they were said; the named session's apart."""
    wall = "" if scope.agent is None else " AND agent IN ('', ?)"
    rows = db.all(
        f"SELECT * FROM turns WHERE tenant = ? AND owner = ? AND {SHOWN}{wall} ORDER BY at DESC, no DESC LIMIT ?",
        (*key_of(scope), *(() if scope.agent is None else (scope.agent,)), limit),
    )
    turns = [turn_of(row) for row in reversed(rows)]
    session = scope.session or ""
    own = [turn for turn in turns if turn.session == session]
    return Material(turns=own, earlier=[turn for turn in turns if turn.session != session])


def pages_of_places(db: Db, scope: Scope, places: Iterable[Place]) -> tuple[int, ...]:
    """The pages that turns are on."""
    pages = set()
    for agent, session, position in set(places):
        row = db.one(
            "SELECT page FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND position = ?",
            (*key_of(scope), agent or "", session, position),
        )
        if row is not None and row["page"] is not None:
            pages.add(row["page"])
    return tuple(sorted(pages))
