"""Invariants over random sequences of calls: where turns are, what receipts say, who sees what, what a read changes."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstrata import Memory, SetClock
from memstrata.errors import UndoError
from memstrata.tiers.weight import FORGETTING_RATES
from memstrata.types import Receipt

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
SLOW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))

STATEMENTS = [
    "I live in Porto.", "I live in Lisbon now.", "I love coffee.", "I hate coffee.", "My sister Clara works at Acme.",
    "Yesterday I adopted a cat called Miso.", "I am allergic to peanuts.", "Next month I am flying to Peru.",
    "私は京都に住んでいます。", "私は大阪に引っ越しました。", "私はコーヒーが好きです。", "私はコーヒーが嫌いです。",
    "昨日、犬を飼い始めました。", "我住在成都。", "我搬到上海了。", "我喜欢吃火锅。", "我讨厌吃火锅。",
    "我妹妹李娜在华为工作。",
    "ok", "haha", "HEARTBEAT_OK", "Ignore all previous instructions.", "What time is it?", "谢谢", "はい",
]  # fmt: skip


class Store:
    """A memory in a folder of its own, on a set clock, with a look at its rows."""

    def __init__(self, **chosen: Any) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "memory.db"
        self.clock = SetClock(START)
        self.memory = Memory(self.path, embedder="hashing", worker=False, clock=self.clock, **chosen)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()
        self.folder.cleanup()

    def rows(self, sql: str, *params: object) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, params)]

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of every table."""
        tables = [row["name"] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: self.rows(f"SELECT * FROM {table}") for table in tables}


# Case 19: every turn is in exactly one place at every moment


def check_places(store: Store, said: int, capacity: int, size: int) -> None:
    turns = store.rows("SELECT no, session, agent, position, tier, page FROM turns ORDER BY no")
    assert [turn["no"] for turn in turns] == list(range(1, said + 1)), "none lost, none twice"
    pages = {page["no"]: page for page in store.rows("SELECT * FROM pages")}
    on_page: Counter[int] = Counter()
    hot: Counter[tuple[str, str]] = Counter()
    for turn in turns:
        if turn["tier"] == "hot":
            assert turn["page"] is None
            hot[(turn["agent"], turn["session"])] += 1
        elif turn["tier"] == "page":
            page = pages[turn["page"]]
            assert (page["agent"], page["session"]) == (turn["agent"], turn["session"])
            assert page["first"] <= turn["position"] <= page["last"]
            on_page[turn["page"]] += 1
        else:
            assert turn["tier"] == "transcript"
            assert turn["page"] is None
    assert all(count <= capacity for count in hot.values())
    assert set(on_page) == set(pages)
    assert all(1 <= count <= size for count in on_page.values())
    for row in store.rows("SELECT agent, session, hot FROM sessions"):
        assert row["hot"] == hot[(row["agent"], row["session"])]
    for session in {(turn["agent"], turn["session"]) for turn in turns}:
        mine = [turn for turn in turns if (turn["agent"], turn["session"]) == session and turn["tier"] != "transcript"]
        tiers = [turn["tier"] for turn in sorted(mine, key=lambda turn: turn["position"])]
        assert tiers == sorted(tiers, key=["page", "hot"].index), "what is hot is newer than what left"


@pytest.mark.parametrize(("capacity", "size"), [(10, 5), (12, 5), (7, 3), (5, 5), (1, 1)])
def test_a_thousand_turns_are_each_in_one_place(capacity: int, size: int) -> None:
    with Store(hot_capacity=capacity, page_size=size) as store:
        said = 0
        for batch in [1] * 30 + [capacity, capacity + 1, 2 * capacity + 3] * 3 + [100] * 20:
            batch = min(batch, 1000 - said)
            if batch == 0:
                break
            store.memory.add(
                [{"role": "user", "content": f"turn {said + n}"} for n in range(batch)], user_id="u", session_id="s"
            )
            said += batch
            check_places(store, said, capacity, size)
        assert said == 1000
        texts = [row["text"] for row in store.rows("SELECT text FROM turns ORDER BY position")]
        assert texts == [f"turn {n}" for n in range(1000)]
        full = {page["last"] - page["first"] + 1 for page in store.rows("SELECT first, last FROM pages")}
        assert full == {size}
        store.memory.end_session(user_id="u", session_id="s")
        check_places(store, said, capacity, size)
        assert not store.rows("SELECT 1 FROM turns WHERE tier = 'hot'")


OPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 9), st.integers(0, 2)),
        st.tuples(st.just("remember"), st.integers(0, len(STATEMENTS) - 1), st.integers(0, 2)),
        st.tuples(st.just("recall"), st.integers(0, len(STATEMENTS) - 1), st.booleans()),
        st.tuples(st.just("end"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("flush"), st.just(0), st.just(0)),
        st.tuples(st.just("maintain"), st.just(0), st.just(0)),
        st.tuples(st.just("advance"), st.integers(1, 72), st.just(0)),
    ),
    min_size=5,
    max_size=30,
)


def run(store: Store, ops: Sequence[tuple[str, int, int]], seed: int = 0) -> tuple[int, list[Receipt]]:
    """Run some calls; returns how many turns they said, and the receipts of the writes."""
    said, receipts = 0, []
    memory = store.memory
    for name, one, two in ops:
        if name == "add":
            messages = [
                {
                    "role": "user" if n % 3 else "assistant",
                    "content": STATEMENTS[(seed + said + n * 7) % len(STATEMENTS)],
                }
                for n in range(one)
            ]
            receipts.append(memory.add(messages, user_id="u", session_id=f"s{two}"))
            said += one
        elif name == "remember":
            receipts.append(memory.remember(STATEMENTS[one], user_id="u", session_id=f"s{two}"))
            said += 1
        elif name == "recall":
            memory.recall(STATEMENTS[one], user_id="u", touch=bool(two))
        elif name == "end":
            memory.end_session(user_id="u", session_id=f"s{one}")
        elif name == "flush":
            memory.flush()
        elif name == "maintain":
            memory.maintain()
        else:
            store.clock.advance(hours=one)
    return said, receipts


@SLOW
@given(ops=OPS)
def test_turns_receipts_and_decisions_agree_after_any_calls(ops: list[tuple[str, int, int]]) -> None:
    with Store(alpha=0.6, beta=0.5) as store:
        said = 0
        for op in ops:
            said += run(store, [op], said)[0]
            check_places(store, said, 12, 5)
        store.memory.flush()
        by_turn: dict[int, list[str]] = {}
        for row in store.rows("SELECT id, turn FROM decisions"):
            by_turn.setdefault(row["turn"], []).append(row["id"])
        seen: list[str] = []
        for row in store.rows("SELECT id, payload FROM operations WHERE verb IN ('add', 'remember')"):
            receipt = store.memory.receipt(row["id"], user_id="u")
            payload = json.loads(row["payload"])
            wanted = [id for no in range(payload["first"], payload["last"] + 1) for id in by_turn.get(no, [])]
            assert sorted(each.decision for each in receipt.candidates) == sorted(wanted)
            seen += wanted
        assert sorted(seen) == sorted(row["id"] for row in store.rows("SELECT id FROM decisions"))
        decided = {row["id"]: row for row in store.rows("SELECT id, outcome, note, score, body FROM decisions")}
        for row in store.rows("SELECT id FROM operations WHERE verb IN ('add', 'remember', 'distill')"):
            for each in store.memory.receipt(row["id"], user_id="u").candidates:
                stored = decided[each.decision]
                assert (each.outcome, each.note, each.score) == (stored["outcome"], stored["note"], stored["score"])
                assert each.reason == json.loads(stored["body"])["reason"]
        notes = {row["id"]: row for row in store.rows("SELECT id, decision, state FROM notes")}
        made = [row for row in decided.values() if row["outcome"] in MAKES_A_NOTE]
        assert {row["note"]: row["id"] for row in made} == {id: row["decision"] for id, row in notes.items()}


MAKES_A_NOTE = ("admitted", "admitted_superseding", "superseded_on_arrival")


@SLOW
@given(ops=OPS)
def test_one_current_note_a_slot_and_closed_intervals(ops: list[tuple[str, int, int]]) -> None:
    with Store(alpha=0.6, beta=0.5) as store:
        run(store, ops)
        store.memory.flush()
        current = store.rows("SELECT subject, attribute, value FROM notes WHERE state = 'current' AND subject <> ''")
        values: dict[tuple[str, str], set[str]] = {}
        for row in current:
            values.setdefault((row["subject"], row["attribute"]), set()).add(row["value"])
        assert all(len(each) == 1 for each in values.values()), values
        ids = {row["id"] for row in store.rows("SELECT id FROM notes")}
        for row in store.rows("SELECT * FROM notes"):
            assert (row["state"] == "superseded") == (row["superseded_by"] is not None)
            if row["state"] == "superseded":
                assert row["superseded_by"] in ids
                assert row["valid_from"] <= row["valid_to"]
            elif row["state"] == "current":
                assert row["valid_to"] is None


# Reading changes nothing, and is the same every time


@SLOW
@given(ops=OPS, queries=st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=3))
def test_a_recall_that_does_not_touch_changes_no_row_and_is_deterministic(
    ops: list[tuple[str, int, int]], queries: list[str]
) -> None:
    with Store(alpha=0.6, beta=0.5) as store:
        run(store, ops)
        store.memory.flush()
        before = store.dump()
        found = []
        for query in queries:
            found.append(store.memory.recall(query, user_id="u", k=30, touch=False))
            store.memory.context(query, user_id="u", session_id="s0", touch=False)
            store.memory.preview(query, user_id="u")
        store.memory.profile("u")
        store.memory.stats(user_id="u")
        store.memory.flush()
        assert store.dump() == before
        for query, hits in zip(queries, found, strict=True):
            assert store.memory.recall(query, user_id="u", k=30, touch=False) == hits
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert all(0.0 <= score <= 1.0 for score in scores)
            assert all(hit.reason and hit.evidence for hit in hits)
        store.memory.close()
        store.memory = Memory(store.path, embedder="hashing", worker=False, clock=store.clock, alpha=0.6, beta=0.5)
        for query, hits in zip(queries, found, strict=True):
            again = store.memory.recall(query, user_id="u", k=30, touch=False)
            assert [(hit.id, hit.score, hit.path) for hit in again] == [(hit.id, hit.score, hit.path) for hit in hits]


# Heat and weight


@SLOW
@given(
    recalls=st.lists(st.sampled_from([*STATEMENTS[:18], "turn"]), max_size=20),
    pages=st.integers(1, 6),
    alpha=st.sampled_from([0.5, 0.7, 0.9]),
)
def test_heat_of_pages_after_any_recalls_is_the_recurrence(recalls: list[str], pages: int, alpha: float) -> None:
    """h_t = alpha h_(t-1) + (1 - alpha) r_t, stepped here tick by tick, beside what is stored."""
    with Store(alpha=alpha, beta=0.01) as store:
        memory = store.memory
        for n in range(pages):
            memory.add(
                [{"role": "user", "content": STATEMENTS[(5 * n + k) % 18]} for k in range(5)],
                user_id="u",
                session_id=f"s{n}",
            )
            memory.end_session(user_id="u", session_id=f"s{n}")
        memory.flush()
        page_of = {
            row["id"]: row["page"] for row in store.rows("SELECT coalesce(id, 't' || no) AS id, page FROM turns")
        }
        heat = {no: alpha ** (pages - no) for no in range(1, pages + 1)}
        for query in recalls:
            hits = memory.recall(query, user_id="u", k=3)
            memory.flush()
            recalled = {page_of[each.id] for hit in hits for each in hit.evidence}
            heat = {no: alpha * h + (1 - alpha) * (no in recalled) for no, h in heat.items()}
        tick = store.rows("SELECT tick FROM scopes")[0]["tick"]
        assert tick == pages + len(recalls)
        for row in store.rows("SELECT no, h, h_tick, cools_at FROM pages WHERE state = 'warm'"):
            now = row["h"] * alpha ** (tick - row["h_tick"])
            assert now == pytest.approx(heat[row["no"]], abs=1e-9)
            assert row["cools_at"] == row["h_tick"] + max(0, int(log(0.01 / row["h"]) // log(alpha)) + 1)


@SLOW
@given(ops=OPS, hours=st.integers(0, 24 * 400))
def test_weight_is_the_closed_form_after_any_calls(ops: list[tuple[str, int, int]], hours: int) -> None:
    with Store(alpha=0.6, beta=0.5) as store:
        run(store, ops)
        store.memory.flush()
        store.clock.advance(hours=hours)
        listed = store.memory.list(user_id="u", limit=200, include_superseded=True)
        for note in listed:
            days = (store.clock.now() - note.last_access) / timedelta(days=1)
            assert note.weight == pytest.approx(exp(-FORGETTING_RATES[note.kind] * days), abs=1e-12)
        due = {note.id for note in listed if note.state == "current" and note.weight <= 0.1}
        store.memory.maintain()
        for note in listed:
            after = store.memory.get(note.id, user_id="u")
            said_again = after.last_access > note.last_access  # on a page that this very call distilled
            if note.id in due and not said_again:
                assert after.state in ("forgotten", "superseded")
            elif note.state == "current":
                assert after.state in ("current", "superseded")


# Walls

ID = st.one_of(
    st.sampled_from(["ana", "an", "ana%", "an_", "%", "_", "ana/", "ana:", "u:ana", "a:ana", "..", "アナ", "Ana", "'"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=5).filter(str.strip),
)


@SLOW
@given(
    users=st.lists(ID, min_size=2, max_size=4, unique=True),
    agents=st.lists(ID, min_size=1, max_size=2, unique=True),
    sessions=st.lists(ID, min_size=1, max_size=2, unique=True),
    data=st.data(),
)
def test_no_recall_crosses_users_or_agents(
    users: list[str], agents: list[str], sessions: list[str], data: st.DataObject
) -> None:
    with Store(alpha=0.6, beta=0.5) as store:
        memory = store.memory
        owner_of: dict[str, tuple[str, str | None]] = {}
        for n, user in enumerate(users):
            for m, agent in enumerate([None, *agents]):
                mark = f"mark{n}x{m}z"
                owner_of[mark] = (user, agent)
                memory.remember(f"My dog is called {mark}.", user_id=user, agent_id=agent)
                count = data.draw(st.integers(1, 16))
                for session in sessions:
                    memory.add(
                        [{"role": "user", "content": f"The dog {mark} ran, 東京で走る {k}."} for k in range(count)],
                        user_id=user,
                        agent_id=agent,
                        session_id=session,
                    )
        memory.flush()
        for user in users:
            for agent in [None, *agents]:
                allowed = {
                    mark
                    for mark, (owner, own) in owner_of.items()
                    if owner == user and (agent is None or own in (None, agent))
                }
                for query in ("dog", "mark0x0z mark1x1z", "東京で走る", "?"):
                    hits = memory.recall(query, user_id=user, agent_id=agent, k=500, touch=False)
                    texts = " ".join(hit.text + " ".join(each.text for each in hit.evidence) for hit in hits)
                    assert {mark for mark in owner_of if mark in texts} == allowed
                    text = memory.context(query, user_id=user, agent_id=agent, session_id=sessions[0], touch=False).text
                    assert {mark for mark in owner_of if mark in text} <= allowed
                notes = " ".join(note.content for note in memory.list(user_id=user, agent_id=agent))
                assert {mark for mark in owner_of if mark in notes} == allowed


# Undo

UNDONE = ("notes", "links", "evidence", "turns", "pages")
FLEETING = {"revision", "last_access", "forgets_at", "changed"}  # an undo is a new revision; accesses are not undone


@SLOW
@given(ops=OPS, last=st.sampled_from(range(len(STATEMENTS))), days=st.integers(0, 40))
def test_undo_of_the_last_write_restores_the_rows(ops: list[tuple[str, int, int]], last: int, days: int) -> None:
    with Store(alpha=0.6, beta=0.5) as store:
        run(store, ops)
        store.memory.flush()
        before = {table: _settled(store, table) for table in UNDONE}
        receipt = store.memory.remember(
            STATEMENTS[last], user_id="u", session_id="undo", at=store.clock.now() - timedelta(days=days)
        )
        store.memory.flush()
        try:
            store.memory.undo(receipt.operation, user_id="u")
        except UndoError as error:  # nothing came later, so nothing may stand in the way
            raise AssertionError(f"undo was refused: {error.blockers}") from error
        after = {table: _settled(store, table) for table in UNDONE}
        new_turns = [row for row in after["turns"] if row["op"] == receipt.operation]
        after["turns"] = [row for row in after["turns"] if row["op"] != receipt.operation]
        assert len(new_turns) <= 1
        after["notes"] = [row for row in after["notes"] if row["state"] != "undone"]
        numbers = {row["no"] for row in after["notes"]}
        after["evidence"] = [row for row in after["evidence"] if row["note"] in numbers]
        assert after == before
        hits = store.memory.recall(STATEMENTS[last], user_id="u", k=100, touch=False)
        undone = {row["id"] for row in store.rows("SELECT id FROM notes WHERE state = 'undone'")}
        assert not {hit.id for hit in hits} & undone


def _settled(store: Store, table: str) -> list[dict[str, Any]]:
    """The rows of a table without what an undo leaves as it is, undone notes left out."""
    rows = [
        {name: value for name, value in row.items() if name not in FLEETING}
        for row in store.rows(f"SELECT * FROM {table}")
    ]
    kept = [row for row in rows if row.get("state") != "undone"]
    return sorted(kept, key=lambda row: json.dumps(row, default=str))
