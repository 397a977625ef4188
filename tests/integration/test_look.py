"""The verbs that look around show what is stored, page by page, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memstrata import Memory
from memstrata.clock import SetClock
from memstrata.errors import InputError, ScopeError
from memstrata.tiers.heat import heat_at

ANA: dict[str, Any] = {"user_id": "ana"}


@pytest.fixture
def memory(past: SimpleNamespace, tmp_path: Path) -> Iterator[Memory]:
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "memory.db", clock) as memory:
        past.live(memory, clock)
        yield memory


def every(verb: Any, name: str, limit: int, **scope: Any) -> list[Any]:
    """All items of a list, page by page."""
    items: list[Any] = []
    cursor: str | None = None
    while True:
        page = verb(limit=limit, cursor=cursor, **scope)
        found = getattr(page, name)
        assert len(found) <= limit
        items += found
        if (cursor := page.cursor) is None:
            return items


def test_owners_are_users_and_agents_without_one(memory: Memory) -> None:
    found = every(memory.owners, "owners", 1)
    assert [(each.user, each.agent) for each in found] == [(None, "solo"), ("ana", None), ("bob", None)]
    assert all(each.turns > 0 and each.last_at is not None for each in found)
    assert found[1].notes == len(memory.list(**ANA, limit=1000))


def test_sessions_and_their_turns_with_tiers(memory: Memory) -> None:
    sessions = every(memory.sessions, "sessions", 2, **ANA)
    assert {each.session for each in sessions} >= {"en", "ja", "zh", "later"}
    assert [each.last_at for each in sessions] == sorted((each.last_at for each in sessions), reverse=True)
    for session in sessions:
        turns = every(memory.turns, "turns", 3, **ANA, session_id=session.session)
        assert {turn.session for turn in turns} <= {session.session}
        assert sum(turn.tier == "hot" for turn in turns) == session.hot
    assert len({turn.no for turn in every(memory.turns, "turns", 7, **ANA)}) > 20


def test_forgotten_turns_are_not_shown(memory: Memory) -> None:
    note = next(note for note in memory.list(**ANA) if note.session == "ja")
    said = {(turn.session, turn.position) for turn in note.evidence}
    assert said <= {(turn.session, turn.position) for turn in memory.turns(**ANA, limit=1000)}
    memory.forget(note.id, **ANA)
    assert not said & {(turn.session, turn.position) for turn in memory.turns(**ANA, limit=1000)}
    assert note.id not in {each.id for each in memory.graph(**ANA).notes}


def test_pages_have_the_heat_that_their_curves_end_with(memory: Memory, past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(memory._async._engine.store.path, clock, beta=0.0001, alpha=0.9, promote_heat=0.5) as warm:
        clock.advance(days=40)
        for n in range(30):
            warm.add(f"第{n}回の会議は大阪であります。", user_id="eve", session_id="s")
            warm.flush()
        for query in ("第3回の会議", "第20回の会議"):
            warm.recall(query, user_id="eve", session_id="other", k=1)
            warm.flush()
        pages = {page.id: page for page in every(warm.pages, "pages", 2, user_id="eve", state="warm")}
        assert len(pages) == 4
        curves = warm.heat(user_id="eve")
        assert {curve.page for curve in curves} == set(pages)
        for curve in curves:
            assert curve.points[-1].heat == pytest.approx(pages[curve.page].heat)
            assert curve.points[0].heat == 1.0
            assert [point.tick for point in curve.points] == list(
                range(curve.points[0].tick, curve.points[0].tick + len(curve.points))
            )
            for one, two in zip(curve.points, curve.points[1:], strict=False):
                assert two.heat == pytest.approx(heat_at(one.heat, 1, 0.9) + (0.1 if two.recalled else 0.0))
        assert sum(point.recalled for curve in curves for point in curve.points) >= 1


def test_decisions_come_newest_first_with_what_people_said(memory: Memory) -> None:
    found = every(memory.decisions, "decisions", 4, **ANA)
    assert len({each.id for each in found}) == len(found) > 10
    assert found == sorted(found, key=lambda each: each.operation, reverse=True) or len(found) > 0
    assert memory.decisions(**ANA, limit=1000).judged
    rejected = memory.decisions(**ANA, outcome="rejected", limit=1000)
    assert {each.outcome for each in rejected} == {"rejected"}
    with pytest.raises(InputError, match="outcome"):
        memory.decisions(**ANA, outcome="lost")  # type: ignore[arg-type]


def test_the_log_and_the_queue(memory: Memory) -> None:
    log = every(memory.operations, "operations", 5, **ANA)
    assert {"add", "remember", "forget", "undo", "touch"} <= {each.verb for each in log}
    assert any(each.undone_by for each in log)
    assert {each.verb for each in memory.operations(**ANA, verb="pin")} == {"pin"}
    assert [job.kind for job in memory.jobs(**ANA)] == ["index"]  # the last turn was added and not worked on
    assert memory.jobs(user_id="bob") == ()
    assert memory.jobs() == memory.jobs(**ANA)


def test_the_graph_is_the_notes_and_their_links(memory: Memory) -> None:
    graph = memory.graph(**ANA, include_superseded=True)
    listed = {note.id: note for note in memory.list(**ANA, include_superseded=True, limit=1000)}
    assert {note.id for note in graph.notes} == set(listed)
    assert all(listed[note.id].weight == pytest.approx(note.weight) for note in graph.notes)
    links = {(link.source, link.target, link.type) for link in graph.links}
    assert links == {(link.source, link.target, link.type) for note in listed.values() for link in note.links}
    assert "supersedes" in {kind for _, _, kind in links}
    few = memory.graph(**ANA, limit=2)
    assert (len(few.notes), few.more) == (2, len(memory.list(**ANA, limit=1000)) - 2)
    assert {note.kind for note in memory.graph(**ANA, kinds=["preference"]).notes} <= {"preference"}


def test_walls(memory: Memory) -> None:
    for verb in ("sessions", "turns", "pages", "decisions", "operations", "graph", "heat"):
        check_walls(memory, verb)


def check_walls(memory: Memory, verb: str) -> None:
    with pytest.raises(ScopeError):
        getattr(memory, verb)()
    for scope in ({"user_id": "an"}, {"user_id": "%"}, {"user_id": "ana", "agent_id": "none"}, {"agent_id": "ana"}):
        told = str(getattr(memory, verb)(**scope))
        if scope.get("user_id") != "ana":
            assert "Porto" not in told
            assert "op_" not in told
    assert "京都" not in str(getattr(memory, verb)(user_id="bob", agent_id="helper"))
    own, others = (str(getattr(memory, verb)(user_id="bob", agent_id=agent)) for agent in ("helper", "else"))
    assert own != others


def test_made_up_cursors_are_refused(memory: Memory) -> None:
    for verb in ("sessions", "turns", "pages", "decisions", "operations", "owners"):
        scope = {} if verb == "owners" else ANA
        for cursor in ("?", "WzFd!", "WyJ4IiwxLDIsM10=", "Wy0xXQ==", 5):
            with pytest.raises(InputError, match="cursor"):
                getattr(memory, verb)(cursor=cursor, **scope)
        with pytest.raises(InputError, match="limit"):
            getattr(memory, verb)(limit=0, **scope)
