from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.evaluation.evidence import EvidenceReader

TURNS = ["D1:1", "D1:2", "D4:6", "D8:6", "D9:17", "D11:26", "D30:5"]


@pytest.mark.parametrize(
    ("label", "turns"),
    [
        ("D8:6; D9:17", ("D8:6", "D9:17")),
        ("D1:1 D4:6 D8:6", ("D1:1", "D4:6", "D8:6")),
        ("D1:1,D1:2", ("D1:1", "D1:2")),
        ("D1:1/D1:1", ("D1:1",)),
        ("D:11:26", ("D11:26",)),
        ("D30:05", ("D30:5",)),
        ("(d1 : 2)", ("D1:2",)),
        ("Ｄ１：２", ("D1:2",)),  # full-width
        ("1:2", ("D1:2",)),
        ("D2:2 D1:2", ("D1:2",)),
    ],
)
def test_a_dirty_label_is_repaired_and_says_why(label: str, turns: tuple[str, ...]) -> None:
    read = EvidenceReader(TURNS).read(label)
    assert read.turns == turns
    assert read.reason


@pytest.mark.parametrize(
    "label", ["", "D", "D4", "D4:", ":6", "D4:7", "D04:66", None, 3, ["D1:1"], {}, "D" + "9" * 9999]
)
def test_a_label_that_names_no_turn_is_dropped_with_a_reason(label: object) -> None:
    read = EvidenceReader(TURNS).read(label)
    assert read.turns == ()
    assert read.reason


def test_what_was_not_read_is_named() -> None:
    assert EvidenceReader(TURNS).read("D1:1, D9").reason == "not read: D9"
    assert EvidenceReader(TURNS).read("D1:1 D2:9").reason == "several ids in one string; no such turn: D2:9"


def test_ids_of_another_form_are_read_when_they_are_written_exactly() -> None:
    reader = EvidenceReader(["turn-a", "D1:01"])
    assert reader.read("turn-a").turns == ("turn-a",)
    assert not reader.read("turn-a").reason
    assert reader.read("D1:1").turns == ("D1:01",)


@given(st.text(alphabet="D:;, 0123456789x", max_size=40))
def test_only_existing_turns_come_out_each_once(label: str) -> None:
    read = EvidenceReader(TURNS).read(label)
    assert set(read.turns) <= set(TURNS)
    assert len(set(read.turns)) == len(read.turns)
    assert (read.turns, read.reason) == ((label,), "") if label in TURNS else read.reason


@given(st.lists(st.sampled_from(TURNS), min_size=2), st.sampled_from(["; ", " ", ", ", "\n", " and "]))
def test_any_list_of_ids_in_one_string_is_read_in_order(turns: list[str], separator: str) -> None:
    assert EvidenceReader(TURNS).read(separator.join(turns)).turns == tuple(dict.fromkeys(turns))
