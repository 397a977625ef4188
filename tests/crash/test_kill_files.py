"""kill -9 while a whole store is written to a file: at the path is the old file or the new one, never a half."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import servers
from tests_crash_child import AT, SETTINGS, statement

from memstrata import Memory, SetClock, restore_backup
from memstrata.errors import StoreError
from memstrata.store.backup import read_backup

CHILD = Path(__file__).with_name("child_files.py")
ROUNDS = 30
COPIES = 6  # that are killed until they end
MODES = ("backup", "restore")


def open_store(path: Path) -> Memory:
    return Memory(path, **SETTINGS, worker=False, clock=SetClock(AT))


def tell(path: Path, user: str, seed: int) -> None:
    with open_store(path) as memory:
        for n in range(40):
            memory.add(statement(n, seed), user_id=user, session_id="s")
        memory.flush()


def users(path: Path) -> list[str]:
    with open_store(path) as memory:
        assert memory.check() == ()
        return sorted(each.user or "" for each in memory.owners().owners)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of ana and bob, and a backup of it from when there was only ana."""
    folder = tmp_path_factory.mktemp("prepared")
    tell(folder / "memory.db", "ana", 1)
    with open_store(folder / "memory.db") as memory:
        memory.backup(folder / "memory.backup")
    tell(folder / "memory.db", "bob", 2)
    return folder


@pytest.fixture(scope="module")
def steps(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How often each verb tells its progress."""
    found = {}
    for mode in MODES:
        folder = shutil.copytree(prepared, tmp_path_factory.mktemp(mode) / "whole")
        told = subprocess.run(command(folder, mode), capture_output=True, text=True, check=True).stdout
        found[mode] = int(told.split()[-1])
        assert found[mode] > 20
    return found


def command(folder: Path, mode: str, *step: int) -> list[str]:
    return [sys.executable, str(CHILD), mode, str(folder / "memory.db"), str(folder / "memory.backup"), *map(str, step)]


def check(folder: Path, mode: str) -> None:
    """Both files are whole, each the old or the new one; and the verb goes through."""
    held = read_backup(folder / "memory.backup").counts["owners"]
    assert held in ((1, 2) if mode == "backup" else (1,))
    assert users(folder / "memory.db") in ([["ana", "bob"]] if mode == "backup" else [["ana", "bob"], ["ana"]])
    if mode == "backup":
        with open_store(folder / "memory.db") as memory:
            assert memory.backup(folder / "memory.backup", overwrite=True).counts["owners"] == 2
    else:
        restore_backup(folder / "memory.backup", folder / "memory.db", overwrite=True)
        assert users(folder / "memory.db") == ["ana"]
    assert sorted(file.name for file in folder.iterdir()) == ["memory.backup", "memory.db"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_a_kill_leaves_the_old_file_or_the_new_one(
    prepared: Path, steps: dict[str, int], tmp_path: Path, mode: str, share: float
) -> None:
    folder = shutil.copytree(prepared, tmp_path / "store")
    killed = subprocess.run(command(folder, mode, int(steps[mode] * share)), capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    check(folder, mode)


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
def test_many_kills(prepared: Path, tmp_path_factory: pytest.TempPathFactory, mode: str) -> None:
    rng = random.Random(mode)
    kills = 0
    for turn in range(ROUNDS):
        folder = shutil.copytree(prepared, tmp_path_factory.mktemp(f"{mode}{turn}") / "store")
        for _ in range(3):
            child = subprocess.Popen(command(folder, mode), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.25))
            os.kill(child.pid, signal.SIGKILL)
            _, err = child.communicate(timeout=60)
            assert child.returncode in (0, -signal.SIGKILL), err.decode()
            kills += child.returncode != 0
        check(folder, mode)
    print(f"\n{mode:<10} rounds {ROUNDS}  kills {kills}  half files 0", end="")


# copies ---------------------------------------------------------------------------------------------------------------


def copying(folder: Path, target: str, *step: int) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(CHILD), "copy", str(folder / "memory.db"), target, *map(str, step)]
    return subprocess.run(command, capture_output=True, check=False)


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_a_copy_that_is_killed_again_and_again_ends_as_if_it_had_not_been(
    prepared: Path, tmp_path: Path, kind: str
) -> None:
    folder = shutil.copytree(prepared, tmp_path / "store")
    target = str(folder / "copy.db") if kind == "file" else servers.address_for(tmp_path)
    for n, step in enumerate((3, 25, 40)):
        assert copying(folder, target, step).returncode == -signal.SIGKILL
        if n == 1:  # meanwhile the source goes on, also in what was copied already
            tell(folder / "memory.db", "ana", 3)
        with Memory(target, **SETTINGS, worker=False) as memory, pytest.raises(StoreError, match="unfinished copy"):
            memory.recall("Miso", user_id="ana")
    whole = copying(folder, target)
    assert whole.returncode == 0, whole.stderr.decode()
    check_copy(folder / "memory.db", target)


def check_copy(source: Path, target: str) -> None:
    """Both are sound, and tell the same."""
    exports = []
    for address in (str(source), target):
        with Memory(address, **SETTINGS, worker=False) as memory:
            assert memory.check() == ()
            memory.export(exported := io.BytesIO())
            exports.append(exported.getvalue())
    assert exports[0] == exports[1]


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_many_kills_of_a_copy(prepared: Path, tmp_path: Path, kind: str) -> None:
    rng, kills = random.Random(kind), 0
    for turn in range(COPIES):
        folder = shutil.copytree(prepared, tmp_path / str(turn))
        target = str(folder / "copy.db") if kind == "file" else servers.address_for(folder)
        far = 0
        while (ran := copying(folder, target, far := far + rng.randint(1, 40))).returncode == -signal.SIGKILL:
            kills += 1
        # Killed after its last step it was whole: a memory, over which nothing is copied.
        assert ran.returncode == 0 or b"holds a memory" in ran.stderr, ran.stderr.decode()
        check_copy(folder / "memory.db", target)
    assert kills
    print(f"\ncopy to {kind:<9} rounds {COPIES}  kills {kills}  differences 0", end="")
