from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memstrata import AsyncMemory
from memstrata.clock import SetClock
from memstrata.errors import EmbedderError, TimeError
from memstrata.journal.jobs import lease, new_holder, release
from memstrata.ledger.maintain import FADED_NOTES, IDLE_SESSIONS
from memstrata.store.base import Db
from memstrata.store.sqlite import SqliteStore

NOW = datetime(2023, 5, 8, 9, tzinfo=UTC)
NOTHING = {"sessions": 0, "pages": 0, "distilled": 0, "folded": 0, "forgotten": 0, "purged": 0, "erased": 0}
TABLES = (
    "owners scopes sessions turns pages notes evidence links names decisions operations changes jobs units"  # noqa: SIM905
    " vectors".split()
)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.fixture
async def memory(clock: SetClock) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(":memory:", embedder="hashing", clock=clock, worker=False) as opened:
        yield opened


async def rows(memory: AsyncMemory, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables, but for the leases, which tell of work and not of memory."""

    def read(db: Db) -> dict[str, list[tuple[Any, ...]]]:
        return {
            table: sorted((tuple(row) for row in db.all(f"SELECT * FROM {table}")), key=repr)
            for table in tables or TABLES
        }

    return await memory._engine.store.read(read)


def turns(count: int, text: str = "My cat number {n} is called Miso {n}", **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "name": "Ana", "content": text.format(n=n), **more} for n in range(count)]


# sessions -------------------------------------------------------------------------------------------------------------


async def test_a_session_ends_when_nothing_was_recorded_for_six_hours(memory: AsyncMemory, clock: SetClock) -> None:
    old = NOW - timedelta(days=400)
    await memory.add(turns(7, at=old), user_id="u", session_id="s")
    clock.advance(hours=6)
    assert await memory.maintain() == NOTHING  # imported: said long ago, but recorded just now
    clock.advance(seconds=1)
    assert await memory.maintain() == {**NOTHING, "sessions": 1, "pages": 2}
    assert await memory.maintain() == NOTHING


async def test_a_session_ends_by_its_scopes_clock(memory: AsyncMemory) -> None:
    await memory.add(turns(2, at=NOW - timedelta(hours=1)), user_id="u", session_id="late")
    await memory.add(turns(2, at=NOW - timedelta(hours=8)), user_id="u", session_id="early")
    await memory.add(turns(2, at=NOW - timedelta(hours=8)), user_id="u", agent_id="bot", session_id="another clock")
    await memory.add(turns(2, at=NOW - timedelta(hours=8)), user_id="v", session_id="another user")
    assert await memory.maintain() == {**NOTHING, "sessions": 1, "pages": 1}
    states = {row[3]: row[6] for row in (await rows(memory, "sessions"))["sessions"]}
    assert states == {"late": "open", "early": "ended", "another clock": "open", "another user": "open"}


async def test_many_sessions_end_in_batches(memory: AsyncMemory, clock: SetClock) -> None:
    for n in range(230):
        await memory.add("hello", user_id=f"u{n}", agent_id="bot" if n % 2 else None, session_id="s")
    await memory.add("hello", agent_id="alone", session_id="s")
    clock.advance(hours=7)
    assert await memory.maintain() == {**NOTHING, "sessions": 231, "pages": 231}


# distilling, now ------------------------------------------------------------------------------------------------------


async def test_pages_that_cooled_are_distilled(memory: AsyncMemory) -> None:
    await memory.add(turns(100), user_id="u", session_id="s")
    done = await memory.maintain()
    assert done["distilled"] > 0
    assert await memory.maintain() == NOTHING
    assert (await memory.stats())["tiers"]["distilled_pages"] == done["distilled"]


async def test_now_stands_in_for_the_clock_of_one_call(memory: AsyncMemory, clock: SetClock) -> None:
    await memory.add(turns(100), user_id="u", session_id="s")
    later = NOW + timedelta(hours=7)
    done = await memory.maintain(now=later.isoformat())
    assert done["sessions"] == 1
    assert done["distilled"] > 0
    assert clock.now() == memory._engine.now() == NOW
    found = await rows(memory, "notes", "jobs")
    assert found["jobs"] == []  # the pages of the session that ended "later" were worked on too
    listed = await memory.list(user_id="u")
    assert listed.notes
    assert {note.recorded_at for note in listed} == {later}
    with pytest.raises(TimeError, match="now"):
        await memory.maintain(now="2023-05-08T10:00:00")


async def test_one_call_equals_a_hundred(tmp_path: Path) -> None:
    stores = []
    for name, calls in (("one", 1), ("many", 100)):
        clock = SetClock(NOW)
        async with AsyncMemory(tmp_path / name, embedder="hashing", clock=clock, worker=False) as memory:
            numbers = iter(range(10**6))
            memory._engine.operation_id = lambda numbers=numbers: f"op_{next(numbers):06}"  # type: ignore[misc]
            await memory.add(turns(100), user_id="u", session_id="s")
            await remembered(memory, "I am tired and hungry today", kind="ephemeral")
            await memory.flush()
            for days in (1, 20, 60, 240):
                clock.set(NOW + timedelta(days=days))
                for _ in range(calls):
                    await memory.maintain()
            stores.append(await rows(memory))
            listed = await memory.list(user_id="u", include_forgotten=True)
            assert "forgotten" in {note.state for note in listed}
            assert "purge" in {row[4] for row in stores[-1]["operations"]}
    assert stores[0] == stores[1]


# forgetting -----------------------------------------------------------------------------------------------------------


async def remembered(memory: AsyncMemory, text: str, **more: Any) -> str:
    receipt = await memory.remember(text, user_id="u", **more)
    note = receipt.candidates[0].note
    assert note is not None
    return note


async def test_faded_notes_are_forgotten(memory: AsyncMemory, clock: SetClock) -> None:
    small = await remembered(memory, "I am tired and hungry today", kind="ephemeral")
    tea = await remembered(memory, "I love green tea from Uji", kind="preference")
    before = await memory.get(small, user_id="u")
    assert before.forgets_at is not None
    clock.set(before.forgets_at - timedelta(seconds=1))
    assert await memory.maintain() == NOTHING
    clock.set(before.forgets_at)
    assert await memory.maintain() == {**NOTHING, "forgotten": 1}
    assert [note.id for note in await memory.list(user_id="u")] == [tea]
    assert (await memory.history(small, user_id="u"))[-1].verb == "sweep"


async def test_pinned_notes_are_never_forgotten(memory: AsyncMemory, clock: SetClock) -> None:
    pinned = await remembered(memory, "My bicycle is parked in the yard", kind="ephemeral")
    await memory.pin(pinned, user_id="u")
    clock.advance(days=4000)
    assert await memory.maintain() == NOTHING
    assert (await memory.get(pinned, user_id="u")).state == "current"


async def test_forgetting_keeps_content_and_vector_and_a_restored_note_ranks_as_before(
    memory: AsyncMemory, clock: SetClock
) -> None:
    note = await remembered(memory, "昨日、京都で抹茶を飲みました", kind="ephemeral")
    await remembered(memory, "I love green tea from Uji", kind="preference")
    before = await memory.recall("京都の抹茶", user_id="u", kinds=["ephemeral", "preference"], touch=False)
    vectors = (await rows(memory, "vectors"))["vectors"]
    clock.advance(days=20)
    assert (await memory.maintain())["forgotten"] == 1
    assert note not in [hit.id for hit in await memory.recall("京都の抹茶", user_id="u", touch=False)]
    assert (await rows(memory, "vectors"))["vectors"] == vectors
    restored = await memory.restore(note, user_id="u")
    after = await memory.recall("京都の抹茶", user_id="u", kinds=["ephemeral", "preference"], touch=False)
    assert restored.content == before[0].text
    assert (after[0].id, round(after[0].score, 6)) == (note, round(before[0].score, 6))


async def test_what_the_sweep_forgot_does_not_hide_its_turns(memory: AsyncMemory, clock: SetClock) -> None:
    await remembered(memory, "My bicycle is parked in the yard", kind="ephemeral")
    clock.advance(days=20)
    await memory.maintain()
    hits = await memory.recall("bicycle yard", user_id="u", touch=False)
    assert [(hit.kind, "bicycle" in hit.text) for hit in hits] == [("turn", True)]


async def test_what_was_forgotten_is_purged_after_the_grace_period(memory: AsyncMemory, clock: SetClock) -> None:
    note = await remembered(memory, "My bicycle is parked in the yard", kind="ephemeral")
    clock.advance(days=20)
    await memory.maintain()
    clock.advance(days=30)
    assert await memory.maintain() == NOTHING
    clock.advance(seconds=1)
    assert await memory.maintain() == {**NOTHING, "purged": 1}
    assert note not in repr(await rows(memory, "notes", "evidence", "links", "decisions"))


async def test_nothing_fades_with_forgetting_off(clock: SetClock) -> None:
    async with AsyncMemory(":memory:", embedder="hashing", clock=clock, worker=False, forgetting=False) as memory:
        await remembered(memory, "My bicycle is parked in the yard", kind="ephemeral")
        clock.advance(days=4000)
        assert await memory.maintain() == NOTHING


# cost -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "params", "index"),
    [
        (IDLE_SESSIONS, ("default", 0, 0, 1), "sessions_idle"),
        (FADED_NOTES, ("default", 0, 1), "notes_forget"),
        (
            "SELECT owner, no FROM notes WHERE tenant = ? AND state IN ('forgotten', 'removed', 'undone')"
            " AND closed_at < ? ORDER BY closed_at, owner, no LIMIT ?",
            ("default", 0, 1),
            "notes_purge",
        ),
    ],
)
async def test_what_is_due_is_found_by_an_index(
    memory: AsyncMemory, sql: str, params: tuple[object, ...], index: str
) -> None:
    plan = await memory._engine.store.read(
        lambda db: [row["detail"] for row in db.all(f"EXPLAIN QUERY PLAN {sql}", params)]
    )
    assert any(f"USING INDEX {index}" in step or f"USING COVERING INDEX {index}" in step for step in plan), plan
    assert not any(step.startswith("SCAN") for step in plan), plan


# flush ----------------------------------------------------------------------------------------------------------------


async def test_flush_counts_what_it_ran_and_ends_no_session(memory: AsyncMemory, clock: SetClock) -> None:
    await memory.add(turns(13), user_id="u", session_id="s")
    clock.advance(days=2)
    empty = {"index": 0, "page": 0, "distill": 0, "remember": 0, "failed": 0, "waiting": 0}
    assert await memory.flush() == {**empty, "index": 1, "page": 1}
    assert await memory.flush() == empty
    assert (await memory.stats())["tiers"] == {"hot_turns": 8, "warm_pages": 1, "distilled_pages": 0}


class Failing:
    """An embedder that fails while it is told to."""

    name, dim = "failing", 8
    fails = True

    async def embed(self, texts: Any, *, query: bool = False) -> Any:
        import numpy as np

        if self.fails:
            raise EmbedderError("no power")
        return np.full((len(texts), 8), 8**-0.5, dtype=np.float32)

    async def close(self) -> None:
        pass


async def test_flush_does_not_wait_for_a_retry_but_counts_it(clock: SetClock) -> None:
    embedder = Failing()
    async with AsyncMemory(":memory:", embedder=embedder, clock=clock, worker=False) as memory:
        await memory.add(turns(13), user_id="u", session_id="s")
        done = await memory.flush()
        assert (done["failed"], done["waiting"]) == (2, 2)
        embedder.fails = False
        assert (await memory.flush())["waiting"] == 2
        clock.advance(seconds=2)
        assert await memory.flush() == {"index": 1, "page": 1, "distill": 0, "remember": 0, "failed": 0, "waiting": 0}


async def test_flush_waits_for_what_another_worker_has_in_hand(tmp_path: Path, clock: SetClock) -> None:
    async with AsyncMemory(tmp_path / "m.db", embedder="hashing", clock=clock, worker=False) as memory:
        await memory.add(turns(13), user_id="u", session_id="s")
        other, holder = SqliteStore(tmp_path / "m.db"), new_holder()
        assert await other.write(lambda db: lease(db, "default", "u:u", holder, 60))
        flushing = asyncio.create_task(memory.flush())
        await asyncio.sleep(0.3)
        assert not flushing.done()
        await other.write(lambda db: release(db, "default", "u:u", holder))
        assert (await asyncio.wait_for(flushing, 10))["page"] == 1
        await other.close()


async def test_flush_and_the_background_do_each_job_once(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "m.db", embedder="hashing") as memory:
        for n in range(20):
            await memory.add(turns(13), user_id=f"u{n}", session_id="s")
        await memory.flush()
        verbs = [row[4] for row in (await rows(memory, "operations"))["operations"]]
        assert verbs.count("page") == 20
        assert (await rows(memory, "jobs"))["jobs"] == []


@pytest.mark.parametrize("here", [True, False])
async def test_only_on_its_own_machine_is_a_worker_known_to_be_dead(
    tmp_path: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    """The number of a process says nothing on another machine, even one that has the same name."""
    async with AsyncMemory(tmp_path / "m.db", embedder="hashing", clock=clock, worker=False) as memory:
        await memory.add(turns(1), user_id="u", session_id="s")
        store = memory._engine.store
        machine, _, started, own = new_holder().split("|")
        name, _, rest = machine.partition("/")
        gone = "|".join((machine if here else f"{name}/other{rest}", "4194305", started, own))  # above any number
        assert await store.write(lambda db: lease(db, "default", "u:u", gone, 60))
        assert await store.write(lambda db: lease(db, "default", "u:u", new_holder(), 60)) is here
