"""The signals one by one, in three languages."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.gate.policy import load_policy
from memstrata.gate.signals import TRUST, age_hours, confidence, happened_at, novelty, recency, support
from memstrata.text.tokens import words
from memstrata.types import KINDS, Candidate, EventTime

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
PLAIN = {"trust": "user", "hedged": False, "hearsay": False, "question": False}


@pytest.mark.parametrize(
    "statement, turn, share",
    [
        ("I moved to Porto", "Well, I moved to Porto last week!", 1.0),
        ("I moved to Lisbon", "Well, I moved to Porto last week!", 0.75),
        ("私は京都に引っ越した", "先週、私は京都に引っ越した。", 1.0),
        ("私は大阪に引っ越した", "先週、私は京都に引っ越した。", 0.8),
        ("我搬到了北京", "上周我搬到了北京。", 1.0),
        ("The user owns seven yachts", "我搬到了北京。", 0.0),
    ],
)
def test_support_is_the_share_of_words_in_order(statement: str, turn: str, share: float) -> None:
    assert support(words(statement), [words(turn)]) == pytest.approx(share)


def test_support_reads_several_turns_as_one() -> None:
    asked, answered = words("Where do you live?"), words("In Porto")
    assert support(words("live in Porto"), [answered]) < support(words("live in Porto"), [asked, answered]) == 1.0
    assert support([], [asked]) == support(words("Porto"), []) == 0.0


def test_confidence_falls_with_every_doubt_and_rises_with_agreement() -> None:
    plain = confidence(1.0, **PLAIN)
    assert plain == 0.9
    doubts = [confidence(1.0, **{**PLAIN, doubt: True}) for doubt in ("hedged", "hearsay", "question", "of_listener")]
    assert all(0.3 < value < plain for value in doubts)
    assert confidence(1.0, **{**PLAIN, "trust": "web"}) < confidence(1.0, **{**PLAIN, "trust": "assistant"}) < plain
    once, twice = (confidence(0.5, **PLAIN, agreeing=n) for n in (1, 2))
    assert confidence(0.5, **PLAIN) < once < twice < 1.0
    assert confidence(0.0, **PLAIN, agreeing=9) == 0.0, "what no turn says is not made true by others"


@given(
    supported=st.floats(0, 1),
    trust=st.sampled_from(sorted(TRUST)),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    agreeing=st.integers(0, 50),
)
def test_confidence_stays_in_the_unit_interval(supported, trust, flags, agreeing) -> None:  # type: ignore[no-untyped-def]
    hedged, hearsay, question = flags
    value = confidence(supported, trust=trust, hedged=hedged, hearsay=hearsay, question=question, agreeing=agreeing)
    assert 0.0 <= value <= 1.0


def test_novelty() -> None:
    assert novelty(None) == 1.0
    assert novelty(0.25) == 0.75
    assert novelty(-0.2) == 1.0
    assert novelty(1.0000001) == 0.0


def test_recency_counts_from_the_event_where_it_is_known() -> None:
    said = Candidate("I moved to Porto in March", "Ana", "event", (1,), AT)
    event = EventTime(datetime(2023, 3, 1, tzinfo=UTC), datetime(2023, 4, 1, tzinfo=UTC), "month")
    dated = Candidate("I moved to Porto in March", "Ana", "event", (1,), AT, event=event)
    assert happened_at(said) == AT
    assert happened_at(dated) == event.end
    assert age_hours(AT, AT - timedelta(days=2)) == 48.0
    assert age_hours(AT, AT + timedelta(days=30)) == 0.0, "a plan for next month is not old"


@pytest.mark.parametrize("kind", KINDS)
def test_recency_is_alive_after_three_weeks_under_the_default(kind) -> None:  # type: ignore[no-untyped-def]
    rates = load_policy("memstrata").recency_rates
    day, weeks = recency(kind, 24, rates), recency(kind, 24 * 21, rates)
    assert recency(kind, 0, rates) == 1.0 > day > weeks > 0.01
