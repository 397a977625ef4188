"""Runs through a folder with the real memory and the hashing embedder: resumed, compared, tabulated."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memstrata.embed.base import Vector
from memstrata.embed.hashing import HashingEmbedder, HashingTokenEmbedder
from memstrata.errors import InputError
from memstrata.evaluation.benchmark import Benchmark
from memstrata.evaluation.cache import CachedEmbedder
from memstrata.evaluation.compare import compare
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.options import Options
from memstrata.evaluation.run import run_system
from memstrata.evaluation.systems import System
from memstrata.evaluation.table import SYSTEMS, chosen, make_table, swept, under
from memstrata.llm.base import Request
from memstrata.llm.fakes import ScriptedLLM

Write = Callable[[Any], Path]
FAST = Options(embedder="hashing", clock="said")


@pytest.fixture
def data(write: Write, harbour: dict[str, Any]) -> Benchmark:
    return load_locomo(write([harbour, {**harbour, "sample_id": "other"}]))


def test_a_run_that_was_cut_is_gone_on_with(data: Benchmark, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    whole = run_system(data, System("memstrata"), FAST, folder, progress=False)
    assert {one.conversation for one in whole.answered} == {"harbour", "other"}
    first = (folder.path / "conversations" / "0000.json").read_bytes()
    (folder.path / "conversations" / "0001.json").unlink()  # as if it was cut after the first
    again = run_system(data, System("memstrata"), FAST, folder, progress=False)
    assert (folder.path / "conversations" / "0000.json").read_bytes() == first
    assert [one.ranking for one in again.answered] == [one.ranking for one in whole.answered]
    manifest = folder.manifest()
    assert manifest["finished"]
    assert manifest["system"]["name"] == "memstrata"
    assert manifest["versions"]["memstrata"]
    assert manifest["settings"]["hot_capacity"] == 12
    assert again.ingest.turns == 10


def test_another_run_does_not_go_into_the_same_folder(
    data: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    run_system(data, System("memstrata"), FAST, folder, progress=False)
    with pytest.raises(InputError, match="another system"):
        run_system(data, System("other", {"links": False, "evolution": False}), FAST, folder, progress=False)
    with pytest.raises(InputError, match="another data"):
        run_system(data.first(1), System("memstrata"), FAST, folder, progress=False)
    monkeypatch.setenv("MEMSTRATA_GAMMA", "0.9")
    with pytest.raises(InputError, match="another settings"):
        run_system(data, System("memstrata"), FAST, folder, progress=False)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds no run"):
        run_system(data, System("memstrata"), FAST, RunFolder(tmp_path / "full"), progress=False)


def test_several_processes_find_the_same(data: Benchmark, tmp_path: Path) -> None:
    alone = run_system(data, System("memstrata"), FAST, RunFolder(tmp_path / "one"), progress=False)
    two = Options(embedder="hashing", clock="said", jobs=2)
    shared = run_system(data, System("memstrata"), two, RunFolder(tmp_path / "two"), progress=False)
    assert [one.ranking for one in shared.answered] == [one.ranking for one in alone.answered]


def test_every_row_of_the_table_runs(data: Benchmark, tmp_path: Path) -> None:
    lines = make_table(data.first(1), chosen(()), FAST, tmp_path / "table", progress=False)
    by_name = {line.system: line for line in lines}
    assert list(by_name) == list(SYSTEMS)
    assert by_name["full context"].in_context == 1.0
    assert by_name["full context"].metrics is None
    assert by_name["without cold"].notes == by_name["hot only"].notes == 0
    assert by_name["memstrata"].metrics is not None
    rows = json.loads((tmp_path / "table" / "table.json").read_text())
    assert [row["system"] for row in rows] == list(SYSTEMS)
    assert (tmp_path / "table" / "table.md").read_text().count("\n") == len(rows) + 2
    both = [RunFolder(tmp_path / "table" / name).outcomes()[0].answered for name in ("memstrata", "RAG-BM25")]
    assert compare(*both, resamples=50)[0].n == 5
    with pytest.raises(InputError, match="no such row"):
        chosen(["nothing"])


def test_what_a_model_answers_is_asked_once_for_all_rows(
    data: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(request: Request) -> dict[str, Any]:
        if request.stage == "page":
            return {"summary": "A dog and a ferry.", "notes": []}
        return {"links": [], "neighbours": [], "conflicts": []}

    made: list[ScriptedLLM] = []

    def scripted(spec: str, **_more: Any) -> ScriptedLLM:
        made.append(ScriptedLLM(model, name=spec.partition(":")[2]))
        return made[-1]

    monkeypatch.setattr("memstrata.evaluation.run.create_llm", scripted)
    rows = [under(SYSTEMS[name], {"llm": "openai:one"}) for name in ("RAG BM25", "memstrata", "without leg late")]
    assert "llm" not in rows[0].settings
    lines = make_table(data, rows, FAST, tmp_path / "t", progress=False)
    assert [bool(line.llm_calls) for line in lines] == [False, True, True]
    assert lines[1].llm_tokens == lines[2].llm_tokens > 0
    asked = [len(each.requests) for each in made]
    assert len(asked) == 4  # two rows, two conversations
    assert min(asked[:2]) > 0
    assert asked[2:] == [0, 0]


def test_a_message_that_never_ends_is_taken_in(write: Write, harbour: dict[str, Any], tmp_path: Path) -> None:
    harbour["conversation"]["session_2"][0]["text"] += " \n" * 60_000 + "|"
    long = load_locomo(write([harbour]))
    found = run_system(long, System("memstrata"), FAST, RunFolder(tmp_path / "long"), progress=False)
    assert found.ingest.turns == 5


def test_the_opening_of_a_conversation_has_the_questions_on_it(data: Benchmark) -> None:
    part = data.opening(2)
    assert [len(each.turns) for each in part.conversations] == [2, 2]
    kept = {turn.id for each in part.conversations for turn in each.turns}
    questions = part.conversations[0].questions
    assert questions
    assert all(set(each.evidence) <= kept for each in questions)
    assert len(questions) < len(data.conversations[0].scored)
    assert part.conversations[0].ends_at < data.conversations[0].ends_at
    assert data.opening(99).conversations[0].turns == data.conversations[0].turns


def test_a_sweep_has_a_system_for_each_value() -> None:
    systems = swept({"K": [5, 8], "lambda": [0.02]}, {"links": False})
    assert [system.name for system in systems] == ["K = 5", "K = 8", "lambda = 0.02"]
    assert systems[0].settings == {"links": False, "hot_capacity": 5}
    assert systems[2].settings == {"links": False, "forgetting_rate": 0.02}
    assert [each.one_session for each in systems] == [True, True, False]  # K is the window of a session that goes on


async def test_cached_vectors_are_those_of_the_model_and_outlive_it(tmp_path: Path) -> None:
    texts = ["a red boat", "茶碗", "a red boat", ""]
    first = CachedEmbedder(HashingEmbedder(), tmp_path)
    wanted = await HashingEmbedder().embed(texts)
    assert (await first.embed(texts) == wanted).all()
    await first.close()
    assert (await first.embed(["狗"])).shape == (1, 128)  # still open for others
    await first.finish()
    closed = HashingEmbedder()
    await closed.close()
    again = CachedEmbedder(closed, tmp_path)  # a model that cannot answer any more
    assert (await again.embed(texts) == wanted).all()
    assert (await again.embed([])).shape == (0, 128)
    await again.finish()


class Counted(HashingTokenEmbedder):
    """Counts the texts that it encodes."""

    passes = 0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        self.passes += len(texts)
        return await super().embed(texts, query=query)


async def test_a_text_is_encoded_once_for_its_vector_and_its_tokens(tmp_path: Path) -> None:
    texts = ["a red boat", "茶碗を買いました"]
    model, plain = Counted(), HashingTokenEmbedder()
    cached = CachedEmbedder(model, tmp_path)
    vectors, tokens = await cached.embed_tokens(texts)
    once = model.passes
    assert (await cached.embed(texts) == vectors).all()
    again, others = await cached.embed_tokens(texts)
    assert model.passes == once
    wanted, wanted_tokens = await plain.embed_tokens(texts)
    assert (vectors == wanted).all()
    assert (again == wanted).all()
    for one, other, third in zip(tokens, others, wanted_tokens, strict=True):
        assert one.words == other.words == third.words
        assert abs(one.vectors - third.vectors).max() < 1e-3  # kept in half precision
    await cached.finish()
