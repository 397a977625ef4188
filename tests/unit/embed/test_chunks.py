from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.embed.chunks import chunks
from memstrata.errors import InputError


def test_short_texts_are_one_chunk() -> None:
    assert chunks("I moved to Lisbon.") == ["I moved to Lisbon."]
    assert chunks("  昨日、京都に行きました。\n") == ["昨日、京都に行きました。"]
    assert chunks(" ".join(["word"] * 80)) == [" ".join(["word"] * 80)]
    assert chunks(" \n ") == []


def test_neighbours_share_the_overlap() -> None:
    words = [f"w{i}" for i in range(200)]
    parts = [part.split() for part in chunks(" ".join(words))]
    assert [(part[0], part[-1]) for part in parts] == [("w0", "w79"), ("w60", "w139"), ("w120", "w199")]


def test_no_last_chunk_of_overlap_only() -> None:
    assert [len(part.split()) for part in chunks(" ".join(["word"] * 140))] == [80, 80]
    assert [len(part.split()) for part in chunks(" ".join(["word"] * 141))] == [80, 80, 21]


@pytest.mark.parametrize("character", ["港", "カ", "。", "ก"])
def test_unspaced_scripts_count_two_characters_a_word(character: str) -> None:
    assert [len(part) for part in chunks(character * 300)] == [160, 160, 60]


def test_a_blob_is_cut() -> None:
    assert [len(part) for part in chunks("x" * 4_000)] == [3_200, 1_600]


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (5, 5), (5, -1)])
def test_refuses_impossible_sizes(words: int, overlap: int) -> None:
    with pytest.raises(InputError):
        chunks("text", words=words, overlap=overlap)


@given(st.integers(0, 400), st.integers(1, 90), st.data())
def test_windows_step_through_the_words(count: int, words: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, words - 1))
    every = [f"w{i}" for i in range(count)]
    parts = [part.split() for part in chunks(" ".join(every), words=words, overlap=overlap)]
    assert [word for part in parts for word in part[: words - overlap]] + (
        parts[-1][words - overlap :] if parts else []
    ) == every
    assert all(len(part) == words for part in parts[:-1])
    assert all(before[words - overlap :] == after[:overlap] for before, after in pairwise(parts))
    assert not parts[1:] or len(parts[-1]) > overlap


@given(st.text(max_size=300), st.integers(1, 12))
def test_chunks_are_literal_and_drop_only_space(text: str, words: int) -> None:
    parts = chunks(text, words=words, overlap=0)
    assert all(part in text for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
