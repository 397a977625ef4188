"""Files of arrays: whole or not taken, never changed by who reads them, overwritten when they go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memstrata.index import file

SAID = {"names": ["Zoë", "東京", "北京"], "n": 3}


def arrays(rows: int = 5) -> dict[str, np.ndarray]:
    return {
        "vectors": np.arange(rows * 8, dtype=np.float32).reshape(rows, 8),
        "units": np.arange(1, rows + 1),
        "none": np.zeros(0, dtype=np.int32),
        "pairs": np.zeros((0, 2), dtype=np.int64),
    }


def test_what_was_written_is_read_with_room_for_more(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    assert file.read(path) is None
    assert file.read_head(path) is None
    file.write(path, SAID, arrays())
    found = file.read(path)
    assert found is not None
    said, held = found
    assert said == SAID == file.read_head(path)
    for name, array in arrays().items():
        assert held[name].dtype == array.dtype
        assert np.array_equal(held[name][: len(array)], array)
        assert len(held[name]) > len(array)
        assert not held[name][len(array) :].any()
    held["vectors"][0] = 7.0
    held["vectors"][-1] = 7.0
    again = file.read(path)
    assert again is not None
    assert again[1]["vectors"][0, 0] == 0.0
    file.verify(path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.index"]


def test_a_file_cut_anywhere_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    file.write(path, SAID, arrays())
    data = path.read_bytes()
    for size in [*range(0, 400, 7), *range(400, len(data), 501), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(file.TornFileError):
            file.read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(file.TornFileError):
        file.read(path)


def test_a_changed_byte_of_the_head_or_of_an_array_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    file.write(path, SAID, arrays())
    data = path.read_bytes()
    vector = data.index(np.float32(39).tobytes())
    for at in (0, 3, 9, 13, 40, vector):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(file.TornFileError):
            file.read(path)


def test_a_changed_byte_of_a_large_array_is_seen_by_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "CHECKED", 100)
    path = tmp_path / "a.index"
    file.write(path, SAID, arrays(100))
    data = path.read_bytes()
    at = data.index(np.float32(500).tobytes())
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert file.read(path) is not None
    with pytest.raises(file.TornFileError, match="vectors"):
        file.verify(path)


def test_wiping_overwrites_what_others_have_mapped_and_is_repeatable(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    file.write(path, SAID, arrays(1000))
    found = file.read(path)
    assert found is not None
    mine = found[1]["vectors"]
    linked = tmp_path / "same-bytes"
    linked.hardlink_to(path)
    file.wipe(path)
    file.wipe(path)
    assert not path.exists()
    assert not linked.read_bytes().strip(b"\0")
    assert not mine.any()


def test_a_half_written_file_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    file.new_path(path).write_bytes(b"half")
    file.write(path, SAID, arrays())
    assert [each.name for each in tmp_path.iterdir()] == ["a.index"]
