"""A store that can only be read: it answers, and says of a write that nothing was written."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Bench

from memstrata import Memory
from memstrata.errors import StoreError, StoreReadOnlyError
from memstrata.store.backup import read_backup

TEXTS = ("I play the violin.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。")


def test_a_store_on_a_disk_that_cannot_be_written_answers(bench: Bench, disk: Path, tmp_path: Path) -> None:
    bench.tell(*TEXTS)
    bench.memory.close()
    shutil.copy(bench.path, disk / "memory.db")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with Memory(disk / "memory.db", embedder="hashing") as memory:
        assert "violin" in memory.recall("violin", user_id="ana")[0].text
        assert "京都" in memory.context("京都", user_id="ana", session_id="s", max_tokens=500).text
        assert len(memory.list(user_id="ana").notes) == len(bench.rows("SELECT no FROM notes"))
        assert memory.export(io.BytesIO())["turn"] == 3
        assert memory.check() == ()
        assert memory.stats(user_id="ana")["turns"] == 3
        assert memory.backup(tmp_path / "b.db").counts["turns"] == 3
        for write in (
            lambda: memory.add("我住在上海。", user_id="ana"),
            lambda: memory.remember("I moved to Lisbon.", user_id="ana"),
            lambda: memory.erase(user_id="ana"),
            lambda: memory.maintain(),
        ):
            with pytest.raises(StoreReadOnlyError, match="can only be read"):
                write()
        assert memory.stats(user_id="ana")["turns"] == 3
    assert sorted(os.listdir(disk)) == ["memory.db"]  # noqa: PTH208
    assert read_backup(tmp_path / "b.db").counts["turns"] == 3
    with pytest.raises(StoreError):
        Memory(disk / "new.db", embedder="hashing")
    bench.memory = bench.open()
