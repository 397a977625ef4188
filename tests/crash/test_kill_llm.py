"""kill -9 between any two steps of a page with a model, and of upkeep that condenses.

The same notes as without it, and no call twice beyond the one that was cut.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from sqlite3 import connect

import pytest

from memstrata import Memory, SetClock

from .child_llm import ALIKE, AT, FOLDED, SETTINGS

EVERY = 3  # so many statements are between two that are killed at, of all shares of the soak together
SHARES = 12  # of the soak, each a test of its own
CHILD = Path(__file__).with_name("child_llm.py")
SAID = [
    "I moved to Porto last May.",
    "My sister Lena bakes bread in Alfama.",
    "I play the cello in an orchestra.",
    "My cat is called Momo.",
    "I work at the harbour museum.",
    "Lena opened a second bakery in Alfama.",
    "The orchestra plays Mahler this winter.",
    "Momo had three kittens in March.",
    "The harbour museum closes on Mondays.",
    "I bought a new bow for my cello.",
]
PAGES = 2
CALLS = 2 * PAGES + 1  # and one that condenses


Whole = tuple[Path, dict[str, object], int]


def prepare(path: Path) -> Path:
    """A store with two notes that are nearly the same, and two pages whose work is queued."""
    with Memory(path, clock=SetClock(AT), **SETTINGS) as memory:
        for text in ALIKE:
            memory.remember(text, user_id="mara")
        messages = [
            {"role": "user", "name": "Mara", "content": text, "at": AT - timedelta(days=9, minutes=-n)}
            for n, text in enumerate(SAID)
        ]
        memory.add(messages, user_id="mara")
        memory.end_session(user_id="mara")
    return path


def run(path: Path, *how: str) -> list[str]:
    """Run the child; the calls that it made of the model."""
    log = path.with_suffix(".log")
    log.write_text("")
    child = subprocess.run([sys.executable, str(CHILD), str(path), str(log), *how], capture_output=True, timeout=120)
    assert child.returncode in (0, -signal.SIGKILL), child.stderr.decode()
    return log.read_text().split()


def statements_of(path: Path) -> int:
    """How many statements the child's writer ran, as it told at its end."""
    return int(path.with_suffix(".statements").read_text())


def known(path: Path) -> dict[str, object]:
    """What the store holds, without ids."""
    with closing(connect(path)) as db:
        notes = {no: row for no, *row in db.execute("SELECT no, content, context, tags, state FROM notes")}
        links = [
            (notes[source][0], notes[target][0], kind)
            for source, target, kind in db.execute("SELECT source, target, type FROM links")
        ]
        decisions = Counter(row[0] for row in db.execute("SELECT outcome FROM decisions"))
        jobs = db.execute("SELECT count(*) FROM jobs").fetchone()[0]
        waiting = db.execute("SELECT count(*) FROM calls WHERE answer IS NOT NULL").fetchone()[0]
        pages = sorted(db.execute("SELECT summary, state FROM pages"))
    return {
        "notes": sorted(map(json.dumps, notes.values())),
        "links": sorted(links),
        "decisions": decisions,
        "pages": pages,
        "left": (jobs, waiting),
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The prepared store, what an undisturbed process makes of it, and with how many statements."""
    folder = tmp_path_factory.mktemp("whole")
    prepared = prepare(folder / "prepared.db")
    path = Path(shutil.copy(prepared, folder / "whole.db"))
    assert Counter(run(path)) == {"page": PAGES, "notes": PAGES, "fold": 1}
    found = known(path)
    assert len(found["notes"]) == len(SAID) + len(ALIKE) + 1  # type: ignore[arg-type]
    assert sum(FOLDED in note for note in found["notes"]) == 2  # type: ignore[attr-defined]
    assert found["left"] == (0, 0)
    return prepared, found, statements_of(path)


def check(whole: Whole, path: Path, *how: str) -> int:
    """Kill a process, let another finish, compare; the calls that both made."""
    prepared, expected, _ = whole
    shutil.copy(prepared, path)
    calls = [*run(path, *how), *run(path)]
    assert known(path) == expected
    return len(calls)


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_a_call_that_was_cut_is_made_again_and_no_other(whole: Whole, tmp_path: Path, number: int) -> None:
    assert check(whole, tmp_path / "memory.db", "call", str(number)) == CALLS


@pytest.mark.parametrize("statement", range(20, 260, 40))
def test_killed_at_a_statement(whole: Whole, tmp_path: Path, statement: int) -> None:
    assert check(whole, tmp_path / "memory.db", "statement", str(statement)) <= CALLS + 1


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1, 1 + SHARES * EVERY, EVERY))
def test_killed_at_every_third_statement(whole: Whole, tmp_path: Path, first: int) -> None:
    """Each share has its statements, up to the end of the work: all of them together are every third."""
    for statement in range(first, whole[2] + 1, SHARES * EVERY):
        assert check(whole, tmp_path / f"{statement}.db", "statement", str(statement)) <= CALLS + 1
