"""The offline utility estimator: named features, in three languages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memstrata.errors import SettingsError
from memstrata.gate.utility import (
    FEATURES,
    Surroundings,
    default_model,
    estimate_utility,
    utility_features,
    utility_model,
)
from memstrata.types import KINDS, Candidate, EventTime, Part, Slot, Turn

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def say(text: str, **more: Any) -> Candidate:
    return Candidate(**{"text": text, "speaker": "Ana", "kind": "fact", "evidence": (1,), "said_at": AT, **more})


def features(candidate: Candidate) -> set[str]:
    """The names of the features of the candidate itself that are on."""
    return {name for name, value in utility_features(candidate).items() if value and not name.startswith("turn_")}


def turn(text: str, no: int = 1, **more: Any) -> Turn:
    return Turn(no, str(no), None, "s", no, "user", "Ana", text, AT, AT, "user", **more)


def test_every_feature_has_a_coefficient_and_the_other_way_round() -> None:
    assert set(default_model().coefficients) == set(FEATURES) == set(utility_features(say("Hello")))


@pytest.mark.parametrize(
    "text, on",
    [
        ("My mother bought 3 lamps", {"first_person", "own", "family", "experience", "digits"}),
        ("Thanks, I love it!", {"reaction", "first_person", "self", "taste", "exclaims"}),
        ("Do you like tea?", {"asks", "second_person", "taste"}),
        ("私の母は本を3冊買いました", {"first_person", "own", "family", "experience", "digits"}),
        ("ありがとう！お茶が好きですか？", {"reaction", "exclaims", "taste", "self", "asks"}),
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
    assert 0.0 < estimate_utility(say(chatting)) < 0.25 < 0.5 < estimate_utility(say(telling)) < 1.0


def test_two_cjk_characters_count_as_a_word() -> None:
    assert utility_features(say("東京都庁"))["length"] == utility_features(say("city hall"))["length"]


@pytest.mark.parametrize(
    "before, said, after, on",
    [
        ("Where do you live?", "I live in Porto", "Great, thanks!", {"before_asks", "before_you", "after_reacts"}),
        (
            "あなたはどこに住んでいますか？",
            "京都に住んでいます",
            "いいね",
            {"before_asks", "before_you", "after_reacts"},
        ),
        ("你住在哪里？", "我住在北京", "你喜欢那里吗？", {"before_asks", "before_you", "after_asks"}),
    ],
)
def test_the_turns_beside_it_count(before: str, said: str, after: str, on: set[str]) -> None:
    around = Surroundings(turn(said, 2), turn(before, 1), turn(after, 3))
    values = utility_features(say(said), around)
    beside = {name for name, value in values.items() if value and name.startswith(("before_", "after_"))}
    assert beside == on | {"before_length", "after_length"}
    assert values["last"] == 0.0
    assert utility_features(say(said), Surroundings(turn(said)))["last"] == 1.0


def test_the_rest_of_its_turn_counts_and_alone_it_is_its_own_turn() -> None:
    said = turn("Do you remember? I own a boat. My boat is red.", parts=(Part("image", caption="a boat"),))
    values = utility_features(say("I own a boat"), Surroundings(said))
    assert values["turn_asks"] == values["turn_image"] == values["turn_own"] == 1.0
    assert values["own"] == values["asks"] == 0.0
    alone = utility_features(say("I own a boat"))
    assert (alone["turn_length"], alone["turn_first_person"]) == (alone["length"], alone["first_person"])


def test_a_name_is_new_until_a_note_has_it() -> None:
    candidate = say("We met in Kyoto and 大阪", names=("Kyoto", "大阪"))
    first = utility_features(candidate)["new_names"]
    second = utility_features(candidate, Surroundings(known_names=frozenset({"kyoto"})))["new_names"]
    assert first > second > 0.0


@pytest.mark.parametrize(
    "table, complaint",
    [
        ({"coefficients": {}}, "an intercept and"),
        ({"intercept": 0.0, "coefficients": {"charm": 1.0}}, "no such features: charm"),
        ({"intercept": 0.0, "coefficients": {"asks": float("nan")}}, "asks must be a finite number"),
        ("logistic", "an intercept and"),
    ],
)
def test_wrong_models_are_refused(table: Any, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        utility_model(table, "here")
