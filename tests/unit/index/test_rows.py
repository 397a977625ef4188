"""Searching an owner's rows: the same as comparing with every vector, whatever is read first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.index import rows as rows_module
from memstrata.index.postings import Postings
from memstrata.index.rows import CODES_FROM, Rows
from memstrata.index.timing import clustered, queries_near, recall_of, rows_of, search_times


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return clustered(CODES_FROM + 1000, 96, np.random.default_rng(3))


@pytest.fixture(scope="module")
def held(vectors: np.ndarray) -> Rows:
    return rows_of(vectors)


@pytest.fixture(scope="module")
def queries(vectors: np.ndarray) -> np.ndarray:
    return queries_near(vectors, 20, np.random.default_rng(4))


def test_a_search_over_codes_finds_exactly_the_nearest(held: Rows, vectors: np.ndarray, queries: np.ndarray) -> None:
    allowed = np.random.default_rng(5).random(len(vectors)) < 0.4
    for query in queries:
        true = np.where(allowed, vectors.astype(np.float64) @ query, -2.0)
        found, scores = held.search(query, 10, allowed)
        assert set(found.tolist()) == set(np.argsort(-true)[:10].tolist())
        assert np.allclose(scores, true[found], atol=1e-5)
        assert (np.diff(scores) <= 0).all()


def test_similarities_are_those_of_floats(held: Rows, vectors: np.ndarray, queries: np.ndarray) -> None:
    for query in queries:
        true = vectors @ query
        assert np.abs(held.similarities(query) - true).max() < 0.01
        best = np.argsort(-true)[:100]
        assert np.allclose(held.similarities(query)[best], true[best], atol=1e-5)


def test_fast_finds_most_and_says_how_many(held: Rows, queries: np.ndarray) -> None:
    assert recall_of(held, queries, fast=False) == 1.0
    assert 0.8 < recall_of(held, queries, fast=True) <= 1.0
    times = search_times(held, queries[:2], rounds=1)
    assert times.rows == held.count
    assert times.exact_recall == 1.0


def test_rows_that_are_put_again_or_cleared_are_found_as_they_are(vectors: np.ndarray, queries: np.ndarray) -> None:
    held = rows_of(vectors)
    held.similarities(queries[0])
    held.put(np.array([17]), queries[:1], np.array([18]), np.zeros(1, dtype=np.int8))
    assert held.search(queries[0], 1)[0].tolist() == [17]
    held.clear(17)
    assert 17 not in held.search(queries[0], 50)[0]
    few = rows_of(vectors[:5])
    assert len(few.search(queries[0], 10)[0]) == 5
    assert len(few.search(queries[0], 10, np.zeros(5, dtype=np.bool_))[0]) == 0


def test_vectors_of_one_component_are_compared_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "CODES_FROM", 16)
    axes = np.eye(32, dtype=np.float32)
    held = rows_of(axes)
    query = np.full(32, 0.01, dtype=np.float32)
    query[7] = 1.0
    query /= np.linalg.norm(query)
    assert held.search(query, 1)[0].tolist() == [7]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.lists(st.sampled_from(["tea", "京都", "东京", "x", "y"]), unique=True)),
        max_size=25,
    ),
    st.integers(0, 25),
)
def test_postings_say_what_each_row_holds(puts: list[tuple[int, list[str]]], merge_at: int) -> None:
    postings, held = Postings(), dict[int, set[str]]()
    for n, (row, terms) in enumerate(puts):
        if n == merge_at:
            postings = Postings(*postings.merged())
        postings.put(row, " ".join(sorted(terms)), new=row not in held)
        held[row] = set(terms)
    for made in (postings, Postings(*postings.merged())):
        for term in ("tea", "京都", "东京", "x", "y"):
            assert sorted(made[term].tolist()) == sorted(row for row, terms in held.items() if term in terms)
    assert set(postings.merged()[0]) == set().union(*held.values()), "no word stays that no row holds"
