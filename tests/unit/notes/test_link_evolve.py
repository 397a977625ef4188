"""Links of a new note and the evolution of older ones, in three languages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.notes.classify import Neighbour
from memstrata.notes.evolve import MOST_ADDITIONS, MOST_TAGS, SEPARATOR, evolve, size
from memstrata.notes.link import MOST_LINKS, links_of, relevance
from memstrata.types import Evidence, Link, Note

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def note(id: str, content: str = "Ana: I paint lakes", *, position: int | None = None, **more: Any) -> Note:
    where = [] if position is None else [position]
    evidence = tuple(Evidence(f"t{at}", "s1", at, AT, "user", "Ana", content) for at in where)
    made = Note(
        id=id,
        content=content,
        context="",
        kind="fact",
        keywords=(),
        tags=(),
        names=(),
        speaker="Ana",
        agent=None,
        session="s1",
        event=None,
        said_at=AT,
        valid_from=AT,
        valid_to=None,
        recorded_at=AT,
        last_access=AT,
        pinned=False,
        state="current",
        revision=1,
        trust="user",
        language="en",
        evidence=evidence,
    )
    return replace(made, **more)


def test_relevance_is_the_weighted_sum() -> None:
    one = note("a", keywords=("Lake", "paint"), tags=("art",), names=("Rome", "Tom"))
    other = note("b", keywords=("lake",), tags=("ART", "hobby"), names=("rome",))
    assert relevance(0.6, one, other) == pytest.approx(0.5 * 0.6 + 0.3 * 2 / 4 + 0.2 * 1 / 2)
    assert relevance(-0.6, note("a"), note("b")) == 0.0
    assert relevance(1.0, one, one) == pytest.approx(1.0)


@given(
    cosine=st.floats(-1, 1),
    labels=st.lists(st.sampled_from("abcdef"), max_size=6),
    others=st.lists(st.sampled_from("abcdef"), max_size=6),
)
def test_relevance_is_symmetric_and_bounded(cosine: float, labels: list[str], others: list[str]) -> None:
    one, other = note("a", keywords=tuple(labels)), note("b", keywords=tuple(others), names=tuple(labels))
    assert relevance(cosine, one, other) == relevance(cosine, other, one)
    assert 0.0 <= relevance(cosine, one, other) <= 1.0


def test_links_need_the_threshold_and_are_at_most_eight_best_first() -> None:
    new = note("new", keywords=("lake",))
    around = [Neighbour(note(f"n{i}", keywords=("lake",)), 0.3 + i / 20) for i in range(14)]
    links = links_of(new, around)
    assert len(links) == MOST_LINKS
    assert [link.target for link in links] == [f"n{i}" for i in range(13, 5, -1)]
    assert all(link.source == "new" and link.score >= 0.5 for link in links)
    assert links_of(new, [Neighbour(note("far", keywords=("lake",)), 0.3)]) == ()
    assert len(links_of(new, around, tau=0.0, most=3)) == 3


def test_full_superseded_and_own_notes_are_not_linked() -> None:
    full = note("full", links=tuple(Link(f"x{i}", "full", "related", 0.6, "") for i in range(MOST_LINKS)))
    closed = note("closed", links=tuple(Link(f"x{i}", "closed", "supersedes", 1, "") for i in range(MOST_LINKS)))
    new = note("new")
    around = [Neighbour(each, 1.0) for each in (full, closed, note("old", state="superseded"), new)]
    assert [link.target for link in links_of(new, around)] == ["closed"]


def one_link(new: Note, old: Note) -> Link:
    (link,) = links_of(new, [Neighbour(old, 1.0)])
    return link


def test_types_of_links() -> None:
    assert one_link(note("b", position=9), note("a", position=4)).type == "related"
    named = one_link(note("b", position=9, names=("ROME",)), note("a", position=4, names=("Rome",)))
    assert named.type == "same_entity"
    assert "rome" in named.reason
    assert one_link(note("b", position=5, names=("Rome",)), note("a", position=4, names=("Rome",))).type == "continues"
    other_session = note("a", evidence=(Evidence("t", "s2", 4, AT, "user", "Ana", ""),))
    assert one_link(note("b", position=5), other_session).type == "related"


@pytest.mark.parametrize(
    "content, forward",
    [
        ("Ana: So I moved to Porto", False),
        ("Ana: That's why I moved", False),
        ("Ana: それで引っ越しました", False),
        ("Ana: 所以我搬家了", False),
        ("Ana: It was because my mother fell ill", True),
        ("Ana: 母が病気だったからです", True),
        ("Ana: 因为我妈妈生病了", True),
    ],
)
def test_causes_run_from_the_cause_to_its_effect(content: str, forward: bool) -> None:
    link = one_link(note("new", content, position=5), note("old", position=4))
    assert link.type == "causes"
    assert (link.source, link.target) == (("new", "old") if forward else ("old", "new"))
    assert one_link(note("new", content, position=9), note("old", position=4)).type == "related", "not adjacent"


def test_so_inside_a_sentence_is_no_cause() -> None:
    assert one_link(note("new", "Ana: It was so good", position=5), note("old", position=4)).type == "continues"


def test_an_older_note_gains_context_and_tags_and_keeps_its_content() -> None:
    old = note("old", "Ana: I moved to Porto", context="about moving", tags=("home",))
    new = note("new", "Ana: I found a flat by the river", tags=("Home", "river", "flat", "rent"))
    evolved = evolve(old, new)
    assert evolved is not None
    assert evolved.context == f"about moving{SEPARATOR}2023-05-08: Ana: I found a flat by the river"
    assert evolved.tags == ("home", "river", "flat")
    assert "context and tags" in evolved.reason
    grown = replace(old, context=evolved.context, tags=evolved.tags)
    again = evolve(grown, replace(new, tags=()))
    assert again is None, "what is known adds nothing"


def test_what_a_person_edited_is_left_alone() -> None:
    new = note("new", "Ana: I found a flat by the river", tags=("river",))
    only_tags = evolve(note("old", "Ana: I moved", context="mine", edited=("context",)), new)
    assert only_tags is not None
    assert (only_tags.context, only_tags.tags) == ("mine", ("river",))
    only_context = evolve(note("old", "Ana: I moved", tags=("mine",), edited=("tags",)), new)
    assert only_context is not None
    assert only_context.tags == ("mine",)
    assert evolve(note("old", "Ana: I moved", edited=("tags", "context")), new) is None


@pytest.mark.parametrize(
    "old, news",
    [
        ("Ana: I moved", [f"Ana: {word} happened to my {word} garden" * 9 for word in ("rain", "hail", "snow")]),
        (
            "田中: 引っ越した",
            [f"田中: {word}を買って毎日とても楽しく使っている" * 9 for word in ("家", "車", "本", "犬")],
        ),
        ("小李: 搬家了", [f"小李: 我买了{word}而且每天都非常开心地使用" * 9 for word in ("房", "车", "书", "狗")]),
    ],
)
def test_growth_is_bounded(old: str, news: list[str]) -> None:
    older = note("old", old)
    for number in range(20):
        newer = note(
            f"n{number}", news[number % len(news)] + str(number), tags=(f"a{number}", f"b{number}", f"c{number}")
        )
        evolved = evolve(older, newer)
        if evolved is not None:
            assert set(older.tags) <= set(evolved.tags)
            older = replace(older, context=evolved.context, tags=evolved.tags)
    assert older.context
    assert size(older.context) <= 1.0
    assert older.context.count(SEPARATOR) <= MOST_ADDITIONS
    assert len(older.tags) == MOST_TAGS
    assert older.content == old


def test_empty_tags_of_the_newer_note_take_nothing_away() -> None:
    full = note("old", tags=tuple("abcdefghij"), context="x")
    evolved = evolve(full, note("new", "Ana: we sailed around Corsica", tags=()))
    assert evolved is not None
    assert evolved.tags == full.tags
