"""The answer metrics: each variant does what its program does, on texts small enough to count by hand."""

from __future__ import annotations

import math

import pytest

from memstrata.embed.hashing import HashingEmbedder
from memstrata.evaluation import answers


def test_the_official_f1_stems_and_counts_repeats() -> None:
    # {paint, sunset} of {paint, two, sunset}: "The" and punctuation go, "painting" and "painted" share a stem
    assert answers.locomo_f1("The painting: sunsets!", "Painted two sunset", "4") == pytest.approx(4 / 5)
    assert answers.locomo_f1("dog dog", "dog", "4") == pytest.approx(2 / 3)  # a multiset, not a set
    assert answers.locomo_f1("", "dog", "4") == 0.0


def test_the_official_f1_of_a_list_takes_the_best_part_for_each() -> None:
    assert answers.locomo_f1("a cat, two dogs", "dogs, cat, fish", "1") == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_the_official_f1_of_an_open_question_ends_before_the_explanation() -> None:
    assert answers.locomo_f1("Yes", "Yes; she said so twice", "3") == 1.0
    assert answers.locomo_f1("Yes", "Yes; she said so twice", "4") < 0.5


@pytest.mark.parametrize(
    "answer, right",
    [("No information available.", True), ("It is NOT MENTIONED here", True), ("Ines", False), ("", False)],
)
def test_what_has_no_answer_is_scored_by_abstention(answer: str, right: bool) -> None:
    assert answers.locomo_f1(answer, "Ines", "5") == float(right)
    scores = answers.score_answer(answer, "Ines", "5", ["amem_f1", "bleu1"])
    assert set(scores.values()) == {float(right)}


def test_the_variants_differ_in_how_they_split() -> None:
    prediction, gold = "well-known, yes", "well known"
    assert answers.memoryos_f1(prediction, gold) == pytest.approx(4 / 5)  # well, known | yes
    assert answers.amem_f1(prediction, gold) == 0.0  # well-known stays one word
    assert answers.memos_f1("yes, it", "yes") == pytest.approx(2 / 4)  # the comma is a token
    assert answers.amem_f1("dog dog", "dog") == 1.0  # sets


def test_overlap_metrics() -> None:
    assert answers.bleu1("the red boat", "the red boat") == pytest.approx(1.0)
    assert answers.bleu1("red", "red boat") == pytest.approx(math.exp(1 - 2))  # brevity penalty
    assert answers.rouge1("boats red", "red boat") == 1.0
    assert answers.rougel("boats red", "red boat") == pytest.approx(0.5)
    assert answers.rouge2("boats red", "red boat") == 0.0
    assert answers.meteor_without_synonyms("red boats", "red boat") > 0.9


async def test_similarity_is_the_cosine_of_the_embeddings() -> None:
    same, other = await answers.sbert_similarities(["a red boat", "茶碗"], ["a red boat", "ferry"], HashingEmbedder())
    assert same == pytest.approx(1.0, abs=1e-6)
    assert other < 0.5
