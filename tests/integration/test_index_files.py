"""Index files: the same answers with them and without, whatever happened to them; nothing stays in them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memstrata import Memory
from memstrata.clock import SetClock
from memstrata.index import file, parts
from memstrata.index.owner import OwnerIndex

PLANTS = ["quokka-marmalade-7714", "Wrzeszczykowski-Planted", "人工降雨計画第八百四十二号", "紫色的长颈鹿在月球上跳舞"]

QUESTIONS = ["Where do I live?", "cat", "violin", "京都に住んでいますか", "我住在哪里", "花生", "Rome in June"]


@pytest.fixture(autouse=True)
def kept_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small owners' indexes are kept too, at every chance."""
    monkeypatch.setattr(parts, "KEEP_FROM", 0)


def files_of(store: Path) -> list[Path]:
    return sorted(Path(f"{store}-index").rglob("*.index"))


def loaded(memory: Memory, user: str = "me", *, files: bool) -> OwnerIndex:
    """The user's index as a new process would have it."""
    engine = memory._async._engine
    index = OwnerIndex(
        "default", f"u:{user}", engine.embedder.dim, engine.embedder.name, engine.files if files else None
    )
    memory._run(engine.store.read(index.refresh))
    return index


def assert_same(one: OwnerIndex, other: OwnerIndex) -> None:
    mine, theirs = one.content(), other.content()
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        assert np.array_equal(array, theirs[name]), name


def test_an_index_from_its_file_is_the_one_from_the_tables(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        past.talk(memory, past.EN, clock, user_id="me", session_id="a")
        memory.flush()
        memory.recall("where do I live?", user_id="me", touch=False)  # a touch comes when it comes
        assert len(files_of(path)) == 1
        assert_same(loaded(memory, files=True), loaded(memory, files=False))
        # What comes after is added to what the file holds: edits, new words, another speaker, forgotten notes.
        past.talk(memory, [*past.JA, *past.ZH], clock, user_id="me", session_id="b", agent_id="helper")
        memory.flush()
        notes = memory.list(user_id="me").notes
        memory.update(notes[0].id, user_id="me", context="about bicycles", tags=["velodrome"])
        memory.forget(notes[1].id, user_id="me")
        memory.pin(notes[2].id, user_id="me")
        memory.flush()
        assert_same(loaded(memory, files=True), loaded(memory, files=False))
        assert memory.check() == ()
    with past.open_memory(path, clock) as memory:
        answers = [memory.recall(q, user_id="me", touch=False) for q in QUESTIONS]
        memory._async._engine.files = None
        memory._async._engine._indexes.drop("default", "u:me")
        assert answers == [memory.recall(q, user_id="me", touch=False) for q in QUESTIONS]


def test_a_torn_file_is_made_again_with_the_same_answers(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        past.talk(memory, past.EN, clock, user_id="me", session_id="a")
        memory.flush()
        answers = [memory.recall(q, user_id="me", touch=False) for q in QUESTIONS]
    (place,) = files_of(path)
    data = place.read_bytes()
    for torn in (
        b"",
        data[:20],
        data[:700],
        data[: len(data) // 2],
        data[:-1],
        b"\0" * len(data),
        data[:99] + b"x" + data[100:],
    ):
        place.write_bytes(torn)
        with past.open_memory(path, clock) as memory:
            assert answers == [memory.recall(q, user_id="me", touch=False) for q in QUESTIONS]
        file.verify(place)
        assert file.read_head(place) is not None


def test_check_tells_of_a_wrong_file_and_removes_it(tmp_path: Path, past: SimpleNamespace, monkeypatch: Any) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        past.talk(memory, past.ZH, clock, user_id="me", session_id="a")
        memory.flush()
        memory.recall("我住在哪里", user_id="me", touch=False)
    (place,) = files_of(path)
    found = file.read(place)
    assert found is not None
    said, arrays = found
    rows = said["index"]["counts"][1]
    arrays["row.vectors"][rows - 1] *= -1
    sizes = {name: np.array(array) for name, array in arrays.items()}
    del found, arrays
    monkeypatch.setattr(file, "SPARE", 10**9)
    monkeypatch.setattr(file, "ALIGNED", 64)
    file.write(place, said, sizes)
    with past.open_memory(path, clock) as memory:
        (wrong,) = memory.check()
        assert (wrong.table, "vectors" in wrong.problem) == ("index file", True)
        assert files_of(path) == []
        assert memory.check() == ()


@pytest.mark.parametrize("way", ["erase", "forget", "purge", "reindex"])
def test_nothing_that_went_stays_in_a_file(tmp_path: Path, past: SimpleNamespace, way: str) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        past.talk(memory, past.EN, clock, user_id="other", session_id="s")
        for text in PLANTS:
            memory.remember(f"I own the {text} patent.", user_id="me", tags=[text])
        past.talk(memory, past.EN, clock, user_id="me", session_id="s")
        memory.flush()
        for user in ("me", "other"):
            memory.recall("patent", user_id=user)
        assert len(files_of(path)) == 2
        links = []
        for n, place in enumerate(files_of(path)):
            links.append(tmp_path / f"bytes-{n}")
            links[-1].hardlink_to(place)
        mine = next(link for link in links if b"quokka" in link.read_bytes())
        notes = [note for note in memory.list(user_id="me").notes if any(text in note.content for text in PLANTS)]
        assert notes
        if way == "erase":
            assert memory.erase(user_id="me").complete
        elif way == "forget":
            for note in notes:
                memory.forget(note.id, user_id="me", hard=True)
        elif way == "purge":
            for note in notes:
                memory.forget(note.id, user_id="me")
            memory.recall("patent", user_id="me")
            clock.advance(days=40)
            assert memory.maintain()["purged"] >= len(notes)
        else:
            memory.reindex()
        if way != "purge":  # before it, maintenance had written the file anew
            assert not mine.read_bytes().strip(b"\0"), "overwritten, not only removed"
        if way == "erase":
            assert len(files_of(path)) == 1
        if way != "reindex":
            held = b"".join(place.read_bytes() for place in Path(f"{path}-index").rglob("*") if place.is_file())
            assert not [text for text in ("quokka", "wrzeszczykowski", "降雨", "长颈") if text.encode() in held]


def test_a_process_that_still_has_what_was_erased_keeps_nothing(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        memory.remember(f"I own the {PLANTS[0]} patent.", user_id="me")
        memory.flush()
        memory.recall("patent", user_id="me")
        engine = memory._async._engine
        old = loaded(memory, files=False)
        old._files, old._in_file = engine.files, True
        memory.erase(user_id="me")
        memory.remember("I play the violin.", user_id="me")
        memory.flush()
        assert old.is_to_keep
        memory._run(engine.keep(old))
        assert files_of(path) == []
        assert "violin" in memory.recall("violin", user_id="me")[0].text
        assert b"quokka" not in files_of(path)[0].read_bytes()


def test_a_file_of_another_history_is_not_taken(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"

    def say(lines: list[str]) -> None:
        with past.open_memory(path, clock) as memory:
            past.talk(memory, lines, clock, user_id="me", session_id=lines[0])
            memory.flush()
            memory.recall("where?", user_id="me", touch=False)

    say(past.EN[:2])
    backup = path.read_bytes()
    say(past.EN[2:5])
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    path.write_bytes(backup)
    with past.open_memory(path, clock) as memory:
        past.talk(memory, [*past.JA, *past.ZH], clock, user_id="me", session_id="other")
        memory.flush()
        assert_same(loaded(memory, files=True), loaded(memory, files=False))
        assert memory.check() == ()


def test_a_folder_that_cannot_be_written_only_costs_the_file(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    Path(f"{path}-index").write_text("in the way")
    with past.open_memory(path, clock) as memory:
        past.talk(memory, past.JA, clock, user_id="me", session_id="a")
        memory.flush()
        assert memory.recall("好きな食べ物", user_id="me").hits


KEEPER = """
    import sys
    import numpy as np
    from pathlib import Path
    from memstrata.index import file
    n = 0
    while True:
        n += 1
        file.write(Path(sys.argv[1]), {"n": n}, {"a": np.full((3000, 8), n, np.float32), "b": np.arange(n % 50)})
        print(n, flush=True)
"""


def test_a_writer_killed_at_any_instant_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    last = 0
    for pause in (0.0, 0.003, 0.01, 0.017):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KEEPER), str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(2):
            child.stdout.readline()
        time.sleep(pause)
        child.kill()
        said = [2, *(int(line) for line in child.stdout.read().split()[:-1])]
        child.wait()
        child.stdout.close()
        found = file.read(path)
        assert found is not None
        file.verify(path)
        assert found[0]["n"] >= said[-1]
        assert (found[1]["a"][:3000] == found[0]["n"]).all()
        last = max(last, found[0]["n"])
    assert last > 1
