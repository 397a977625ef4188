"""Turns to extract from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memstrata.types import Turn

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
_PLAIN = Turn(
    no=1,
    id="t1",
    agent=None,
    session="s",
    position=0,
    role="user",
    speaker=None,
    text="",
    at=SAID,
    recorded_at=SAID,
    trust="user",
)


def make_turn(text: str, no: int = 1, **fields: Any) -> Turn:
    """A user's turn said on Monday 2023-05-08; an assistant's, system's or tool's by `role`."""
    fields.setdefault("trust", fields.get("role", "user"))
    return replace(_PLAIN, text=text, no=no, id=f"t{no}", position=no - 1, **fields)


@pytest.fixture
def turn() -> Callable[..., Turn]:
    return make_turn
