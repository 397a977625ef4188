"""The order in which an owner's turns were said, and which of them follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import Columns
from memstrata.store.kinds import TURN

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Array = TypeVar("Array", bound=NDArray[Any])
GATE_WORDS = 80.0


@dataclass(frozen=True)
class TurnOrder:
    """The turns of an owner in the order they were said; arrays have one entry a turn.

    `joined[i]`: whether turn i follows turn i - 1 in the same session of the same agent. What depends on the turns
    alone is computed once, not for each query.
    """

    units: Ints
    joined: NDArray[np.bool_]
    length: Floats
    speaker: Ints
    rank: Ints  # by unit: the place in this order, -1 for what is no turn
    at: Ints  # microseconds since 1970

    @cached_property
    def brevity(self) -> Floats:
        """min(1, 80 / words) squared: long turns hold many words of any query."""
        short: Floats = np.minimum(1.0, GATE_WORDS / self.length) ** 2
        return short

    @cached_property
    def gates(self) -> Mapping[int, Floats]:
        """How much of the neighbour at each distance counts: 0 across sessions, less for long turns."""
        joined = self.joined.astype(np.float32)
        longest = np.maximum(self.length, shift(self.length, 1))
        one = joined * np.minimum(1.0, GATE_WORDS / longest) ** 2
        longest = np.maximum(longest, shift(self.length, 2))
        two = joined * shift(joined, 1) * np.minimum(1.0, GATE_WORDS / longest) ** 2
        return {-1: one, -2: two, 1: shift(one, -1), 2: shift(two, -2)}

    @cached_property
    def answering(self) -> Floats:
        """The gate to the turn before where another speaker said it, else 0."""
        other: Floats = self.gates[-1] * (self.speaker != shift(self.speaker, 1))
        return other

    @cached_property
    def months(self) -> Ints:
        """Months since 1970."""
        return months_of(self.at)

    @cached_property
    def days(self) -> Ints:
        """Days of the month, from 1."""
        return days_of(self.at)

    def reaches(self, decay: float) -> Mapping[int, Floats]:
        """What is left of a neighbour's score after 1, 2 or 4 steps forwards or back, each of gate * decay."""
        if decay not in self._reaches:
            found: dict[int, Floats] = {}
            for way in (-1, 1):
                found[way] = decay * self.gates[way]
                found[2 * way] = found[way] * shift(found[way], -way)
                found[4 * way] = found[2 * way] * shift(found[2 * way], -2 * way)
            self._reaches[decay] = found
        return self._reaches[decay]

    @cached_property
    def _reaches(self) -> dict[float, Mapping[int, Floats]]:
        return {}


def shift(values: Array, by: int) -> Array:
    """values[..., i - by] at i; 0 beyond the ends."""
    moved: Array = np.zeros_like(values)
    if by > 0:
        moved[..., by:] = values[..., :-by]
    else:
        moved[..., :by] = values[..., -by:]
    return moved


def months_of(times: Ints) -> Ints:
    """Months since 1970 of microseconds since 1970."""
    return times.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)


def days_of(times: Ints) -> Ints:
    """The day of the month, from 1, of microseconds since 1970."""
    days = times.astype("datetime64[us]").astype("datetime64[D]")
    found: Ints = (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
    return found


def order_turns(meta: Columns) -> TurnOrder:
    """Sort turns by agent, session and position."""
    turns = np.flatnonzero(meta["kind"] == TURN)
    keys = np.lexsort((meta["position"][turns], meta["session"][turns], meta["agent"][turns]))
    units = turns[keys]
    session, agent, position = meta["session"][units], meta["agent"][units], meta["position"][units]
    joined = np.zeros(len(units), dtype=np.bool_)
    joined[1:] = (session[1:] == session[:-1]) & (agent[1:] == agent[:-1]) & (position[1:] == position[:-1] + 1)
    rank = np.full(meta.count + 1, -1, dtype=np.int64)
    rank[units] = np.arange(len(units))
    length = np.maximum(1, meta["length"][units]).astype(np.float32)
    return TurnOrder(units, joined, length, meta["speaker"][units].astype(np.int64), rank, meta["at"][units])
