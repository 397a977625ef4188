"""The order in which an owner's turns were said, and which of them follow each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import Columns
from memstrata.store.kinds import TURN

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """The turns of an owner in the order they were said; arrays have one entry a turn.

    `joined[i]`: whether turn i follows turn i - 1 in the same session of the same agent.
    """

    units: Ints
    joined: NDArray[np.bool_]
    length: Floats
    speaker: Ints
    rank: Ints  # by unit: the place in this order, -1 for what is no turn


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
    return TurnOrder(units, joined, length, meta["speaker"][units].astype(np.int64), rank)
