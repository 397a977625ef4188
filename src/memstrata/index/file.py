"""A file of arrays that is mapped, not read: what an owner's index keeps beside the store, to be there at once.

Layout: MAGIC, the length of the head and its CRC-32, the head (JSON: what the caller says of the arrays, and of each
array its type, shape, place and CRC-32), then the arrays, each at a multiple of 64 bytes and followed by room for a
quarter more rows, a hole that takes no space on the disk. A file is written beside its name and renamed when all of it
is on the disk: it is there whole or not at all. What is not as it was written raises TornFileError.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

MAGIC = b"mstrix01"
HEAD = struct.Struct("<8sII")
ALIGNED = 64
SPARE = 4  # one row in so many is room for more
CHECKED = 1 << 20  # arrays of at most so many bytes are checked at every reading, larger ones by `verify`

Arrays = Mapping[str, NDArray[Any]]


class TornFileError(Exception):
    """The file is not as it was written. It is a cache: it can go."""


def write(path: Path, said: Mapping[str, object], arrays: Arrays) -> None:
    """Write a file in place of what was there. Raises OSError where that cannot be."""
    places: dict[str, dict[str, object]] = {}
    end = 0
    for name, array in arrays.items():
        room = len(array) + len(array) // SPARE + ALIGNED
        places[name] = {
            "type": array.dtype.str,
            "shape": array.shape,
            "room": room,
            "at": end,
            "crc": zlib.crc32(np.ascontiguousarray(array).data.cast("B")) if array.size else 0,
        }
        end += -(-room * array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64)) // ALIGNED) * ALIGNED
    head = orjson.dumps({"said": said, "arrays": places, "bytes": end})
    start = _start(len(head))
    new = new_path(path)
    wipe(new)
    with new.open("xb") as file:
        file.write(HEAD.pack(MAGIC, len(head), zlib.crc32(head)) + head)
        for name, array in arrays.items():
            file.seek(start + int(places[name]["at"]))  # type: ignore[call-overload]
            file.write(np.ascontiguousarray(array).data)
        file.truncate(start + end)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """What was said of the arrays and these, each with its spare rows (zeros), mapped: to write to them changes
    nothing in the file. None where there is no file.

    Raises:
        TornFileError: it is not as it was written.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < HEAD.size:
                raise TornFileError(f"{size} bytes are no file")
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    except FileNotFoundError:
        return None
    head = _head(mapped)
    start = _start(HEAD.unpack_from(mapped)[1])
    if size != start + head["bytes"]:
        raise TornFileError(f"{size} bytes, not {start + head['bytes']}")
    arrays = {}
    for name, place in head["arrays"].items():
        shape = (place["room"], *place["shape"][1:])
        array = np.frombuffer(mapped, place["type"], int(np.prod(shape)), start + place["at"]).reshape(shape)
        if array.nbytes <= CHECKED and not _is_whole(array, place):
            raise TornFileError(f"{name} is not as it was written")
        arrays[name] = array
    return head["said"], arrays


def read_head(path: Path) -> dict[str, Any] | None:
    """What was said of the arrays; None where there is no file or no head that can be read."""
    with contextlib.suppress(FileNotFoundError, TornFileError), path.open("rb") as file:
        start = file.read(HEAD.size)
        if len(start) == HEAD.size:
            said: dict[str, Any] = _head(start + file.read(HEAD.unpack(start)[1]))["said"]
            return said
    return None


def verify(path: Path) -> None:
    """Read all of a file. Raises TornFileError where an array is not as it was written."""
    found = read(path)
    if found is None:
        return
    with path.open("rb") as file:
        start = file.read(HEAD.size)
        places = _head(start + file.read(HEAD.unpack(start)[1]))["arrays"]
    for name, array in found[1].items():
        if not _is_whole(array, places[name]):
            raise TornFileError(f"{name} is not as it was written")


def wipe(path: Path) -> None:
    """Overwrite a file and remove it. It is never cut: who has it mapped reads zeros."""
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        at = 0
        with contextlib.suppress(OSError):  # no data beyond
            while at < size:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)  # holes hold nothing, and zeros would fill them
                end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
                while at < end:
                    at += os.pwrite(file.fileno(), bytes(min(1 << 20, end - at)), at)
        os.fsync(file.fileno())
    path.unlink(missing_ok=True)


def new_path(path: Path) -> Path:
    """Where a file is written before it has its name."""
    return path.with_suffix(".new")


def _start(head: int) -> int:
    """Where the arrays begin."""
    return -(-(HEAD.size + head) // ALIGNED) * ALIGNED


def _head(data: bytes | mmap.mmap) -> dict[str, Any]:
    magic, length, crc = HEAD.unpack_from(data)
    text = bytes(data[HEAD.size : HEAD.size + length])
    if magic != MAGIC or len(text) != length or zlib.crc32(text) != crc:
        raise TornFileError("its head is not as it was written")
    head: dict[str, Any] = orjson.loads(text)
    return head


def _is_whole(array: NDArray[Any], place: Mapping[str, Any]) -> bool:
    held = array[: place["shape"][0]]
    return not held.size or zlib.crc32(held.data.cast("B")) == place["crc"]
