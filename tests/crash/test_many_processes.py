"""Many processes on one store, each with its share of writes and reads; a clock that is set back. Nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from tests import servers
from tests.conftest import NOW, ON_POSTGRES, SOON_COOL, Bench, rows_of

from memstrata import Memory

SAID = ("I visited Town{n} yesterday.", "昨日、第{n}公園にいました。", "我昨天去了第{n}医院。")

PROCESS = """
import sys
from memstrata import Memory

where, kind, n, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
said = sys.argv[5:]
sys.stdin.readline()  # all start together
with Memory(where, embedder="hashing", alpha=0.5, beta=0.55, worker=n % 2 == 0) as memory:
    for k in range(count):
        if kind == "write":
            text = said[k % 3].format(n=f"{n}x{k}")
            message = {"role": "user", "content": text, "id": f"m{k}"}
            receipt = memory.add(message, user_id=f"u{n % 3}", session_id=f"s{n}")
            assert receipt.messages[0].outcome == "stored", receipt
            print(text, flush=True)
        else:  # what is seen of a session has no gap and only grows
            turns = memory.context("Town", user_id=f"u{n % 3}", session_id=f"s{n}", strategy="window").turns
            places = [turn.position for turn in turns]
            assert places == list(range(places[0], places[0] + len(places))) if places else True, places
            memory.recall("Town 公園 医院", user_id=f"u{n % 3}", k=5)
"""


def run(path: Path, writers: int, readers: int, count: int) -> None:
    """So many writers and readers at once; then the store holds what was acknowledged, each once, and is sound."""
    where = servers.address_for(path) if ON_POSTGRES else str(path)
    with Memory(path, embedder="hashing") as memory:
        memory.stats()  # the store is there
    shares = [("write", n) for n in range(writers)] + [("read", n) for n in range(readers)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, where, kind, str(n), str(count), *SAID],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for kind, n in shares
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    acknowledged: Counter[tuple[str, str]] = Counter()
    for (_, n), each in zip(shares, running, strict=True):
        out, err = each.communicate(timeout=900)
        assert each.returncode == 0, err
        acknowledged.update((f"u:u{n % 3}", line) for line in out.splitlines())
    assert sum(acknowledged.values()) == writers * count
    with Memory(path, embedder="hashing", **SOON_COOL) as memory:
        done = memory.flush()
        assert (done["failed"], done["waiting"]) == (0, 0)
        assert memory.check() == ()
    turns = rows_of(path, "SELECT owner, text, session, position FROM turns")
    assert Counter((turn["owner"], turn["text"]) for turn in turns) == acknowledged
    places = Counter((turn["owner"], turn["session"], turn["position"]) for turn in turns)
    assert max(places.values()) == 1
    pages = rows_of(path, "SELECT owner, session, first FROM pages")
    assert len({tuple(page.values()) for page in pages}) == len(pages), "no page was made twice"


@pytest.mark.soak
def test_eight_processes_of_two_hundred_writes_with_readers(tmp_path: Path) -> None:
    run(tmp_path / "memory.db", 8, 3, 200)


def test_a_clock_that_is_set_back_breaks_nothing(bench: Bench) -> None:
    """By a year, in mid-conversation, with pages warm and notes fading; and forward again."""
    memory, clock = bench.memory, bench.clock
    for days in (0, -365, 1, -30, 400):
        clock.set(NOW + timedelta(days=days))
        for n, text in enumerate(SAID):
            memory.add(text.format(n=f"{days}x{n}"), user_id="ana", session_id="s")
        memory.remember(f"My cat number {days} is called Miso{days}.", user_id="ana")
        assert any("Town" in hit.text for hit in memory.recall("Town", user_id="ana", k=5))
        memory.maintain()
        memory.flush()
        assert memory.check() == ()
    turns = bench.rows("SELECT position FROM turns WHERE session = 's' AND tier <> 'transcript' ORDER BY no")
    assert [turn["position"] for turn in turns] == sorted(turn["position"] for turn in turns)
    assert bench.rows("SELECT count(*) AS n FROM turns") == [{"n": 20}]
    for note in bench.notes(all_states=True, user_id="ana"):
        assert 0 <= note.weight <= 1, note
    operations = [row["seq"] for row in bench.rows("SELECT seq FROM operations ORDER BY id")]
    assert len(operations) == len(set(operations))
    assert memory.stats()["jobs"]["failed"] == 0
