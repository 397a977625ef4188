"""kill -9 at any instant: what was acknowledged is there exactly once, and the work goes on where it stood.

Each round starts a process, kills it, opens the store again and compares it with what the process had printed. A normal
run does one round of each kind; `-m soak` does ROUNDS at random instants and prints their figures.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Row, connect
from typing import Any

import pytest
from tests_crash_child import AT, SETTINGS, statement

from memstrata import Memory, SetClock
from memstrata.clock import Clock, SystemClock
from memstrata.journal.jobs import new_holder

CHILD = Path(__file__).with_name("child.py")
ROUNDS = 30
MADE = ("admitted", "admitted_superseding", "superseded_on_arrival")  # outcomes that make a note
KILLS = 3  # in a row on one store, in each round


def rows(path: Path, sql: str) -> list[dict[str, Any]]:
    with closing(connect(path)) as db:
        db.row_factory = Row
        return [dict(row) for row in db.execute(sql)]


@dataclass
class Life:
    """What the processes of a round acknowledged, and what was found after their deaths."""

    path: Path
    clock: Clock = field(default_factory=SystemClock)
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    kills: int = 0
    finished: int = 0  # processes that ended before they were killed
    recovery: float = 0.0  # seconds from opening to the end of the queue, the longest
    jobs_left: int = 0
    leases_left: int = 0

    def run(self, mode: str, seed: int, *, after: float = 0.0, lines: int = 0, statement: int | None = None) -> None:
        """Start a child and kill it, so long after it has printed so many lines, or at a statement of its own."""
        command = [sys.executable, str(CHILD), mode, str(self.path), str(seed)]
        command += [] if statement is None else [str(statement)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None
        read = [child.stdout.readline() for _ in range(lines)]
        if statement is None:
            time.sleep(after)
            os.kill(child.pid, signal.SIGKILL)
        out, err = child.communicate(timeout=120)
        assert child.returncode in (0, -signal.SIGKILL), err.decode()
        self.kills += child.returncode != 0
        self.finished += child.returncode == 0
        told = b"".join([*read, out]).splitlines(keepends=True)
        events = [json.loads(line) for line in told if line.endswith(b"\n")]
        self.acknowledged += [event for event in events if "operation" in event]
        if self.path.exists() and rows(self.path, "SELECT 1 FROM sqlite_master WHERE name = 'jobs'"):
            self.jobs_left += rows(self.path, "SELECT count(*) AS n FROM jobs")[0]["n"]
            self.leases_left += rows(self.path, "SELECT count(*) AS n FROM owners WHERE lease_holder <> ''")[0]["n"]

    def check(self) -> None:
        """Open the store as a new process would, finish its work, and compare."""
        with Memory(self.path, **SETTINGS, worker=False, clock=self.clock) as memory:
            if self.acknowledged:
                self.check_turns(memory)  # before any work is done
            began = time.monotonic()
            done = memory.flush()
            self.recovery = max(self.recovery, time.monotonic() - began)
            assert (done["failed"], done["waiting"]) == (0, 0), done
            assert memory.check() == ()
            self.check_turns(memory)
            self.check_notes(memory)

    def check_turns(self, memory: Memory) -> None:
        """Every acknowledged turn once, in one tier; of what was not acknowledged, whole calls or nothing."""
        turns = rows(self.path, "SELECT * FROM turns ORDER BY no")
        assert len({(turn["session"], turn["position"]) for turn in turns}) == len(turns)
        assert len({turn["no"] for turn in turns}) == len(turns)
        found = Counter((f"t{turn['no']}", turn["session"], turn["position"], turn["text"]) for turn in turns)
        for event in self.acknowledged:
            for turn, position, text in event["turns"]:
                assert found[turn, event["session"], position, text] == 1, (turn, text)
        pages = {page["no"]: page for page in rows(self.path, "SELECT * FROM pages")}
        calls: Counter[tuple[str, int]] = Counter()
        for turn in turns:
            assert (turn["tier"] == "page") == (turn["page"] is not None)
            if turn["tier"] == "page":
                page = pages[turn["page"]]
                assert page["session"] == turn["session"]
                assert page["first"] <= turn["position"] <= page["last"]
            if turn["metadata"] is not None:
                call = json.loads(turn["metadata"])
                calls[call["call"], call["of"]] += 1
        assert all(stored == of for (_, of), stored in calls.items())
        for event in self.acknowledged:
            receipt = memory.receipt(event["operation"], user_id="ana")
            assert [[each.turn, each.position] for each in receipt.messages] == [turn[:2] for turn in event["turns"]]

    def check_notes(self, memory: Memory) -> None:
        """No job was done twice, no note is there twice, and every outcome that a receipt names is true."""
        operations = rows(self.path, "SELECT id, verb, payload FROM operations")
        jobs = Counter(
            (each["verb"], json.loads(each["payload"])["job"])
            for each in operations
            if each["verb"] in ("page", "distill")
        )
        assert all(times == 1 for times in jobs.values()), jobs.most_common(1)
        notes = {note["id"]: note for note in rows(self.path, "SELECT * FROM notes")}
        statements = Counter((note["statement"], note["state"]) for note in notes.values())
        assert all(times == 1 for times in statements.values()), statements.most_common(1)
        decisions = rows(self.path, "SELECT * FROM decisions")
        decided = Counter((each["turn"], json.loads(each["body"])["candidate"]["text"]) for each in decisions)
        assert all(times == 1 for times in decided.values()), decided.most_common(1)
        made = Counter(each["note"] for each in decisions if each["outcome"] in MADE)
        assert made == Counter(notes.keys()), "one deciding for each note, one note for each deciding"
        evidence = {each["note"] for each in rows(self.path, "SELECT note FROM evidence")}
        assert {note["no"] for note in notes.values()} <= evidence
        for event in self.acknowledged:
            receipt = memory.receipt(event["operation"], user_id="ana")
            for outcome, note in event["outcomes"]:
                assert [outcome, note] in [[each.outcome, each.note] for each in receipt.candidates]
            if event["kind"] == "remember":
                assert len(receipt.candidates) == 1
            for each in receipt.candidates:
                assert (each.note in notes) == (each.outcome in (*MADE, "duplicate"))


def report(title: str, lives: list[Life]) -> None:
    """One row of figures for the soak's table."""
    acknowledged = sum(len(event["turns"]) for life in lives for event in life.acknowledged)
    print(
        f"\n{title:<34} rounds {len(lives):>3}  kills {sum(life.kills for life in lives):>4}"
        f"  ended first {sum(life.finished for life in lives):>3}  turns acknowledged {acknowledged:>6}  lost 0"
        f"  jobs found queued {sum(life.jobs_left for life in lives):>5}"
        f"  leases of the dead {sum(life.leases_left for life in lives):>3}"
        f"  longest recovery {max(life.recovery for life in lives):.2f} s",
        end="",
    )


# adds and remembers, with the worker beside them ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["add", "remember"])
def test_a_kill_from_outside_loses_nothing(tmp_path: Path, mode: str) -> None:
    life = Life(tmp_path / "memory.db")
    life.run(mode, 1, lines=12, after=0.05)
    life.check()
    assert life.kills == 1


@pytest.mark.parametrize("mode", ["add", "remember"])
def test_a_kill_in_the_middle_of_a_transaction_loses_nothing(tmp_path: Path, mode: str) -> None:
    life = Life(tmp_path / "memory.db")
    life.run(mode, 1, statement=700)
    life.check()
    assert life.kills == 1
    assert life.acknowledged


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["add", "remember"])
@pytest.mark.parametrize("way", ["outside", "statement"])
def test_many_kills(tmp_path: Path, mode: str, way: str) -> None:
    rng = random.Random(f"{mode}/{way}")
    lives = []
    for turn in range(ROUNDS):
        life = Life(tmp_path / f"{turn}.db")
        for kill in range(KILLS):
            if way == "outside":
                life.run(mode, kill, lines=rng.choice((0, 1, 1, 5)), after=rng.uniform(0.0, 1.0))
            else:
                life.run(mode, kill, statement=int(10 ** rng.uniform(0, 3.5)))
            life.check()
        lives.append(life)
    report(f"{mode}, killed {'from outside' if way == 'outside' else 'at a statement'}", lives)


# the queue: index, page and distill jobs ------------------------------------------------------------------------------


def prepare(path: Path) -> None:
    """A store whose turns are all still to be indexed, paged and distilled."""
    with Memory(path, **SETTINGS, worker=False, clock=SetClock(AT)) as memory:
        for start in range(0, 80, 8):
            messages = [{"role": "user", "content": statement(n, 7), "at": AT} for n in range(start, start + 8)]
            memory.add(messages, user_id="ana", session_id=f"s{start % 3}")
        for session in range(3):
            memory.end_session(user_id="ana", session_id=f"s{session}")


def outcome_of_work(path: Path) -> dict[str, list[Any]]:
    """What the work came to, without the ids that differ from run to run."""
    return {
        "notes": rows(
            path,
            "SELECT content, context, keywords, tags, names, kind, state, valid_from, valid_to, revision FROM notes"
            " ORDER BY content, no",
        ),
        "links": rows(
            path,
            "SELECT a.content AS source, b.content AS target, l.type, l.score FROM links l"
            " JOIN notes a ON a.no = l.source JOIN notes b ON b.no = l.target ORDER BY 1, 2, 3",
        ),
        "decisions": rows(path, "SELECT turn, outcome, score FROM decisions ORDER BY turn, outcome, score"),
        "pages": rows(path, "SELECT no, summary, state, h, cools_at FROM pages ORDER BY no"),
        "units": rows(path, "SELECT kind, count(*) AS n FROM units GROUP BY kind"),
        "terms": rows(path, "SELECT terms, count(*) AS n FROM vectors GROUP BY terms ORDER BY terms"),
    }


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "memory.db"
    prepare(path)
    return path


@dataclass
class Undisturbed:
    """What the prepared work comes to when nobody is killed, and how many statements it takes."""

    outcome: dict[str, list[Any]]
    statements: int


@pytest.fixture(scope="module")
def undisturbed(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    path = tmp_path_factory.mktemp("undisturbed") / "memory.db"
    shutil.copy(prepared, path)
    statements: list[str] = []
    with Memory(path, **SETTINGS, worker=False, clock=SetClock(AT)) as memory:
        memory._async._engine.store._writer.set_trace_callback(statements.append)  # type: ignore[attr-defined]
        assert memory.flush()["distill"] > 5
    found = outcome_of_work(path)
    assert len(found["notes"]) > 20
    return Undisturbed(found, len(statements))


@pytest.mark.parametrize("share", [0.01, 0.2, 0.4, 0.7, 0.99])
def test_work_that_was_killed_is_finished_as_if_it_had_not_been(
    prepared: Path, undisturbed: Undisturbed, tmp_path: Path, share: float
) -> None:
    """The first fifth or so is indexing, then pages and their distillation take turns."""
    life = Life(tmp_path / "memory.db", SetClock(AT))
    shutil.copy(prepared, life.path)
    life.run("work", 0, statement=int(undisturbed.statements * share))
    assert life.kills == 1
    assert life.jobs_left
    life.check()
    assert outcome_of_work(life.path) == undisturbed.outcome


@pytest.mark.soak
def test_many_kills_of_the_work(prepared: Path, undisturbed: Undisturbed, tmp_path: Path) -> None:
    rng = random.Random("work")
    lives = []
    for turn in range(ROUNDS):
        life = Life(tmp_path / f"{turn}.db", SetClock(AT))
        shutil.copy(prepared, life.path)
        for _ in range(KILLS):
            if rng.random() < 0.5:
                life.run("work", 0, statement=rng.randrange(1, undisturbed.statements // 2))
            else:
                life.run("work", 0, lines=1, after=rng.uniform(0.0, 0.8))
        life.check()
        assert outcome_of_work(life.path) == undisturbed.outcome
        lives.append(life)
    report("index, page and distill jobs", lives)


# leases ---------------------------------------------------------------------------------------------------------------


def test_the_lease_of_a_dead_process_is_taken_over_at_once(prepared: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(prepared, path)
    dead = subprocess.run(
        [sys.executable, "-c", "from memstrata.journal.jobs import new_holder; print(new_holder())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    in_an_hour = (time.time_ns() + 3600 * 10**9) // 1000
    with closing(connect(path)) as db:
        db.execute("UPDATE owners SET lease_holder = ?, lease_until = ?", (dead, in_an_hour))
        db.commit()
    with Memory(path, **SETTINGS, worker=False, clock=SetClock(AT)) as memory:
        done = memory.flush()
    assert done["waiting"] == 0
    assert done["distill"]


def test_the_lease_of_a_living_process_is_left_to_it_until_it_ends(prepared: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(prepared, path)
    held = (time.time_ns() + int(0.7e9)) // 1000
    with closing(connect(path)) as db:
        db.execute("UPDATE owners SET lease_holder = ?, lease_until = ?", (new_holder(), held))
        db.commit()
    with Memory(path, **SETTINGS, worker=False, clock=SetClock(AT)) as memory:
        began = time.time_ns() // 1000
        assert memory.flush()["waiting"] == 0
        assert time.time_ns() // 1000 > held > began
