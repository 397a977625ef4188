"""kill -9 in the middle of a verb on the whole store: erase, maintain, reembed, reindex, import.

After the kill the store opens and nothing of it is half done; the verb, called again, comes to what it comes to when
nobody is killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests_crash_child import AT, LATER, SETTINGS, UPKEEP, OtherEmbedder, statement

from memstrata import Memory, SetClock
from memstrata.ledger.check import Disagreement

CHILD = Path(__file__).with_name("child.py")
ROUNDS = 30
PLANTED = "Zanzibar-Quetzal-77"  # ana's, and nobody else's
STATE = (  # what two stores that went the same way have in common
    "SELECT owner, content, state, valid_to, context, revision FROM notes ORDER BY owner, content, no",
    "SELECT owner, no, text, tier, hidden, page FROM turns ORDER BY owner, no",
    "SELECT owner, no, summary, state FROM pages ORDER BY owner, no",
    "SELECT owner, unit, chunk, model, terms, vector FROM vectors ORDER BY owner, unit, chunk",
    "SELECT owner, source, target, type FROM links ORDER BY owner, source, target, type",
)


def open_store(path: Path, embedder: object = "hashing") -> Memory:
    return Memory(path, **{**SETTINGS, "embedder": embedder}, worker=False, clock=SetClock(AT))


def state(memory: Memory) -> list[list[tuple[Any, ...]]]:
    connection = memory._async._engine.store._writer  # type: ignore[attr-defined]
    return [[tuple(row) for row in connection.execute(sql)] for sql in STATE]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two users' store with all work done, but for one session that is idle by LATER; beside it, what to import."""
    folder = tmp_path_factory.mktemp("prepared")
    path = folder / "memory.db"
    with open_store(path) as memory:
        for user in ("ana", "bob"):
            texts = [statement(n, len(user) + ord(user[0])) for n in range(48)]
            if user == "ana":
                texts[3] = f"My secret place is called {PLANTED}."
            messages = [{"role": "user", "content": text, "at": AT} for text in texts]
            memory.add(messages[:40], user_id=user, session_id="s")
            memory.end_session(user_id=user, session_id="s")
            memory.add(messages[40:], user_id=user, session_id="idle")
        memory.flush()
        memory.distil(user_id="ana")
    lines = [f'{{"role": "user", "content": "{statement(n, 3)}", "user_id": "cid"}}' for n in range(350)]
    path.with_suffix(".jsonl").write_text("\n".join(lines), encoding="utf-8")
    return path


@dataclass(frozen=True, slots=True)
class Verb:
    """How a verb is called, and with which model its store is opened afterwards."""

    call: Callable[[Memory, Path], object]
    embedder: Callable[[], object] = lambda: "hashing"


VERBS = {
    "erase": Verb(lambda memory, path: memory.erase(user_id="ana")),
    "maintain": Verb(lambda memory, path: memory.maintain(now=LATER)),
    "reembed": Verb(lambda memory, path: memory.reembed(OtherEmbedder()), OtherEmbedder),
    "reindex": Verb(lambda memory, path: memory.reindex()),
    "import": Verb(lambda memory, path: memory.import_(path.with_suffix(".jsonl"))),
}


def copy(prepared: Path, folder: Path) -> Path:
    for suffix in (".db", ".jsonl"):
        shutil.copy(prepared.with_suffix(suffix), folder / f"memory{suffix}")
    return folder / "memory.db"


def run(path: Path, mode: str, *, statement: int | None = None, after: float = 0.0) -> int:
    """Start a child that does the verb and kill it; its exit code."""
    command = [sys.executable, str(CHILD), mode, str(path), "0", *([] if statement is None else [str(statement)])]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    if statement is None:
        child.stdout.readline()
        time.sleep(after)
        os.kill(child.pid, signal.SIGKILL)
    _, err = child.communicate(timeout=120)
    assert child.returncode in (0, -signal.SIGKILL), err.decode()
    return child.returncode


def finish(path: Path, mode: str) -> tuple[list[list[tuple[Any, ...]]], tuple[Disagreement, ...]]:
    """Open the store, do the verb (again) and all queued work; the state it comes to."""
    verb = VERBS[mode]
    try:
        memory = open_store(path)
        memory.stats()
        verb.call(memory, path)
    finally:
        memory.close()
    with open_store(path, verb.embedder()) as memory:
        memory.flush()
        return state(memory), memory.check()


@pytest.fixture(scope="module")
def undisturbed(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, int]]:
    """Of each verb, what it comes to and how many statements its writer runs."""
    found = {}
    for mode, verb in VERBS.items():
        path = copy(prepared, tmp_path_factory.mktemp(mode))
        statements: list[str] = []
        with open_store(path) as memory:
            memory._async._engine.store._writer.set_trace_callback(statements.append)  # type: ignore[attr-defined]
            verb.call(memory, path)
        with open_store(path, verb.embedder()) as memory:
            memory.flush()
            assert memory.check() == ()
            found[mode] = (state(memory), len(statements))
    return found


def check(path: Path, mode: str, undisturbed: dict[str, tuple[Any, int]]) -> None:
    after, disagreements = finish(path, mode)
    assert disagreements == ()
    assert after == undisturbed[mode][0]
    if mode == "erase":
        for file in path.parent.glob("memory.db*"):
            assert PLANTED.encode() not in file.read_bytes(), file.name


def test_every_verb_changes_something(prepared: Path, undisturbed: dict[str, tuple[Any, int]]) -> None:
    with open_store(prepared) as memory:
        before = state(memory)
    assert {mode for mode in UPKEEP if undisturbed[mode][0] == before} == {"reindex"}


@pytest.mark.parametrize("mode", UPKEEP)
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_verb_that_was_killed_can_be_repeated(
    prepared: Path, undisturbed: dict[str, tuple[Any, int]], tmp_path: Path, mode: str, share: float
) -> None:
    path = copy(prepared, tmp_path)
    assert run(path, mode, statement=max(1, int(undisturbed[mode][1] * share))) == -signal.SIGKILL
    check(path, mode, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize("mode", UPKEEP)
def test_many_kills_of_a_verb(
    prepared: Path, undisturbed: dict[str, tuple[Any, int]], tmp_path_factory: pytest.TempPathFactory, mode: str
) -> None:
    rng = random.Random(mode)
    killed = 0
    for turn in range(ROUNDS):
        path = copy(prepared, tmp_path_factory.mktemp(f"{mode}{turn}"))
        for _ in range(3):
            if rng.random() < 0.5:
                code = run(path, mode, statement=rng.randrange(1, undisturbed[mode][1] + 1))
            else:
                code = run(path, mode, after=rng.uniform(0.0, 0.15))
            killed += code != 0
            if code == 0 and mode == "reembed":  # the store has its new model: the next child could not open it
                break
        check(path, mode, undisturbed)
    print(f"\n{mode:<10} rounds {ROUNDS}  kills {killed}  differing from undisturbed 0", end="")
