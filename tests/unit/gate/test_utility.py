"""The offline utility estimator: named features, in three languages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memstrata.gate.utility import FEATURES, default_model, estimate_utility, utility_features
from memstrata.types import KINDS, Candidate, EventTime, Slot

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def say(text: str, **more: Any) -> Candidate:
    return Candidate(**{"text": text, "speaker": "Ana", "kind": "fact", "evidence": (1,), "said_at": AT, **more})


def features(candidate: Candidate) -> set[str]:
    """The names of the features that are on."""
    return {name for name, value in utility_features(candidate).items() if value}


def test_every_feature_has_a_coefficient_and_the_other_way_round() -> None:
    assert set(default_model().coefficients) == set(FEATURES) == set(utility_features(say("Hello")))


@pytest.mark.parametrize(
    "text, on",
    [
        ("My mother bought 3 lamps", {"first_person", "family", "experience", "digits"}),
        ("Thanks, I love it!", {"reaction", "first_person", "taste", "exclaims"}),
        ("Do you like tea?", {"asks", "second_person", "taste"}),
        ("私の母は本を3冊買いました", {"first_person", "family", "experience", "digits"}),
        ("ありがとう！お茶が好きですか？", {"reaction", "exclaims", "taste", "asks"}),
        ("我妈妈买了3本书", {"first_person", "family", "experience", "digits"}),
        ("谢谢，你喜欢喝茶吗？", {"reaction", "second_person", "taste", "asks"}),
        ("The theory is unlikely", set()),  # neither "i", "hi", "like" nor "the-ory" are found inside words
    ],
)
def test_cues_are_found_as_words(text: str, on: set[str]) -> None:
    assert features(say(text)) == on | {"length"}


def test_features_of_the_record() -> None:
    event = EventTime(AT, AT, "day")
    rich = say(
        "It rained", names=("Rome",), event=event, slot=Slot("ana", "a", "b"), negated=True, hedged=True, kind="plan"
    )
    assert {"names", "event_time", "slot", "negated", "hedged", "kind_plan"} < features(rich)
    assert "answers" in features(say("It rained", context='Ben: "How was it?"'))
    assert "answers" not in features(say("It rained", context='Ben: "It was fine."'))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_but_the_plain_fact_is_a_feature(kind: Any) -> None:
    assert (f"kind_{kind}" in features(say("It rained", kind=kind))) == (kind != "fact")


@pytest.mark.parametrize(
    "telling, chatting",
    [
        ("My sister and I opened a small bakery in Porto in 2021", "Wow, that sounds great!"),
        ("私と妹は2021年に京都で小さなパン屋を始めました", "すごい、よかったね！"),
        ("我和妹妹2021年在北京开了一家小面包店", "哇，太好了！"),
    ],
)
def test_telling_is_worth_more_than_chatting(telling: str, chatting: str) -> None:
    assert 0.0 < estimate_utility(say(chatting)) < 0.2 < 0.5 < estimate_utility(say(telling)) < 1.0


def test_two_cjk_characters_count_as_a_word() -> None:
    assert utility_features(say("東京都庁"))["length"] == utility_features(say("city hall"))["length"]
