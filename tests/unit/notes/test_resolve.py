"""The later valid_from wins, not the later arrival."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memstrata.notes.classify import Relation, valid_from
from memstrata.notes.resolve import resolve
from memstrata.types import Candidate, EventTime, Note, Slot

MARCH, MAY, JULY = (datetime(2023, month, 8, tzinfo=UTC) for month in (3, 5, 7))
SLOT = Slot("ana", "lives_in", "rome")
YEAR_2022 = EventTime(datetime(2022, 1, 1, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC), "year")


def candidate(said_at: datetime, **more: Any) -> Candidate:
    return Candidate("I live in Rome", "Ana", "fact", (1,), said_at, slot=SLOT, **more)


def porto(since: datetime = MAY, **more: Any) -> Note:
    note = Note(
        id="n1",
        content="Ana: I live in Porto",
        context="",
        kind="fact",
        keywords=(),
        tags=(),
        names=("Porto",),
        speaker="Ana",
        agent=None,
        session=None,
        event=None,
        said_at=since,
        valid_from=since,
        valid_to=None,
        recorded_at=since,
        last_access=since,
        pinned=False,
        state="current",
        revision=1,
        trust="user",
        language="en",
        slot=replace(SLOT, value="porto"),
    )
    return replace(note, **more)


def settled(new: Candidate, old: Note) -> tuple[str, datetime, datetime | None, datetime | None]:
    result = resolve(new, Relation("revision", old, 0.9, "lives_in of ana was porto, now rome"), [old])
    assert old.id in result.reason
    ends = bool(result.ended) and result.outcome != "deferred"
    return result.outcome, result.valid_from, result.valid_to, result.valid_from if ends else None


def test_a_later_statement_supersedes() -> None:
    assert settled(candidate(JULY), porto()) == ("admitted_superseding", JULY, None, JULY)


def test_an_earlier_statement_that_arrives_late_is_stored_closed() -> None:
    assert settled(candidate(MARCH), porto()) == ("superseded_on_arrival", MARCH, MAY, None)


def test_the_event_time_of_the_change_counts_not_when_it_was_told() -> None:
    june = EventTime(datetime(2023, 6, 1, tzinfo=UTC), datetime(2023, 7, 1, tzinfo=UTC), "month")
    assert valid_from(candidate(JULY, event=june)) == june.start
    assert settled(candidate(JULY, event=june), porto()) == ("admitted_superseding", june.start, None, june.start)
    assert settled(candidate(JULY, event=YEAR_2022), porto())[0] == "superseded_on_arrival"
    assert valid_from(replace(candidate(JULY, event=june), slot=None)) == JULY


def test_within_a_vague_event_time_the_later_said_wins() -> None:
    since = datetime(2022, 6, 1, tzinfo=UTC)
    assert settled(candidate(JULY, event=YEAR_2022), porto(since)) == ("admitted_superseding", since, None, since)
    said_before = candidate(since - timedelta(days=1), event=YEAR_2022)
    outcome, start, end, _ = settled(said_before, porto(since))
    assert outcome == "superseded_on_arrival"
    assert start <= since == end


def test_at_the_same_moment_the_new_one_wins_with_an_empty_interval_for_the_old() -> None:
    assert settled(candidate(MAY), porto()) == ("admitted_superseding", MAY, None, MAY)


def test_a_pinned_or_edited_note_waits_for_its_user_but_still_beats_what_is_older() -> None:
    for guarded in (porto(pinned=True), porto(edited=("content",))):
        assert settled(candidate(JULY), guarded) == ("deferred", JULY, None, None)
        assert settled(candidate(MARCH), guarded)[0] == "superseded_on_arrival"


def test_a_late_arrival_is_placed_between_its_nearest_neighbours() -> None:
    rome = porto(MARCH, id="rome", state="superseded", valid_to=JULY, superseded_by="lyon")
    lyon = porto(JULY, id="lyon")
    relation = Relation("revision", lyon, 0.9, "lived elsewhere", (rome,))
    place = resolve(candidate(MAY), relation, [lyon, rome])
    assert (place.outcome, place.valid_from, place.valid_to) == ("superseded_on_arrival", MAY, JULY)
    assert place.ended == (rome,)
    assert place.next == lyon
    first = resolve(candidate(MARCH - (MAY - MARCH)), relation, [lyon, rome])
    assert (first.valid_to, first.ended, first.next) == (MARCH, (), rome)
    last = resolve(candidate(JULY + (MAY - MARCH)), relation, [lyon, rome])
    assert (last.outcome, last.ended, last.next) == ("admitted_superseding", (lyon,), None)
