"""The order of units is that of a full sort, however far down and in whatever steps it is read."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memstrata.recall.order import Order

UNITS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), st.sampled_from([0, 2])), max_size=40)


@given(UNITS, st.integers(1, 10), st.integers(1, 7))
def test_any_steps_down_give_the_full_sort(units: list[tuple[float, int]], first: int, step: int) -> None:
    numbers = np.arange(1, len(units) + 1)
    scores = np.array([score for score, _ in units], dtype=np.float32)
    kinds = np.array([kind for _, kind in units], dtype=np.int8)
    order = Order(numbers, kinds, scores, first)
    expected = sorted(numbers.tolist(), key=lambda unit: (-units[unit - 1][0], units[unit - 1][1], unit))
    assert len(order) == len(units)
    assert [unit for start in range(0, len(order), step) for unit in order[start : start + step]] == expected
