"""Isolation and erasure: no read crosses a wall in any leg, a deletion stays in its scope and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata.errors import NotFoundError, ScopeError

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
# Ids that are prefixes of each other, wildcards of SQL or paths, or hold the separators of keys.
IDS = [
    "ana",
    "an",
    "Ana",
    "ana%",
    "an_",
    "%",
    "_",
    "ana/x",
    "ana:x",
    "u:ana",
    "a:ana",
    "..",
    "../ana",
    "*",
    "アナ",
    "安娜",
    "ana ",
    "' OR 1=1 --",
]
MARKS = {user: f"marker{n:02d}" for n, user in enumerate(IDS)}


def _fill(bench: Any) -> None:
    """Every user has notes, warm pages, hot turns, links and a profile, all with its own marker."""
    for user, mark in MARKS.items():
        memory = bench.memory
        memory.remember(f"My dog is called {mark} and I live in {mark}ville.", user_id=user, at=MONDAY)
        memory.remember(f"My dog {mark} loves walks in {mark}ville.", user_id=user, at=MONDAY)
        memory.add(
            [{"role": "user", "content": f"The {mark} trip was number {n}, 東京{mark}で会った。"} for n in range(15)],
            user_id=user,
            session_id="shared-session",
            at=MONDAY,
        )
    bench.memory.flush()


LEGS_QUERIES = {
    "lexical": "{mark}ville",
    "dense": "my dog loves walks",
    "hot": "trip number 14",
    "pages": "trip number 1",
    "cjk": "東京で会った",
    "time": "What happened on May 8, 2023?",
}


def test_every_leg_stays_with_its_user(bench: Any) -> None:
    _fill(bench)
    for user, mark in MARKS.items():
        others = [other for other in MARKS.values() if other != mark]
        for query in LEGS_QUERIES.values():
            for more in ({}, {"session_id": "other"}, {"include_superseded": True}, {"as_of": MONDAY}):
                hits = bench.memory.recall(query.format(mark=others[0]), user_id=user, k=100, touch=False, **more)
                assert len(hits) or more
                for hit in hits:
                    text = hit.text + " ".join(each.text for each in hit.evidence)
                    assert mark in text
                    assert not [other for other in others if other in text], (user, query)
        for strategy in ("hybrid", "window", "summary", "retrieval", "full"):
            context = bench.memory.context(
                others[0], user_id=user, session_id="shared-session", strategy=strategy, touch=False
            )
            assert not [other for other in others if other in context.text], (user, strategy)
        assert not [other for other in others if other in bench.memory.profile(user).text]
        assert all(mark in note.content for note in bench.notes(user_id=user, all_states=True))


def test_links_and_touches_stay_with_their_user(bench: Any) -> None:
    _fill(bench)
    owner_of = {row["id"]: row["owner"] for row in bench.rows("SELECT id, owner FROM notes")}
    for user in IDS:
        for note in bench.notes(user_id=user):
            assert {owner_of[link.source] for link in note.links} <= {f"u:{user}"}
            assert {owner_of[link.target] for link in note.links} <= {f"u:{user}"}
    before = bench.rows("SELECT * FROM notes WHERE owner <> 'u:ana' ORDER BY owner, no")
    before += bench.rows("SELECT * FROM pages WHERE owner <> 'u:ana' ORDER BY owner, no")
    bench.clock.advance(days=3)
    bench.memory.recall("dog trip", user_id="ana", k=100)
    bench.memory.context("dog trip", user_id="ana")
    bench.memory.flush()
    after = bench.rows("SELECT * FROM notes WHERE owner <> 'u:ana' ORDER BY owner, no")
    after += bench.rows("SELECT * FROM pages WHERE owner <> 'u:ana' ORDER BY owner, no")
    assert after == before


def test_an_id_of_another_user_is_not_found(bench: Any) -> None:
    (candidate,) = bench.memory.remember("I live in Porto.", user_id="ana").candidates
    receipt = bench.memory.add("I live in Porto.", user_id="ana")
    memory = bench.memory
    calls: list[Callable[[str], object]] = [
        lambda user: memory.get(candidate.note, user_id=user),
        lambda user: memory.history(candidate.note, user_id=user),
        lambda user: memory.update(candidate.note, user_id=user, content="I live in Rome."),
        lambda user: memory.pin(candidate.note, user_id=user),
        lambda user: memory.forget(candidate.note, user_id=user),
        lambda user: memory.restore(candidate.note, user_id=user),
        lambda user: memory.explain(candidate.decision, user_id=user),
        lambda user: memory.explain(candidate.note, user_id=user),
        lambda user: memory.receipt(receipt.operation, user_id=user),
        lambda user: memory.undo(receipt.operation, user_id=user),
    ]
    for user in IDS[1:]:
        for call in calls:
            with pytest.raises(NotFoundError):
                call(user)
    assert memory.get(candidate.note, user_id="ana").content == "I live in Porto."


def test_agents_are_walls_and_what_has_no_agent_is_for_all_of_them(bench: Any) -> None:
    memory = bench.memory
    memory.remember("My common fact is marker00.", user_id="ana", at=MONDAY)
    agents = ["coach", "coach%", "coac", "coach_", "クック"]
    for n, agent in enumerate(agents, 1):
        memory.remember(f"My private fact is marker{n:02d}.", user_id="ana", agent_id=agent, at=MONDAY)
        memory.add(
            [{"role": "user", "content": f"Private turn {k} marker{n:02d}"} for k in range(14)],
            user_id="ana",
            agent_id=agent,
            session_id="s",
        )
    memory.flush()
    for n, agent in enumerate(agents, 1):
        hits = memory.recall("fact private turn", user_id="ana", agent_id=agent, k=200, touch=False)
        marks = {mark for hit in hits for mark in [hit.text[hit.text.index("marker") :][:8]]}
        assert marks == {"marker00", f"marker{n:02d}"}
        listed = {note.content for note in bench.notes(user_id="ana", agent_id=agent)}
        assert listed == {"My common fact is marker00.", f"My private fact is marker{n:02d}."}
        context = memory.context("private fact", user_id="ana", agent_id=agent, session_id="s", touch=False)
        assert not [k for k in range(1, len(agents) + 1) if k != n and f"marker{k:02d}" in context.text]
    everything = {hit.text[hit.text.index("marker") :][:8] for hit in memory.recall("fact", user_id="ana", k=200)}
    assert len(everything) == 1 + len(agents)
    assert not memory.recall("fact", agent_id="coach", k=200).hits, "an agent without a user is an owner of its own"


def test_tenants_are_walls(bench: Any) -> None:
    bench.memory.remember("I live in Porto.", user_id="ana")
    with bench.open(tenant="other") as other:
        assert not other.recall("Porto", user_id="ana").hits
        assert not other.list(user_id="ana").notes
        other.remember("I live in Kyoto.", user_id="ana")
        other.erase(user_id="ana")
    assert [note.content for note in bench.notes(user_id="ana")] == ["I live in Porto."]


# 22. Deleting for one


@pytest.mark.parametrize("call", ["add", "remember", "recall", "context", "list", "forget", "erase", "end_session"])
def test_without_a_scope_it_is_an_error(bench: Any, call: str) -> None:
    _fill(bench)
    before = bench.rows("SELECT count(*) AS n FROM notes WHERE state = 'current'")
    arguments = {"list": [], "forget": [], "erase": [], "end_session": []}.get(call, ["text"])
    for scope in ({}, {"user_id": None}, {"user_id": ""}):
        with pytest.raises(ScopeError):
            getattr(bench.memory, call)(*arguments, **scope)
    assert bench.rows("SELECT count(*) AS n FROM notes WHERE state = 'current'") == before


# fmt: off
ALL_TABLES = (
    "owners", "scopes", "sessions", "turns", "pages", "notes", "evidence", "links", "names", "decisions", "operations",
    "changes", "jobs", "served", "units", "vectors",
)
# fmt: on


def _rows_but_of(bench: Any, owner: str) -> dict[str, list[dict[str, Any]]]:
    return {
        table: sorted(bench.rows(f"SELECT * FROM {table} WHERE owner <> ?", owner), key=str) for table in ALL_TABLES
    }


@pytest.mark.parametrize("user", ["ana", "an", "ana%", "%", "_", "an_", "u:ana", "安娜"])
def test_erasing_one_leaves_every_other_row(bench: Any, user: str) -> None:
    _fill(bench)
    before = _rows_but_of(bench, f"u:{user}")
    erased = bench.memory.erase(user_id=user)
    assert erased.complete
    assert sum(erased.counts.values()) > 0
    assert _rows_but_of(bench, f"u:{user}") == before
    for table in ALL_TABLES:
        assert not bench.rows(f"SELECT 1 FROM {table} WHERE owner = ?", f"u:{user}"), table
    for other, mark in MARKS.items():
        found = bench.memory.recall(f"{mark}ville", user_id=other, touch=False)
        assert bool(found.hits) == (other != user)


@pytest.mark.parametrize("user", ["ana", "%", "安娜"])
def test_forgetting_all_of_one_leaves_the_others(bench: Any, user: str) -> None:
    _fill(bench)
    before = _rows_but_of(bench, f"u:{user}")
    receipt = bench.memory.forget(user_id=user, filters={"state": "current"})
    assert sum(receipt.counts.values()) >= 2
    assert bench.notes(user_id=user) == []
    assert _rows_but_of(bench, f"u:{user}") == before


# 23, 24. What a deletion leaves

PLANTED = {
    "en": ("Zebulonquist", "I live in Zebulonquist with my dog.", "I hate Zebulonquist, I moved to Lisbon."),
    "ja": ("鵺野森町", "私は鵺野森町に住んでいます。", "私は大阪に引っ越しました。鵺野森町は遠いです。"),
    "zh": ("麒麟谷镇", "我住在麒麟谷镇。", "我搬到上海了，麒麟谷镇太远。"),
    "th": ("เมืองนาคาวารี", "ฉันอาศัยอยู่ที่เมืองนาคาวารี", "ฉันย้ายออกจากเมืองนาคาวารีแล้ว"),
}


@pytest.mark.parametrize("language", PLANTED)
def test_erasing_leaves_no_byte_of_the_subject(bench: Any, language: str) -> None:
    word, first, second = PLANTED[language]
    memory = bench.memory
    for user in ("ana", "ben"):
        text = f"{word} " if user == "ana" else ""
        memory.remember(first if user == "ana" else "I live in Porto.", user_id=user, at=MONDAY, tags=[f"{text}tag"])
        memory.remember(second if user == "ana" else "I moved to Braga.", user_id=user, at=MONDAY + timedelta(days=1))
        memory.add(
            [{"role": "user", "content": f"{text}turn {n}", "name": f"{text}Name"} for n in range(20)],
            user_id=user,
            session_id=f"{text}s",
            metadata={f"{text}key": f"{text}value"},
            idempotency_key=f"{text}key",
        )
    bench.distil(user_id="ana")
    memory.context(word, user_id="ana", session_id=f"{word} s")
    memory.recall(word, user_id="ana")
    note = bench.notes(user_id="ana")[0]
    memory.update(note.id, user_id="ana", context=f"about {word}", metadata={"k": word})
    memory.forget(note.id, user_id="ana")
    memory.add([{"role": "user", "content": f"{word} hot turn {n}"} for n in range(14)], user_id="ana")  # jobs queued
    assert any(word.encode() in raw for raw in bench.files().values()), "it was there"
    erasure = memory.erase(user_id="ana")
    assert erasure.complete
    assert erasure.counts["turns"] == 36
    assert erasure.counts["notes"] >= 2
    needles = {word.encode(), word.casefold().encode(), word.encode("unicode_escape")}
    for name, raw in bench.files().items():
        assert not [needle for needle in needles if needle in raw], name
    assert not memory.recall(word, user_id="ana").hits
    assert word not in memory.context(word, user_id="ana").text
    memory.flush()
    assert memory.recall("Porto Braga", user_id="ben").hits
    memory.close()
    for name, raw in bench.files().items():
        assert not [needle for needle in needles if needle in raw], name


def test_an_erased_user_may_begin_anew(bench: Any) -> None:
    bench.tell("I live in Porto.", at=MONDAY)
    bench.memory.erase(user_id="ana")
    receipt = bench.tell("I live in Kyoto.", at=MONDAY)
    assert [each.outcome for each in receipt.candidates] == ["admitted"]
    assert [hit.text for hit in bench.memory.recall("Where do I live?", user_id="ana", touch=False)] == [
        "I live in Kyoto."
    ]
