"""The indexes in memory stay within their budget, the longest unused go first."""

from __future__ import annotations

import pytest

from memstrata import AsyncMemory
from memstrata.index import kept
from memstrata.index.kept import KeptIndexes
from memstrata.index.owner import OwnerIndex


def test_the_longest_unused_are_dropped_above_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnerIndex, "nbytes", property(lambda index: 10))
    monkeypatch.setattr(kept, "WEIGH_SECONDS", 0.0)
    indexes = KeptIndexes(35)
    first = indexes.get("t", "u:アナ", 4)
    for owner in ("u:b", "u:c"):
        indexes.get("t", owner, 4)
    assert indexes.get("t", "u:アナ", 4) is first
    indexes.get("t", "u:d", 4)  # u:b was not used for longest
    assert len(indexes) == 3
    assert indexes.get("t", "u:アナ", 4) is first
    indexes.drop("t", "u:アナ")
    assert indexes.get("t", "u:アナ", 4) is not first


def test_they_are_weighed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnerIndex, "nbytes", property(lambda index: 10))
    monkeypatch.setattr(kept, "WEIGH_SECONDS", 1e9)
    indexes = KeptIndexes(15)
    for n in range(5):
        indexes.get("t", f"u:{n}", 4)
    assert len(indexes) == 5
    indexes._weigh()
    assert len(indexes) == 1


async def test_the_tenants_of_a_store_share_one_budget() -> None:
    async with AsyncMemory(":memory:", embedder="static", index_megabytes=3, worker=False) as memory:
        engine = memory._engine
        other = memory._for_tenant("東京")._engine
        assert other._indexes is engine._indexes
        assert engine._indexes.limit == 3 * 2**20
        assert engine.with_seams()._indexes is not engine._indexes
