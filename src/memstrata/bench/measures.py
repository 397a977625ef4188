"""What is measured: every figure of one run, on one machine, at one time, so that ratios mean something."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from memstrata import AsyncMemory, Memory
from memstrata.bench.encoder import BenchEncoder
from memstrata.bench.row import Row
from memstrata.bench.talk import SESSION_TURNS, questions, sessions
from memstrata.bench.upkeep import upkeep

ADDS = 300
THREADS = 8
IMPORTED = 5_000  # turns
WINDOW = 500  # turns that a point of the CPU curve is measured on
QUESTIONS = 60
RECALL_NOTES = 12_500  # up to so many notes (10,000 turns make about as many) a recall has a limit
USER = "ben"


def quantiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p95, in milliseconds."""
    cuts = statistics.quantiles(seconds, n=20)
    return statistics.median(seconds) * 1e3, cuts[18] * 1e3


def start(folder: Path) -> Iterator[Row]:
    """Importing, in a fresh process; the median of five."""
    code = "import time; t = time.perf_counter(); import memstrata; print(time.perf_counter() - t)"
    yield Row("import memstrata", _median(code), "ms", 150.0)
    code = (
        "import sys, time; from memstrata import Memory; m = Memory(sys.argv[1], worker=False);"
        " print(time.process_time()); m.close()"
    )
    yield Row("a process that opens a memory, CPU", _median(code, str(folder / "start.db")), "ms", 350.0)


def _median(code: str, *arguments: str) -> float:
    """The median of the seconds that a program prints, run five times, in milliseconds."""
    command = [sys.executable, "-c", code, *arguments]
    taken = [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    return statistics.median(taken) * 1e3


def durability(folder: Path) -> Iterator[Row]:
    """An `add` of one turn, beside an append and fdatasync of one page of 4096 bytes in the same folder."""
    messages = [message for session in islice(sessions(), 1 + ADDS * 2 // 20) for message in session.messages]
    syncs, adds = [], []
    handle = os.open(folder / "sync", os.O_RDWR | os.O_CREAT, 0o600)
    encoder = BenchEncoder()
    with Memory(folder / "adds.db", embedder=encoder, worker=False) as memory:
        for n, message in enumerate(messages[:ADDS]):  # turn and turn about: a busy disk is busy for both
            os.pwrite(handle, b"m" * 4096, n * 4096)
            begun = time.perf_counter()
            os.fdatasync(handle)
            synced = time.perf_counter()
            memory.add(message, user_id=USER, session_id="s")
            adds.append(time.perf_counter() - synced)
            syncs.append(synced - begun)
        one = ADDS / sum(adds)
        together = _threads(memory, messages)
    os.close(handle)
    (sync, late_sync), (add, late_add) = quantiles(syncs), quantiles(adds)
    yield Row("fdatasync of one page, p50", sync, "ms")
    yield Row("fdatasync of one page, p95", late_sync, "ms")
    yield Row("durable add of a turn, p50", add, "ms", 1.5 * sync)
    yield Row("durable add of a turn, p95", late_add, "ms", 6 * add)
    yield Row("adds a second, one thread", one, "1/s")
    yield Row(f"adds a second, {THREADS} threads", together, "1/s")
    yield Row(f"{THREADS} threads over one", together / one, "x", 4.0, floor=True)


def _threads(memory: Memory, messages: Sequence[dict[str, object]]) -> float:
    """Turns a second when THREADS threads add at once."""
    share = ADDS // THREADS

    def work(n: int) -> None:
        for message in messages[n * share : (n + 1) * share]:
            memory.add(message, user_id=USER, session_id=f"thread {n}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return THREADS * share / (time.perf_counter() - begun)


def bandwidth() -> Iterator[Row]:
    """What reading memory costs at best: no exact search over vectors is faster."""
    vectors = np.ones(32 * 2**20, dtype=np.float32)
    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        vectors.sum()
        taken.append(time.perf_counter() - begun)
    yield Row("memory read by one numpy scan", vectors.nbytes / min(taken) / 1e9, "GB/s")


def importing(folder: Path) -> Iterator[Row]:
    """A file of messages in: stored with their log, then indexed (terms and vectors; what the encoder takes is not)."""
    lines = [
        json.dumps({"role": message["role"], "content": message["content"], "session_id": session.id}, default=str)
        for session in islice(sessions(), IMPORTED // SESSION_TURNS)
        for message in session.messages
    ]
    file = folder / "import.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    encoder = BenchEncoder()
    with Memory(folder / "import.db", embedder=encoder, worker=False) as memory:
        begun = time.perf_counter()
        memory.import_(file, user_id=USER)
        stored = time.perf_counter() - begun
        begun, encoding = time.perf_counter(), encoder.wall
        memory.recall("the harbour", user_id=USER, touch=False)  # waiting turns are indexed first
        indexed = time.perf_counter() - begun - (encoder.wall - encoding)
    yield Row("import, turns stored a second", len(lines) / stored, "1/s")
    yield Row("import, turns indexed a second", len(lines) / indexed, "1/s")
    yield Row("import, turns stored and indexed a second", len(lines) / (stored + indexed), "1/s", 6000.0, floor=True)


class Growing:
    """One user's store that grows: what a turn and a recall cost at each size."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.encoder = BenchEncoder()
        self.memory = AsyncMemory(path, embedder=self.encoder, worker=False)
        self.turns = 0
        self._sessions = sessions()

    async def grow(self, turns: int, *, singly: bool = False) -> float:
        """Add so many turns, sessions whole, all queued work done; returns CPU ms a turn beside the encoder."""
        begun, encoding, added = time.process_time(), self.encoder.cpu, 0
        while added < turns:
            session = next(self._sessions)
            batches = [[message] for message in session.messages] if singly else [session.messages]
            for messages in batches:
                await self.memory.add(messages, user_id=USER, session_id=session.id)
                await self._work()
            await self.memory.end_session(user_id=USER, session_id=session.id)
            await self._work()
            added += len(session.messages)
        self.turns += added
        spent = time.process_time() - begun - (self.encoder.cpu - encoding)
        return spent * 1e3 / added

    async def _work(self) -> None:
        done = await self.memory.flush()
        if done.get("failed"):
            raise RuntimeError(f"a job failed, so these figures would say nothing: {done}")

    async def reach(self, turns: int) -> None:
        if turns > self.turns:
            await self.grow(turns - self.turns)

    async def recalls(self, *, touch: bool) -> list[float]:
        """Seconds of CPU of each recall, beside the encoder; of those that touch, with what they write.

        The questions are different ones. Where nothing is written, each is asked three times and its quickest counts:
        what else the machine does is no cost of a recall.
        """
        spent = []
        for question in dict.fromkeys(questions(QUESTIONS + 3)):
            tries = []
            for _ in range(1 if touch else 3):
                begun = time.process_time() - self.encoder.cpu
                await self.memory.recall(question, user_id=USER, k=10, touch=touch)
                if touch:
                    await self._work()
                tries.append(time.process_time() - self.encoder.cpu - begun)
            spent.append(min(tries))
        return spent[3:]  # the first ones load the index

    async def notes(self) -> int:
        """How many notes there are."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])

    async def reopen(self) -> tuple[float, float]:
        """Milliseconds to open this store, and of its first recall, beside the encoder."""
        await self.memory.close()
        taken = []
        for _ in range(5):
            begun = time.perf_counter()
            memory = AsyncMemory(self.path, embedder=self.encoder, worker=False)
            taken.append(time.perf_counter() - begun)
            await memory.close()
        self.memory = AsyncMemory(self.path, embedder=self.encoder, worker=False)
        begun, encoding = time.perf_counter(), self.encoder.wall
        await self.memory.recall(questions(1)[0], user_id=USER, touch=False)
        first = time.perf_counter() - begun - (self.encoder.wall - encoding)
        return statistics.median(taken) * 1e3, first * 1e3


def size(growing: Growing) -> Iterator[Row]:
    """Bytes a turn of each table, its indexes with it."""
    with contextlib.closing(sqlite3.connect(growing.path)) as connection:
        found = connection.execute(
            "SELECT coalesce(s.tbl_name, d.name) AS tbl, sum(d.pgsize) AS bytes FROM dbstat d"
            " LEFT JOIN sqlite_schema s ON s.name = d.name GROUP BY tbl ORDER BY bytes DESC"
        ).fetchall()
    for table, count in found:
        if count / growing.turns >= 10:
            yield Row(f"bytes a turn, {table}", count / growing.turns, "B")
    yield Row("bytes a turn", sum(count for _, count in found) / growing.turns, "B")


async def growth(folder: Path, sizes: Sequence[int], say: Callable[[str], None]) -> list[Row]:
    """The cost of a turn and of a recall as one user's store grows."""
    growing = Growing(folder / "growing.db")
    rows: list[Row] = []
    for turns in sizes:
        say(f"growing to {turns:,} turns")
        await growing.reach(turns - WINDOW)
        rows.append(Row(f"CPU a turn at {turns:,} turns, by session", await growing.grow(WINDOW), "ms", 2.0))
        notes = await growing.notes()
        middle, late = quantiles(await growing.recalls(touch=False))
        limit = 5.0 if notes <= RECALL_NOTES else None
        rows.append(Row(f"recall at {notes:,} notes, CPU p50", middle, "ms", limit))
        rows.append(Row(f"recall at {notes:,} notes, CPU p95", late, "ms"))
        if turns == sizes[0]:
            rows.append(
                Row("CPU a turn, one add a turn", await growing.grow(WINDOW, singly=True), "ms", 2.0),
            )
            rows.extend(size(growing))
        opening, first = await growing.reopen()
        rows.append(Row(f"open a store of {turns:,} turns", opening, "ms", 10.0))
        rows.append(Row(f"first recall at {turns:,} turns", first, "ms"))
    costs = [row.value for row in rows if row.name.endswith("by session")]
    if len(costs) > 1:
        rows.append(Row("CPU a turn, largest store over smallest", costs[-1] / costs[0], "x", 1.25))
    recalled = [row.value for row in rows if row.name.startswith("recall at") and row.name.endswith("p50")]
    rows.append(Row("recall, largest store over smallest", recalled[-1] / recalled[0], "x"))
    middle, late = quantiles(await growing.recalls(touch=True))  # the last: an access changes what cools when
    rows.append(Row("recall that touches, with its writes, CPU p50", middle, "ms"))
    rows.append(Row("recall that touches, with its writes, CPU p95", late, "ms"))
    await growing.memory.close()
    return rows


def measure(folder: Path, sizes: Sequence[int], say: Callable[[str], None]) -> list[Row]:
    """Every figure."""
    rows: list[Row] = []
    for what, part in (
        ("starting", start(folder)),
        ("durable adds", durability(folder)),
        ("memory", bandwidth()),
        ("importing", importing(folder)),
        ("upkeep", upkeep(folder)),
    ):
        say(what)
        rows.extend(part)
    rows.extend(asyncio.run(growth(folder, sizes, say)))
    return rows
