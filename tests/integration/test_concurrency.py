"""Threads and processes on one store: no error, no lost row, exact counts, and never a turn in two tiers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import servers
from tests.conftest import ON_POSTGRES, rows_of

from memstrata import Memory

SOON_COOL = {"alpha": 0.5, "beta": 0.55}
TURNS = 15
CONTENT = [
    "{who} visited Town{n} yesterday.",
    "昨日、{who}は第{n}公園にいました。",
    "{who}昨天去了第{n}医院。",
    "{who} has a cat called Miso{n}.",
]


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Run `work(n)` in so many threads that start together; raises what any of them raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def thread(n: int) -> None:
        try:
            barrier.wait()
            work(n)
        except BaseException as error:  # what a thread raises must reach the test
            errors.append(error)

    threads = [threading.Thread(target=thread, args=(n,)) for n in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []


def check_turns(path: Path, said: list[tuple[str, str]]) -> None:
    """The stored turns are those that were said, as (owner, text), each with its own place and in one tier."""
    turns = rows_of(path, "SELECT * FROM turns")
    assert Counter((turn["owner"], turn["text"]) for turn in turns) == Counter(said)
    for name in (("owner", "no"), ("owner", "session", "position")):
        assert len({tuple(turn[column] for column in name) for turn in turns}) == len(turns)
    pages = {(page["owner"], page["no"]): page for page in rows_of(path, "SELECT * FROM pages")}
    hot: Counter[tuple[str, str]] = Counter()
    for turn in turns:
        if turn["tier"] == "page":
            page = pages[turn["owner"], turn["page"]]
            assert page["session"] == turn["session"]
            assert page["first"] <= turn["position"] <= page["last"]
        else:
            assert turn["page"] is None
            hot[turn["owner"], turn["session"]] += turn["tier"] == "hot"
    for session in rows_of(path, "SELECT owner, session, hot FROM sessions"):
        assert session["hot"] == hot[session["owner"], session["session"]] <= 12
    positions: dict[tuple[str, str], list[int]] = {}
    for turn in turns:
        positions.setdefault((turn["owner"], turn["session"]), []).append(turn["position"])
    for found in positions.values():
        assert sorted(found) == list(range(1, len(found) + 1)), "no gap, none twice"


def text(n: int, k: int) -> str:
    return CONTENT[k % 4].format(who=f"P{n}", n=k)


@pytest.mark.parametrize("place", ["file", "memory"])
def test_eight_threads_on_one_memory(tmp_path: Path, place: str) -> None:
    """Four users of two threads each, two sessions a user, recalls and touches and the worker in between."""
    path = tmp_path / "memory.db"
    with Memory(path if place == "file" else ":memory:", embedder="hashing", **SOON_COOL) as memory:

        def work(n: int) -> None:
            user = f"u{n % 4}"
            for k in range(TURNS):
                receipt = memory.add(text(n, k), user_id=user, session_id=f"s{k % 2}")
                assert memory.receipt(receipt.operation, user_id=user).messages == receipt.messages
                found = memory.recall(text(n, k), user_id=user, k=5)
                assert any(text(n, k) in hit.text for hit in found), "what was acknowledged is found at once"
                assert all(
                    evidence.text.startswith((f"P{n}", f"P{(n + 4) % 8}", "昨日"))
                    for hit in found
                    for evidence in hit.evidence
                ), "of nobody else"
                if k % 5 == 0:
                    memory.context(text(n, k), user_id=user, session_id=f"s{k % 2}")
                    memory.stats(user_id=user)

        at_once(8, work)
        assert memory.flush()["waiting"] == 0
        stats = memory.stats()
        assert (stats["turns"], stats["jobs"]["queued"], stats["jobs"]["failed"]) == (8 * TURNS, 0, 0)
        assert [memory.stats(user_id=f"u{n}")["turns"] for n in range(4)] == [2 * TURNS] * 4
        assert memory.check() == ()
    if place == "file":
        check_turns(path, [(f"u:u{n % 4}", text(n, k)) for n in range(8) for k in range(TURNS)])


def test_eight_threads_that_remember_for_one_user(tmp_path: Path) -> None:
    """All of them plan against the same notes; each gets an outcome of its own, and a duplicate is told."""
    with Memory(tmp_path / "memory.db", embedder="hashing") as memory:
        outcomes: Counter[str] = Counter()

        def work(n: int) -> None:
            for k in range(6):
                mine = memory.remember(f"Friend{n}x{k} lives in Town{n}x{k}.", user_id="ana")
                shared = memory.remember(f"My cat number {k} is called Miso{k}.", user_id="ana")
                for receipt in (mine, shared):
                    outcomes[receipt.candidates[0].outcome] += 1

        at_once(8, work)
        memory.flush()
        contents = Counter(note.content for note in memory.list(user_id="ana", limit=500))
        assert contents == Counter(
            [f"Friend{n}x{k} lives in Town{n}x{k}." for n in range(8) for k in range(6)]
            + [f"My cat number {k} is called Miso{k}." for k in range(6)]
        )
        assert sum(outcomes.values()) == 96
        assert outcomes["failed"] == 0, outcomes
        assert outcomes["duplicate"] == 7 * 6
        assert memory.stats()["jobs"]["failed"] == 0
        assert memory.check() == ()


def test_one_idempotency_key_of_eight_threads_writes_once(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="hashing") as memory:
        operations: list[tuple[str, bool]] = []

        def work(n: int) -> None:
            for k in range(5):
                receipt = memory.add(f"I live in Town{k}.", user_id="ana", idempotency_key=f"key{k}")
                operations.append((receipt.operation, receipt.repeated))

        at_once(8, work)
        assert len({operation for operation, _ in operations}) == 5
        assert Counter(repeated for _, repeated in operations) == {False: 5, True: 35}
        assert memory.stats()["turns"] == 5


def test_one_message_id_of_eight_threads_is_stored_once(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="hashing") as memory:
        outcomes: Counter[str] = Counter()

        def work(n: int) -> None:
            for k in range(5):
                message = {"role": "user", "content": f"第{k}の町に住んでいます。", "id": f"m{k}"}
                outcomes[memory.add(message, user_id="ana", session_id="s").messages[0].outcome] += 1

        at_once(8, work)
        assert outcomes == {"stored": 5, "skipped": 35}
        assert memory.stats()["turns"] == 5


def test_closing_while_others_work_is_an_end_not_a_fault(tmp_path: Path) -> None:
    from memstrata.errors import ClosedError

    path = tmp_path / "memory.db"
    memory = Memory(path, embedder="hashing", **SOON_COOL)
    acknowledged: list[str] = []

    def work(n: int) -> None:
        if n == 0:
            while len(acknowledged) < 40:
                pass
            memory.close()
            return
        try:
            for k in range(10_000):
                memory.add(text(n, k), user_id="ana", session_id=f"s{n}")
                acknowledged.append(text(n, k))
                memory.recall("Town", user_id="ana")
        except ClosedError:
            return
        raise AssertionError("the memory was not closed")

    at_once(6, work)
    said = {row["text"] for row in rows_of(path, "SELECT text FROM turns")}
    assert set(acknowledged) <= said
    with Memory(path, embedder="hashing", **SOON_COOL) as again:
        assert again.flush()["waiting"] == 0
        assert again.check() == ()


WRITER = """
import json, sys
from memstrata import Memory

path, n, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
content = json.loads(sys.argv[4])
text = lambda k: content[k % 4].format(who=f"P{n}", n=k)
sys.stdin.readline()  # all start together
with Memory(path, embedder="hashing", alpha=0.5, beta=0.55) as memory:
    for k in range(turns):
        memory.add(text(k), user_id=f"u{n % 2}", session_id=f"s{k % 2}")
        found = memory.recall(text(k), user_id=f"u{n % 2}", k=5)
        assert any(text(k) in hit.text for hit in found), (text(k), [hit.text for hit in found])
        if k % 5 == 4:
            receipt = memory.remember(f"Friend{n}x{k} lives in Town{n}x{k}.", user_id=f"u{n % 2}")
            assert receipt.candidates[0].outcome == "admitted", receipt
    memory.flush()
print("done", n)
"""


def test_four_processes_on_one_new_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    address = servers.address_for(path) if ON_POSTGRES else str(path)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, address, str(n), str(TURNS), json.dumps(CONTENT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for n, writer in enumerate(writers):
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, out, err) == (0, f"done {n}\n", ""), err
    friends = [(f"u:u{n % 2}", f"Friend{n}x{k} lives in Town{n}x{k}.") for n in range(4) for k in range(4, TURNS, 5)]
    said = [(f"u:u{n % 2}", text(n, k)) for n in range(4) for k in range(TURNS)]
    with Memory(path, embedder="hashing", **SOON_COOL) as memory:
        assert memory.flush()["waiting"] == 0
        assert memory.check() == ()
        assert memory.stats()["turns"] == len(friends) + len(said)
        for owner, friend in friends:
            notes = [note.content for note in memory.list(user_id=owner[2:], limit=500)]
            assert notes.count(friend) == 1
    check_turns(path, friends + said)
    assert rows_of(path, "SELECT count(*) AS n FROM jobs") == [{"n": 0}]
