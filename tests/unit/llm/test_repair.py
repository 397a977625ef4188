"""Replies of models: each is read as far as it can be, or gives one typed error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.errors import LLMUnreadableError
from memstrata.llm.answers import SHAPES, FullNotes, FullPage, SmallPage, schema_of
from memstrata.llm.prompts import prompt
from memstrata.llm.repair import read_answer

REPLIES = Path(__file__).parents[2] / "data" / "replies"
EXPECTED: dict[str, int | None] = json.loads((REPLIES / "expected.json").read_text("utf-8"))
NOTE = {"content": "Mara moved to Lisbon.", "evidence": [1], "kind": "event"}


def items(answer: object) -> int:
    return sum(len(value) for value in dict(answer).values() if isinstance(value, list) and not _are_texts(value))  # type: ignore[call-overload]


def _are_texts(value: list[object]) -> bool:
    return any(isinstance(each, str) for each in value)


def test_every_reply_is_expected() -> None:
    files = {str(file.relative_to(REPLIES))[: -len(".txt")] for file in REPLIES.glob("*/*.txt")}
    assert files == set(EXPECTED)
    assert sum(name.startswith("real/") for name in files) >= 40
    assert len(files) >= 100


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_reply_is_read_or_gives_one_typed_error(name: str) -> None:
    stage, profile = name.split("/")[1].split(".")[:2]
    text = (REPLIES / f"{name}.txt").read_bytes().decode()
    instructions = prompt(stage, profile).text  # type: ignore[arg-type]
    shape = SHAPES[stage, profile]  # type: ignore[index]
    if EXPECTED[name] is None:
        with pytest.raises(LLMUnreadableError):
            read_answer(text, shape, complete=".cut." not in name, instructions=instructions)
        return
    answer = read_answer(text, shape, complete=".cut." not in name, instructions=instructions)
    assert items(answer.value) == EXPECTED[name]


def test_the_answer_after_a_thought_counts() -> None:
    text = '<think>{"summary": "no", "notes": []}</think>{"summary": "yes", "notes": []}'
    assert read_answer(text, FullPage).value.summary == "yes"


def test_what_is_read_is_what_was_said() -> None:
    answer = read_answer(f"```json\n{{'summary': 'Mara moved', 'notes': [{NOTE},]}}\n```", FullPage)
    assert answer.mended
    assert answer.value.summary == "Mara moved"
    assert answer.value.notes[0].content == NOTE["content"]
    assert answer.value.notes[0].evidence == [1]


def test_an_item_that_was_cut_is_left_out() -> None:
    whole = json.dumps({"summary": "Mara moved", "notes": [NOTE, {**NOTE, "content": "Lena bakes bread in Alfama."}]})
    for end in range(whole.index("Lena"), len(whole) - 4):
        answer = read_answer(whole[:end], SmallPage, complete=False)
        assert [note.content for note in answer.value.notes] == [NOTE["content"]], whole[:end]


@pytest.mark.parametrize(
    ("written", "read"),
    [([1, "2"], [1, 2]), ("turns 1 and 3, [4]", [1, 3, 4]), (7, [7]), (["[2]"], [2]), ([2.0, 2.5, True], [2])],
)
def test_evidence_in_other_shapes(written: object, read: list[int]) -> None:
    text = json.dumps({"summary": "x", "notes": [{**NOTE, "evidence": written}]})
    assert read_answer(text, SmallPage).value.notes[0].evidence == read


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for shape in (FullPage, FullNotes):
        try:
            read_answer(text, shape)
        except LLMUnreadableError:
            continue


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_damage_to_a_good_answer_is_read_or_refused(data: st.DataObject) -> None:
    text = json.dumps({"summary": "Mara moved", "notes": [NOTE, NOTE]})
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[end:]
    try:
        answer = read_answer(damaged, SmallPage)
    except LLMUnreadableError:
        return
    assert len(answer.value.notes) <= 3


@pytest.mark.parametrize("shape", dict.fromkeys(SHAPES.values()))
def test_schemas_are_closed_and_without_references(shape: type[FullPage]) -> None:
    schema = schema_of(shape)
    assert "$ref" not in json.dumps(schema)
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])


def test_prompts_have_versions() -> None:
    versions = {prompt(stage, profile).version for stage, profile in SHAPES}
    assert len(versions) == len(SHAPES)
    assert all(len(version.split()) == 3 and version.split()[1].isdigit() for version in versions)
