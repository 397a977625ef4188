"""What evaluations look at in the notes themselves: their places in a map, and how they word what people wrote down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import Embedder
from memstrata.evaluation.answers import rougel
from memstrata.evaluation.benchmark import Conversation
from memstrata.evaluation.outcome import Statement
from memstrata.index.units import document_of
from memstrata.types import Note, NotePage

PAGE = 100  # notes read at once


@dataclass(frozen=True, slots=True)
class NoteMap:
    """The current notes of a conversation as points: float16 vectors, shape (n, dim); pairs of linked notes by number,
    shape (links, 2); which notes evolved; and their kinds."""

    vectors: NDArray[np.float16]
    links: NDArray[np.int32]
    evolved: NDArray[np.bool_]
    kinds: tuple[str, ...]


class Lists(Protocol):
    """What is needed of a memory to read its notes."""

    def list(self, *, user_id: str, limit: int, cursor: str | None) -> NotePage: ...


def all_notes(memory: Lists, user: str) -> list[Note]:
    """Every current note of a user, in the order they were made."""
    found: list[Note] = []
    cursor: str | None = None
    while True:
        page = memory.list(user_id=user, limit=PAGE, cursor=cursor)
        found += page.notes
        cursor = page.cursor
        if cursor is None:
            return found


async def map_of(notes: Sequence[Note], embedder: Embedder) -> NoteMap:
    """The notes as points; texts that the memory embedded are in the embedder's cache."""
    texts = [document_of(note).dense[0] for note in notes]
    number = {note.id: n for n, note in enumerate(notes)}
    pairs = {
        tuple(sorted((number[link.source], number[link.target])))
        for note in notes
        for link in note.links
        if link.source in number and link.target in number
    }
    return NoteMap(
        (await embedder.embed(texts)).astype(np.float16),
        np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2),
        np.array([note.revision > 1 for note in notes], dtype=np.bool_),
        tuple(note.kind for note in notes),
    )


def statements_of(conversation: Conversation, notes: Sequence[Note]) -> list[Statement]:
    """Each statement that people made of a turn, beside the note on that turn that comes closest to it."""
    by_turn: dict[str, list[Note]] = {}
    for note in notes:
        for turn in note.evidence:
            by_turn.setdefault(turn.id, []).append(note)
    found: list[Statement] = []
    for turn_id, wanted in conversation.statements.items():
        scored: list[tuple[float, str]] = [
            (rougel(note.content, wanted), note.content) for note in by_turn.get(turn_id, [])
        ]
        closest, content = max(scored, default=(0.0, ""))
        found.append(Statement(turn_id, wanted, content, closest))
    return found


def arrays_of(notes: NoteMap) -> dict[str, NDArray[Any]]:
    """A map as arrays of a NumPy archive."""
    return {"vectors": notes.vectors, "links": notes.links, "evolved": notes.evolved, "kinds": np.array(notes.kinds)}


def map_from(arrays: Any) -> NoteMap:
    """The map that `arrays_of` made these of."""
    return NoteMap(arrays["vectors"], arrays["links"], arrays["evolved"], tuple(str(kind) for kind in arrays["kinds"]))
