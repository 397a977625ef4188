"""Duplicate, revision or new: in three languages, and the faults that users of memory systems report."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata.notes.classify import Neighbour, agreeing_turns, classify
from memstrata.types import Candidate, EventTime, Evidence, Note, Slot, Turn

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def say(text: str, **more: Any) -> Candidate:
    return Candidate(**{"text": text, "speaker": "Ana", "kind": "fact", "evidence": (1,), "said_at": AT, **more})


def kept(candidate: Candidate, *, id: str = "n1", **more: Any) -> Note:
    """The note that a candidate becomes."""
    note = Note(
        id=id,
        content=candidate.content,
        context="",
        kind=candidate.kind,
        keywords=(),
        tags=(),
        names=candidate.names,
        speaker=candidate.speaker,
        agent=None,
        session="s1",
        event=candidate.event,
        said_at=candidate.said_at,
        valid_from=candidate.said_at,
        valid_to=None,
        recorded_at=AT,
        last_access=AT,
        pinned=False,
        state="current",
        revision=1,
        trust="user",
        language="en",
        slot=candidate.slot,
        negated=candidate.negated,
    )
    return replace(note, **more)


def near(candidate: Candidate, similarity: float, **more: Any) -> Neighbour:
    return Neighbour(kept(candidate, **more), similarity)


def day(number: int) -> EventTime:
    start = datetime(2023, 5, number, tzinfo=UTC)
    return EventTime(start, start + timedelta(days=1), "day")


@pytest.mark.parametrize(
    "first, second",
    [
        ("I own three cats.", "i own three cats"),
        ("私は猫を飼っています。", "私は猫を飼っています"),
        ("我养了三只猫。", "我养了三只猫！"),
        ("ＡＣＭＥで働いています", "ACMEで働いています"),
    ],
)
def test_the_same_statement_is_a_duplicate_whatever_the_similarity(first: str, second: str) -> None:
    relation = classify(say(second), [near(say(first), 0.4)])
    assert relation.kind == "duplicate"
    assert relation.note is not None
    assert relation.note.id == "n1"


def test_another_speaker_or_another_day_makes_the_same_words_another_statement() -> None:
    assert classify(say("I own three cats", speaker="Ben"), [near(say("I own three cats"), 0.9)]).kind == "new"
    ran = say("I ran five miles today", kind="event", event=day(8))
    assert classify(say("I ran five miles today", kind="event", event=day(15)), [near(ran, 1.0)]).kind == "new"
    assert classify(say("I ran five miles today", kind="event", event=day(8)), [near(ran, 1.0)]).kind == "duplicate"


def test_other_words_are_a_duplicate_only_when_every_detail_agrees() -> None:
    said = say("I went to Rome with 2 friends", names=("Rome",), event=day(7))
    again = say("Yes, I actually went to Rome with 2 friends", names=("rome",), event=day(7))
    assert classify(again, [near(said, 0.96)]).kind == "duplicate"
    assert classify(again, [near(said, 0.94)]).kind == "new"
    assert classify(again, [near(said, 0.94)], duplicate=0.9).kind == "duplicate"
    for changed in (
        replace(again, names=("Milan",)),
        replace(again, text="I went to Rome with 3 friends"),
        replace(again, text="I went to Rome with 2 old friends"),
        replace(again, event=day(9)),
        replace(again, event=None),
        replace(again, negated=True, kind="event"),
        replace(again, speaker="Ben"),
    ):
        assert classify(changed, [near(said, 0.99)]).kind == "new", changed


@pytest.mark.parametrize(
    "before, after",
    [
        (say("I love cilantro"), say("I hate cilantro")),
        (say("I eat meat"), say("I don't eat meat", negated=True)),
        (say("I started smoking"), say("I quit smoking")),
        (say("私は納豆が好きです"), say("私は納豆が嫌いです")),
        (say("私は納豆が好きです"), say("私は納豆が好きではありません", negated=True)),
        (say("我喜欢香菜"), say("我讨厌香菜")),
        (say("我喜欢香菜"), say("我不喜欢香菜", negated=True)),
    ],
)
def test_opposites_are_a_revision_not_a_duplicate(before: Candidate, after: Candidate) -> None:
    for old, new in ((before, after), (after, before)):
        relation = classify(new, [near(old, 0.97)])
        assert relation.kind == "revision", relation
        assert relation.similarity == 0.97


def test_opposites_of_other_things_or_occasions_revise_nothing() -> None:
    love = near(say("I love cilantro"), 0.9)
    assert classify(say("I hate parsley"), [love]).kind == "new"
    assert classify(say("I hate cilantro", speaker="Ben"), [love]).kind == "new"
    assert classify(say("I don't hate cilantro", negated=True), [love]).kind == "new"
    went = near(say("I went to the gym", kind="event"), 0.9)
    assert classify(say("I didn't go to the gym", kind="event", negated=True), [went]).kind == "new"


@pytest.mark.parametrize(
    "before, after",
    [
        ("I keep a dog at home", "I grow tulips outside"),
        ("私は犬を飼っています", "私は猫を飼っています"),
        ("我常常喝茶", "我常常喝咖啡"),
        ("I moved from Paris to Rome", "I moved from Rome to Paris"),
        ("I put the key under the mat", "I put the key on the mat"),
        ("It costs $5", "It costs €5"),
        ("トムがメアリーを助けた", "トムをメアリーが助けた"),
        ("我把他打败了", "我被他打败了"),
    ],
)
def test_an_encoder_that_cannot_tell_texts_apart_makes_no_duplicates(before: str, after: str) -> None:
    relation = classify(say(after), [near(say(before), 0.99)])
    assert relation.kind == "new"


def test_what_the_encoder_cannot_tell_apart_is_new_by_its_words() -> None:
    relation = classify(say("我每天早上喝牛奶"), [near(say("我每天早上喝咖啡"), 1.0)])
    assert relation.similarity is not None
    assert 0.4 < relation.similarity < 0.6
    assert classify(say("我每天早上喝牛奶"), [near(say("我每天早上喝咖啡"), 0.9)]).similarity == 0.9


def test_turns_that_agree_are_counted_once_and_without_the_cited_ones() -> None:
    turn = Turn(1, "t1", None, "s1", 1, "user", "Ana", "I row", AT, AT, "user")
    voices = tuple(Evidence(f"t{n}", "s1", n, AT, "user", "Ana", "I row") for n in (1, 2, 3))
    row = say("I row")
    around = [near(row, 0.9, evidence=voices), near(row, 0.8, id="n2", evidence=voices[1:])]
    assert agreeing_turns(row, [turn], around) == 2
    assert agreeing_turns(replace(row, negated=True), [turn], around) == 0
    assert agreeing_turns(replace(row, speaker="Ben"), [turn], around) == 0
    assert agreeing_turns(row, [turn], [near(row, 0.79, evidence=voices)]) == 0


def test_another_value_of_the_same_slot_revises() -> None:
    a = say("My favourite player is Messi", slot=Slot("ana", "favourite:player", "messi"), names=("Messi",))
    b = say("Now it is Ronaldo", slot=Slot("ana", "favourite:player", "ronaldo"), names=("Ronaldo",))
    relation = classify(b, [near(say("I like football"), 0.8, id="n0"), near(a, 0.5)])
    assert (relation.kind, relation.note and relation.note.id) == ("revision", "n1")
    assert "was messi, now ronaldo" in relation.reason
    assert classify(a, [near(a, 1.0, state="superseded", valid_to=AT), near(b, 0.5, id="n2")]).kind == "revision"


def test_a_revision_names_every_current_note_of_the_slot() -> None:
    lives, moved = (say(text, slot=Slot("ana", "lives_in", "porto")) for text in ("I live in Porto", "Porto is home"))
    rome = say("I live in Rome", slot=Slot("ana", "lives_in", "rome"))
    relation = classify(rome, [near(lives, 0.8), near(moved, 0.6, id="n2"), near(moved, 0.5, id="n3", state="removed")])
    assert relation.note is not None
    assert relation.note.id == "n1"
    assert [note.id for note in relation.also] == ["n2"]


def test_a_feeling_revises_whatever_negation_said_it() -> None:
    likes = say("I like tea", slot=Slot("ana", "feels_about:tea", "positive"))
    not_any_more = say("I don't like tea", slot=Slot("ana", "feels_about:tea", "negative"), negated=True)
    hates = say("I hate tea", slot=Slot("ana", "feels_about:tea", "negative"))
    assert classify(not_any_more, [near(likes, 0.9)]).kind == "revision"
    assert classify(hates, [near(not_any_more, 0.9)]).kind == "new"


def test_working_at_one_place_and_auditing_another_revises_nothing() -> None:
    works = say("I work at Acme", slot=Slot("ana", "works_at", "acme"), names=("Acme",))
    assert classify(say("I audit Brightline", names=("Brightline",)), [near(works, 0.93)]).kind == "new"
    brother = say("My brother works at Brightline", slot=Slot("ana's brother", "works_at", "brightline"))
    assert classify(brother, [near(works, 0.93)]).kind == "new"
    denied = say("I don't work at Brightline", slot=Slot("ana", "works_at", "brightline"), negated=True)
    assert classify(denied, [near(works, 0.93)]).kind == "new"


def test_a_superseded_note_is_a_duplicate_only_for_the_time_it_held() -> None:
    old = say("I live in Porto", slot=Slot("ana", "lives_in", "porto"), said_at=AT - timedelta(days=300))
    closed = near(old, 1.0, state="superseded", valid_to=AT - timedelta(days=100))
    assert classify(replace(old, said_at=AT - timedelta(days=200)), [closed]).kind == "duplicate"
    assert classify(replace(old, said_at=AT), [closed]).kind == "new"


def test_a_superseded_note_is_revised_only_by_what_reaches_its_time() -> None:
    porto = say("I live in Porto", slot=Slot("ana", "lives_in", "porto"), said_at=AT - timedelta(days=300))
    closed = near(porto, 0.9, state="superseded", valid_to=AT - timedelta(days=100))
    rome = say("I live in Rome", slot=Slot("ana", "lives_in", "rome"))
    assert classify(rome, [closed]).kind == "new"
    for days in (200, 400):
        relation = classify(replace(rome, said_at=AT - timedelta(days=days)), [closed])
        assert (relation.kind, relation.note) == ("revision", closed.note)


def test_what_is_new_knows_its_nearest() -> None:
    nothing = classify(say("I own a boat"), [])
    assert (nothing.kind, nothing.note, nothing.similarity) == ("new", None, None)
    some = [near(say("I like lakes"), 0.5), near(say("I own a car"), 0.4, id="n2")]
    relation = classify(say("I own a boat"), some)
    assert relation.note is not None
    assert (relation.note.id, relation.similarity) == ("n1", 0.5)
    assert classify(say("I own a boat"), some, nearest_candidate=0.8).similarity == 0.8
    assert classify(say("I own a boat"), some, nearest_candidate=0.3).similarity == 0.5
