"""What is derived can be made anew with the same answers (invariant 4) or another model; check tells when wrong."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memstrata import Memory
from memstrata.clock import SetClock
from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import EmbedderError, ModelMismatchError


class OtherEmbedder(HashingEmbedder):
    """The first half of the hashing embedder's vectors under another name; breaks after so many texts."""

    def __init__(self, texts: int | None = None) -> None:
        super().__init__()
        self.name, self.dim = "other", self.dim // 2
        self.left = texts
        self.embedded = 0

    async def embed(self, texts: Any, *, query: bool = False) -> np.ndarray:
        self.embedded += len(texts)
        if self.left is not None and self.embedded > self.left:
            raise EmbedderError("cut")
        vectors = (await super().embed(texts, query=query))[:, : self.dim]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: np.ndarray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return scaled


def sql(memory: Memory, statement: str, *params: object) -> int:
    return memory._run(memory._async._engine.store.write(lambda db: db.run(statement, params)))


def test_reindexing_changes_no_answer(tmp_path: Path, past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        past.live(memory, clock)
        before = past.answers(memory)
        steps: list[tuple[str, int, int]] = []
        counts = memory.reindex(progress=lambda *step: steps.append(step))
        assert counts["owners"] == 3
        assert steps == [("owners", n, 3) for n in (1, 2, 3)]
        assert past.answers(memory) == before
        assert memory.check() == ()
        for table in ("units", "vectors"):
            sql(memory, f"DELETE FROM {table}")
        assert memory.check()
        memory.reindex()
        assert memory.check() == ()
        memory.flush()
        assert past.answers(memory) == before
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        assert past.answers(memory) == before


def test_a_cut_reindex_goes_on_where_it_stopped(past: SimpleNamespace) -> None:
    clock, embedder = SetClock(past.START), OtherEmbedder()
    with past.open_memory(":memory:", clock, embedder=embedder) as memory:
        for name in ("ana", "bob", "cid"):
            past.talk(memory, [*past.EN, f"I am called {name} by all."], clock, user_id=name)
        embedder.left, embedder.embedded = 40, 0
        with pytest.raises(EmbedderError):
            memory.reindex()
        embedder.left = None
        done: list[int] = []
        counts = memory.reindex(progress=lambda what, n, total: done.append(total))
        assert counts["owners"] == 3 - 1 == len(done)
        assert memory.reindex()["owners"] == 3
        assert memory.check() == ()


def test_check_names_what_is_wrong(past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock) as memory:
        past.live(memory, clock)
        assert memory.check() == ()
        for statement, table, derived in (
            ("UPDATE vectors SET terms = '' WHERE owner = 'u:ana' AND unit = 3", "vectors", True),
            ("UPDATE vectors SET terms = terms || ' zzz' WHERE owner = 'u:ana' AND unit = 4", "vectors", True),
            ("INSERT INTO vectors VALUES ('default', 'u:ana', 99, 0, 'm', 1, 0, 'z', x'00', NULL)", "vectors", True),
            ("DELETE FROM vectors WHERE owner = 'u:ana' AND unit = 5", "vectors", True),
            ("UPDATE vectors SET model = 'x' WHERE owner = 'u:bob' AND unit = 1", "vectors", True),
            ("DELETE FROM units WHERE owner = 'u:ana' AND no = 6", "units", True),
            ("DELETE FROM units WHERE owner = 'a:solo' AND no = 1", "units", True),
            ("UPDATE turns SET tier = 'hot' WHERE owner = 'u:ana' AND no = 1", "sessions", False),
            ("UPDATE turns SET page = 99 WHERE owner = 'u:bob' AND no = 2", "turns", False),
            ("DELETE FROM names WHERE owner = 'u:ana' AND name = 'rome'", "names", False),
            ("INSERT INTO links VALUES ('default', 'u:ana', 1, 999, 'related', 1.0, '', 'op')", "links", False),
            ("INSERT INTO evidence VALUES ('default', 'u:ana', 1, 999)", "evidence", False),
            ("INSERT INTO served VALUES ('default', 'u:ana', '', '', 999)", "served", False),
            ("UPDATE owners SET next_turn = 2 WHERE owner = 'u:bob'", "owners", False),
        ):
            before = set(memory.check())
            assert sql(memory, statement) >= 1, statement
            new = set(memory.check()) - before
            assert table in {finding.table for finding in new}, statement
            if derived:
                memory.reindex()
                assert set(memory.check()) == before, statement


def test_another_model_is_refused_with_the_command_that_moves_the_store(past: SimpleNamespace, tmp_path: Path) -> None:
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        past.talk(memory, past.EN, clock, user_id="ana")
    with past.open_memory(tmp_path / "m.db", clock, embedder=OtherEmbedder()) as memory:
        for call in (
            lambda: memory.recall("tea", user_id="ana"),
            lambda: memory.add("More tea.", user_id="ana"),
            memory.reindex,
        ):
            with pytest.raises(ModelMismatchError, match="memstrata reembed --embedder"):
                call()


def test_reembed_moves_the_store_and_this_memory(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, other = SetClock(past.START), OtherEmbedder()
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        past.live(memory, clock)
        counts = memory.reembed(other)
        assert counts["vectors"] >= counts["embedded"] > 0
        assert memory.check() == ()
        assert past.answers(memory)
        memory.flush()
        memory.remember("I bought a boat.", user_id="ana")
        assert "boat" in memory.recall("boat", user_id="ana")[0].text
        assert memory.check() == ()
    # The same as a store that had this model from the start.
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock, embedder=OtherEmbedder()) as memory:
        past.talk(memory, past.EN, clock, user_id="ana")
        first = [hit.score for hit in memory.recall("violin", user_id="ana", touch=False)]
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock) as memory:
        past.talk(memory, past.EN, clock, user_id="ana")
        memory.reembed(OtherEmbedder())
        assert [hit.score for hit in memory.recall("violin", user_id="ana", touch=False)][:3] == first[:3]
    with past.open_memory(tmp_path / "m.db", SetClock(past.START), embedder=OtherEmbedder()) as memory:
        assert memory.check() == ()
        assert memory.reembed() == {"embedded": 0, "vectors": 0}


def test_a_cut_reembed_leaves_the_old_model_and_goes_on(tmp_path: Path, past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        past.live(memory, clock)
        before = past.answers(memory)
        with pytest.raises(EmbedderError):
            memory.reembed(OtherEmbedder(texts=30))
        assert past.answers(memory) == before
        assert memory.check() == ()
        memory.erase(user_id="bob")
        full = OtherEmbedder()
        memory.reembed(full)
        assert full.embedded > 0
        assert sql(memory, "DELETE FROM next_vectors") == 0
        assert memory.check() == ()


KILLED = """
    import os, sys
    import numpy as np
    from memstrata import Memory
    from memstrata.embed.hashing import HashingEmbedder

    class Killer(HashingEmbedder):
        calls = 0

        def __init__(self):
            super().__init__()
            self.name, self.dim = "other", 64

        async def embed(self, texts, *, query=False):
            self.calls += 1
            if self.calls == 3:
                os.kill(os.getpid(), 9)
            vectors = (await super().embed(texts, query=query))[:, :64]
            return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    memory = Memory(sys.argv[1], embedder="hashing", worker=False)
    memory.reembed(Killer())
"""


def test_a_killed_reembed_leaves_a_store_that_answers(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        past.live(memory, clock)
        memory.flush()
        before = past.answers(memory)
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(path)], check=False)
    assert killed.returncode == -9
    with past.open_memory(path, clock) as memory:
        assert past.answers(memory) == before
        assert memory.check() == ()
        rest, whole = OtherEmbedder(), memory.stats()["vectors"]["count"]
        memory.reembed(rest)
        assert 0 < rest.embedded < whole
        assert memory.check() == ()
        assert memory.stats()["vectors"]["dim"] == 64
