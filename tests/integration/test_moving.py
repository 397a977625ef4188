"""Moving in from mem0, A-MEM and MemoryOS: files as those programs write them, through our gate, all told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Bench
from typer.testing import CliRunner

from memstrata.cli.app import app
from memstrata.errors import InputError, LLMUnavailableError
from memstrata.llm.fakes import ScriptedLLM
from memstrata.moving.amem import read_amem
from memstrata.moving.mem0 import read_mem0
from memstrata.moving.memoryos import read_memoryos

from .scripts import sensible

MEM0 = [
    {
        "id": "a1",
        "memory": "I live in Porto.",
        "hash": "x",
        "user_id": "ana",
        "created_at": "2024-03-01T10:00:00+00:00",
    },
    {"id": "a2", "memory": "I live in Lyon now.", "hash": "y", "user_id": "ana", "created_at": "2025-03-01T10:00:00Z"},
    {
        "id": "k1",
        "memory": "私は大阪に住んでいます。",
        "hash": "z",
        "user_id": "kenji",
        "created_at": "2025-01-05T09:00:00+09:00",
        "categories": ["personal"],
        "metadata": {"source": "chat"},
    },
    {"id": "bad", "hash": "w", "user_id": "ana"},
]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return path


@pytest.mark.parametrize("shape", ["list", "results", "lines"])
def test_mem0_export_goes_through_the_gate(bench: Bench, tmp_path: Path, shape: str) -> None:
    path = tmp_path / "mem0.json"
    if shape == "lines":
        path.write_text("\n".join(json.dumps(item) for item in MEM0))
    else:
        write(path, MEM0 if shape == "list" else {"results": MEM0})
    moved = bench.memory.import_from("mem0", path)
    assert sum(moved.statements.values()) == 3
    assert [each.why.split(" (")[0] for each in moved.unread] == ["no text"]
    current = {note.content: note for note in bench.memory.list(user_id="ana")}
    (lyon,) = current.values()  # the later home superseded the earlier one, though the file had them in any order
    assert lyon.content.endswith("I live in Lyon now.")
    assert lyon.metadata["source_id"] == "a2"
    assert lyon.trust == "import"
    assert lyon.said_at.year == 2025
    (osaka,) = bench.memory.list(user_id="kenji", filters={"source": "chat"}).notes
    assert "大阪" in osaka.content
    assert "personal" in osaka.tags


def test_a_move_can_be_repeated(bench: Bench, tmp_path: Path) -> None:
    path = write(tmp_path / "mem0.json", MEM0)
    first = bench.memory.import_from("mem0", path)
    before = bench.rows("SELECT count(*) AS n FROM turns")
    again = bench.memory.import_from("mem0", path)
    assert again.statements == first.statements  # the first receipts again
    assert bench.rows("SELECT count(*) AS n FROM turns") == before


def test_mem0_history(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
            " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        db.execute(
            "CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT,"
            " created_at DATETIME)"
        )
        at = "2025-02-01T08:00:00+00:00"
        events = [
            ("1", "m1", None, "Likes tea", "ADD", at, None, 0, None, None),
            ("2", "m1", "Likes tea", "My favourite drink is green tea.", "UPDATE", at, at, 0, None, None),
            ("3", "m2", None, "Owns a boat", "ADD", at, None, 0, None, None),
            ("4", "m2", "Owns a boat", None, "DELETE", at, at, 1, None, None),
        ]
        db.executemany(f"INSERT INTO history VALUES ({', '.join('?' * 10)})", events)
        db.execute(
            "INSERT INTO messages VALUES ('s1', 'run_id=r%3D1&user_id=ana', 'user', '我住在上海。', NULL, ?)", (at,)
        )
        db.commit()
    with pytest.raises(InputError, match="whose they are"):
        bench.memory.import_from("mem0", tmp_path)
    moved = bench.memory.import_from("mem0", tmp_path, user_id="ana")
    assert moved.messages == {"stored": 1}
    assert [note.content for note in bench.memory.list(user_id="ana")] == ["My favourite drink is green tea."]
    (turn,) = bench.rows("SELECT id, session, text FROM turns WHERE trust = 'import' AND session = 'r=1'")
    assert turn == {"id": "mem0:s1", "session": "r=1", "text": "我住在上海。"}


NOTE = {
    "id": "n1",
    "content": "My sister Rosa lives in Braga.",
    "keywords": ["sister", "Rosa"],
    "links": [],
    "retrieval_count": 0,
    "timestamp": "202503041530",
    "last_accessed": "202503041530",
    "context": "Family",
    "evolution_history": [],
    "category": "Uncategorized",
    "tags": ["family"],
}


def test_amem_notes_as_json(bench: Bench, tmp_path: Path) -> None:
    path = write(tmp_path / "notes.json", {"n1": {k: v for k, v in NOTE.items() if k != "id"}, "n2": {"content": " "}})
    with pytest.raises(InputError, match="no zone"):
        bench.memory.import_from("a-mem", path, user_id="ana")
    assert bench.rows("SELECT * FROM turns") == []
    moved = bench.memory.import_from("a-mem", path, user_id="ana", tz="Europe/Lisbon")
    assert [each.where for each in moved.unread] == ["note n2"]
    (note,) = bench.memory.list(user_id="ana").notes
    assert note.said_at.isoformat() == "2025-03-04T15:30:00+00:00"
    assert note.metadata["context"] == "Family"
    assert note.metadata["keywords"] == ["sister", "Rosa"]
    assert "family" in note.tags


def test_amem_chroma_folder(bench: Bench, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "chroma.sqlite3")) as db:
        db.execute("CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB)")
        db.execute(
            "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER,"
            " float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key))"
        )
        db.execute("INSERT INTO embeddings VALUES (1, 's', 'n1', x'00')")
        rows = [(1, name, v if isinstance(v, str) else json.dumps(v)) for name, v in NOTE.items() if name != "id"]
        db.executemany("INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", rows)
        db.execute(
            "INSERT INTO embedding_metadata (id, key, string_value) VALUES (1, 'chroma:document', ?)",
            (NOTE["content"],),
        )
        db.commit()
    (statement,) = read_amem(tmp_path).statements
    assert (statement.id, statement.text, statement.tags) == ("n1", NOTE["content"], ("family",))
    assert statement.at == "2025-03-04T15:30"


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "memory_cache.pkl"
    path.write_bytes(b"\x80\x04cposix\nsystem\n.")
    with pytest.raises(InputError, match="to open one is to run it"):
        read_amem(path)


def memoryos(root: Path) -> Path:
    at = "2025-04-01 09:30:00"
    user = root / "users" / "ana"
    write(
        user / "short_term.json",
        [{"user_input": "明日は京都へ行きます。", "agent_response": "いいですね。", "timestamp": at}],
    )
    page = {"page_id": "p1", "user_input": "I adopted a cat named Miso.", "agent_response": "Lovely!", "timestamp": at}
    write(user / "mid_term.json", {"sessions": {"s1": {"details": [page]}, "s2": {}}, "access_frequency": {}})
    write(
        user / "long_term_user.json",
        {
            "user_profiles": {"ana": {"data": "【User Profile】\n- My favourite coffee is the flat white.\n- None"}},
            "knowledge_base": [{"knowledge": "- I work at Globex as an engineer.", "timestamp": at}],
            "assistant_knowledge": [],
        },
    )
    knowledge = [{"knowledge": "The shop opens at nine.", "timestamp": at}]
    write(root / "assistants" / "helper" / "long_term_assistant.json", {"assistant_knowledge": knowledge})
    return root


def test_memoryos_folder(bench: Bench, tmp_path: Path) -> None:
    moved = bench.memory.import_from("memoryos", memoryos(tmp_path / "data"), tz="Asia/Tokyo")
    assert moved.messages == {"stored": 4}
    assert [each.where.rsplit(": ", 1)[1] for each in moved.unread] == ["session s2"]
    contents = {note.content for note in bench.memory.list(user_id="ana")}
    assert contents == {"My favourite coffee is the flat white.", "I work at Globex as an engineer."}
    assert bench.memory.list(agent_id="helper").notes  # of the assistant, and of no user
    assert all("shop" not in content for content in contents)
    hits = bench.memory.recall("What is the cat called?", user_id="ana", k=1)
    assert "Miso" in hits[0].text
    assert hits[0].evidence[0].at == datetime(2025, 4, 1, 0, 30, tzinfo=UTC)


def test_a_cut_file_of_memoryos_is_listed_and_the_rest_read(tmp_path: Path) -> None:
    root = memoryos(tmp_path / "data")
    cut = root / "users" / "ana" / "mid_term.json"
    cut.write_text(cut.read_text()[:40])
    found = read_memoryos(root)
    assert [Path(each.where).name for each in found.unread] == ["mid_term.json"]
    assert len(found.messages) == 2


@pytest.mark.parametrize("system", ["mem0", "a-mem", "memoryos"])
def test_what_is_no_store_is_refused(bench: Bench, tmp_path: Path, system: Any) -> None:
    with pytest.raises(InputError, match="does not exist"):
        bench.memory.import_from(system, tmp_path / "nowhere")
    with pytest.raises(InputError, match="looked for"):
        bench.memory.import_from(system, tmp_path, user_id="ana")
    with pytest.raises(InputError, match="unknown system"):
        bench.memory.import_from("zep", tmp_path)  # type: ignore[arg-type]


def test_a_list_of_other_things(tmp_path: Path) -> None:
    found = read_mem0(write(tmp_path / "x.json", [1, "text", None, {"memory": ""}]))
    assert len(found.unread) == 4
    assert found.statements == []


def test_the_command_tells_what_came_over_and_what_did_not(tmp_path: Path) -> None:
    path = write(tmp_path / "mem0.json", MEM0)
    done = CliRunner().invoke(
        app, ["import", "--from", "mem0", str(path), "--store", str(tmp_path / "m.db"), "--embedder", "hashing"]
    )
    assert done.exit_code == 0, done.output
    assert "moved in from mem0" in done.output
    assert "admitted_superseding 1" in done.output
    assert "not taken: item 4: no text" in done.output
    assert "Moved(" not in done.output


def test_statements_share_the_call_of_a_page(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    """With a model as many as a page has turns are decided at once; what each is and has stays its own."""
    said = [
        "I live in Porto.",
        "My sister Lena bakes bread in Alfama.",
        "妹のミアはリスボンでパンを焼いています。",
        "我妹妹小雨在里斯本烤面包。",
        "I play the cello in an orchestra.",
        "I live in Lyon now.",
        "My sister Lena sells bread in Alfama.",
    ]
    items = [
        {
            "id": f"m{n}",
            "memory": text,
            "user_id": "ana",
            "created_at": f"2024-03-{n + 1:02}T10:00:00Z",
            "categories": [f"kind{n}"],
            "metadata": {"n": n},
        }
        for n, text in enumerate(said)
    ]
    path = write(tmp_path / "mem0.json", items)
    llm = ScriptedLLM(sensible)
    bench = make_bench(llm=llm, policy="open")
    moved = bench.memory.import_from("mem0", path)
    assert sum(moved.statements.values()) == len(said)
    assert [request.stage for request in llm.requests] == ["notes"] * 2
    notes = {note.content: note for note in bench.notes(user_id="ana", all_states=True)}
    for n, text in enumerate(said):
        assert notes[text].metadata["source_id"] == f"m{n}"
        assert f"kind{n}" in notes[text].tags
        assert text in [turn.text for turn in notes[text].evidence]
    assert notes["I live in Porto."].superseded_by == notes["I live in Lyon now."].id
    assert not bench.memory.check()
    calls = len(llm.requests)
    again = bench.memory.import_from("mem0", path)
    assert sum(again.statements.values()) in (0, len(said))
    assert len(bench.notes(user_id="ana", all_states=True)) == len(said)
    assert len(llm.requests) == calls


def test_statements_wait_together_for_a_model_that_is_down(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    down = [LLMUnavailableError("down")]
    llm = ScriptedLLM(lambda request: down.pop() if down else sensible(request))
    bench = make_bench(llm=llm, policy="open", job_backoff_seconds=1.0)
    items = [
        {"id": f"m{n}", "memory": text, "user_id": "ana", "created_at": "2024-03-01T10:00:00Z"}
        for n, text in enumerate(["Lena bakes bread in Alfama.", "Lena sells bread in Alfama."])
    ]
    moved = bench.memory.import_from("mem0", write(tmp_path / "mem0.json", items))
    assert dict(moved.statements) == {"deferred": 2}
    assert bench.notes(user_id="ana") == []
    bench.clock.advance(seconds=60)
    assert bench.memory.flush()["remember"] == 1
    assert len(bench.notes(user_id="ana")) == 2
