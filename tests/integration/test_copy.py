"""A store copied to another, of each kind to each: every row, every id, nothing half."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import servers
from tests.conftest import Bench

from memstrata import Copied, Memory, copy_store
from memstrata.errors import StoreError

TEXTS = ("I live in Porto.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。", "I moved to Lisbon last week.")
TARGETS: dict[str, Callable[[Path], str]] = {
    "file": lambda folder: str(folder / "copy.db"),
    "postgres": servers.address_for,
}


def copy(source: str | Path, target: str | Path) -> Copied:
    return asyncio.run(copy_store(source, target))


def exported(address: str | Path) -> bytes:
    with Memory(address, embedder="hashing", worker=False) as memory:
        assert memory.check() == ()
        memory.export(stream := io.BytesIO())
        return stream.getvalue()


@pytest.mark.parametrize("kind", TARGETS)
def test_a_copy_is_the_store_with_its_ids_and_so_is_the_copy_back(bench: Bench, tmp_path: Path, kind: str) -> None:
    bench.tell(*TEXTS)
    bench.memory.add("queued: 来週、奈良へ行きます。", agent_id="cook")
    target = TARGETS[kind](tmp_path)
    made = copy(bench.path, target)
    assert made.counts["turns"] == 5
    assert made.copied == sum(made.counts.values())
    assert copy(target, tmp_path / "back.db").counts == made.counts
    was = exported(bench.path)
    assert exported(target) == was == exported(tmp_path / "back.db")
    with Memory(target, embedder="hashing", worker=False) as memory:
        assert memory.flush()["index"] == 1
        assert "华为" in memory.recall("华为", user_id="ana")[0].text
        memory.remember("I moved to Braga.", user_id="ana")


def test_nothing_is_copied_over_a_memory_or_from_nowhere(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    one, two = make_bench(), make_bench()
    one.tell(TEXTS[0])
    two.tell(TEXTS[1])
    for source, target, why in (
        (one.path, two.path, "holds a memory"),
        (one.path, one.path, "itself"),
        (tmp_path / "no.db", tmp_path / "b.db", "no store"),
    ):
        with pytest.raises(StoreError, match=why):
            copy(source, target)
    assert not (tmp_path / "b.db").exists()
    assert [row["text"] for row in two.rows("SELECT text FROM turns")] == [TEXTS[1]]


def test_a_whole_copy_is_a_memory_like_any_other(bench: Bench, tmp_path: Path) -> None:
    bench.tell(*TEXTS)
    copy(bench.path, tmp_path / "b.db")
    with pytest.raises(StoreError, match="holds a memory"):
        copy(bench.path, tmp_path / "b.db")
