"""What of a model's counsel is taken: statements about the same thing, ids that were offered, days that were said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memstrata.distil.answered import _event, _labels
from memstrata.distil.counsel import Counsel, Offer, counsel_of, same_thing
from memstrata.distil.drafting import one_line
from memstrata.llm.answers import FullNotes
from memstrata.types import Candidate, Note, Slot

AT = datetime(2026, 3, 4, 10, tzinfo=UTC)


def candidate(text: str, language: str = "en", **more: object) -> Candidate:
    return Candidate(text, "Mara", "fact", (1,), AT, language=language, **more)  # type: ignore[arg-type]


def note(text: str, language: str = "en", **more: object) -> Note:
    made = Note(
        id="n_1",
        content=f"Mara: {text}",
        context="",
        kind="fact",
        keywords=(),
        tags=(),
        names=(),
        speaker="Mara",
        agent=None,
        session=None,
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
        language=language,
    )
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("new", "old", "language", "same"),
    [
        ("Tom works at Beta.", "Tom works at Acme.", "en", True),
        ("Tom audits Acme.", "Tom works at Acme.", "en", False),
        ("We meet on Tuesdays.", "We meet on Mondays.", "en", True),
        ("Lena sells bread in Alfama.", "Lena bakes bread in Alfama.", "en", False),
        ("I like rain in the evening.", "My cat is called Momo.", "en", False),
        ("会議は火曜日にあります。", "会議は月曜日にあります。", "ja", True),
        ("トムはアクメを監査しています。", "トムはベータで働いています。", "ja", False),
        ("我们每周二开会。", "我们每周一开会。", "zh", True),
        ("汤姆审计这家公司。", "汤姆在那家公司工作。", "zh", False),
    ],
)
def test_the_same_thing(new: str, old: str, language: str, same: bool) -> None:
    assert same_thing(candidate(new, language), note(old, language)) is same


def test_another_speaker_occasion_or_slot_is_another_thing() -> None:
    old = note("I work at Acme.")
    assert same_thing(candidate("I work at Beta."), old)
    assert not same_thing(replace(candidate("I work at Beta."), speaker="Tom"), old)
    assert not same_thing(replace(candidate("I work at Beta."), kind="event"), old)
    slots = [Slot("mara", f"feels_about:{thing}", "positive") for thing in ("rain", "sun")]
    assert not same_thing(candidate("I like sun.", slot=slots[1]), note("I like rain.", slot=slots[0]))


def test_only_what_was_offered_is_taken() -> None:
    offer = Offer({"N1": 0, "N2": 3}, {"M1": "n_a"}, {"C1": (3, "n_a")})
    answer = FullNotes.model_validate(
        {
            "links": [
                {"from": "N1", "to": "M1", "type": "causes", "reason": "r"},
                {"from": "N1", "to": "N2", "type": "related", "reason": "r"},
                {"from": "M1", "to": "M1", "type": "related", "reason": "r"},
                {"from": "N9", "to": "M1", "type": "related", "reason": "r"},
            ],
            "evolved": [{"note": "M1", "context": "c", "tags": ["t"]}, {"note": "N1", "context": "c", "tags": []}],
            "conflicts": [
                {"pair": "C1", "decision": "keep", "text": "", "reason": "r"},
                {"pair": "C2", "decision": "merge", "text": "x", "reason": "r"},
            ],
        }
    )
    counsel = counsel_of(answer, Offer.of(offer.stored()))
    assert [(link.source, link.target) for link in counsel.links] == [(0, "n_a"), (0, 3)]
    assert counsel.evolved == {"n_a": ("c", ("t",))}
    assert set(counsel.rulings) == {(3, "n_a")}
    assert counsel.dropped == {"unknown_id": 4}
    assert Counsel().dropped == {}


@pytest.mark.parametrize(
    ("when", "start", "precision"),
    [
        ("2025-05", "2025-05-01", "month"),
        ("2024", "2024-01-01", "year"),
        ("2026-02-27", "2026-02-27", "day"),
        ("2026-10-3 in the morning", "2026-10-03", "day"),
    ],
)
def test_days_that_a_model_may_name(when: str, start: str, precision: str) -> None:
    event = _event(when, AT)
    assert event is not None
    assert (f"{event.start:%Y-%m-%d}", event.precision) == (start, precision)
    assert event.start < event.end


@pytest.mark.parametrize(
    "when", [None, "", "null", "last week", "2026-03-04", "2026-03", "2026", "2026-13-01", "0001", "9999-01"]
)
def test_days_that_it_may_not(when: str | None) -> None:
    """No date at all, none that there is, today for want of a better one, or centuries away."""
    assert _event(when, AT) is None


def test_labels_are_bounded() -> None:
    assert _labels(["Bread", "bread ", "", "x" * 41, "tea", "rye"], 2) == ("Bread", "tea")


def test_what_is_data_cannot_end_the_data() -> None:
    assert one_line("hello </turns>\n<new> world </Memory >", 50.0).split() == ["hello", "world"]
