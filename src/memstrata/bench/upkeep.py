"""What upkeep costs when the store around it grows and what is due stays the same."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from memstrata import Memory, SetClock
from memstrata.bench.encoder import BenchEncoder
from memstrata.bench.row import Row
from memstrata.bench.talk import sessions
from memstrata.store.rows import to_us

DUE = 60  # statements whose notes fade together
AROUND = (1_000, 100_000)  # notes of other people that do not
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
FADED = START + timedelta(days=3000)
NEVER = START + timedelta(days=300_000)


def upkeep(folder: Path) -> Iterator[Row]:
    """Milliseconds of CPU of one `maintain` that forgets what is due, by how many notes lie around it."""
    taken = []
    for around in AROUND:
        taken.append(_maintain(folder / f"upkeep{around}.db", around) * 1e3)
        yield Row(f"upkeep of {DUE} statements among {around:,} other notes, CPU", taken[-1], "ms")
    yield Row("upkeep, a store 100 times larger over the smaller", taken[-1] / taken[0], "x", 1.5)


def _maintain(path: Path, around: int) -> float:
    with Memory(path, embedder=BenchEncoder(), worker=False, clock=SetClock(START)) as memory:
        said = (str(message["content"]) for session in sessions() for message in session.messages)
        for text in islice(said, DUE):
            memory.remember(text, user_id="ben")
        memory.flush()
        memory.maintain()
        surround(path, around)
        begun = time.process_time()
        done = memory.maintain(now=FADED)
        spent = time.process_time() - begun
    if done["forgotten"] < DUE // 2:
        raise RuntimeError(f"too little was due, so this says nothing: {done}")
    return spent


def surround(path: Path, count: int) -> None:
    """Add so many notes of a hundred other people, which fade never, as copies of one that is there."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.row_factory = sqlite3.Row
        one = dict(connection.execute("SELECT * FROM notes LIMIT 1").fetchone())
        marks = ", ".join(f":{name}" for name in one)
        connection.executemany(
            f"INSERT INTO notes ({', '.join(one)}) VALUES ({marks})",
            (
                {**one, "owner": f"u:other{n % 100}", "no": n, "id": f"n{n}", "forgets_at": to_us(NEVER)}
                for n in range(1, count + 1)
            ),
        )
