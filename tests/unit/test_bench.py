"""The benchmark: its ratios say what is too slow, and its parts run on a small store."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstrata.bench import compare, measures, upkeep
from memstrata.bench.row import Row


def test_above_one_is_too_slow_for_limits_and_floors() -> None:
    assert Row("cost", 3.0, "ms", 2.0).ratio == 1.5
    assert Row("rate", 3000.0, "1/s", 6000.0, floor=True).ratio == 2.0
    assert Row("told", 3.0, "ms").ratio is None


def test_the_parts_that_need_no_large_store_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "IMPORTED", 40)
    monkeypatch.setattr(measures, "ADDS", 24)
    rows = {row.name: row for row in (*measures.durability(tmp_path), *measures.importing(tmp_path))}
    add, sync = rows["durable add of a turn, p50"], rows["fdatasync of one page, p50"]
    assert add.limit == 1.5 * sync.value
    assert rows["import, turns stored and indexed a second"].floor
    assert all(row.value > 0 for row in rows.values())


def test_a_comparison_tells_search_beside_numpy_and_draws_it(tmp_path: Path) -> None:
    rows = list(compare.compare([300, 9_000], lambda text: None))
    told = {row.name: row.value for row in rows}
    for size in ("300", "9,000"):
        assert told[f"search of {size} vectors, exact, recall"] == 1.0
        for way in ("exact", "fast", "numpy", "reading float32"):
            assert told[f"search of {size} vectors, {way}"] > 0
    picture = tmp_path / "cost.svg"
    compare.draw(rows, picture)
    drawn = picture.read_text()
    assert all(f"<!-- {word} -->" in drawn for word in ("exact", "numpy", "reading float32"))


def test_upkeep_is_measured_in_a_small_store_and_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "DUE", 8)
    monkeypatch.setattr(upkeep, "AROUND", (20, 200))
    rows = list(upkeep.upkeep(tmp_path))
    assert [row.limit for row in rows] == [None, None, 1.5]
    assert all(row.value > 0 for row in rows)
