"""Evolution without an LLM: a linked newer note extends an older one's context and tags, within a bound."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memstrata.text.scripts import UNSPACED, has_unspaced
from memstrata.text.tokens import content_words, normalise
from memstrata.types import Note

MOST_WORDS, MOST_CJK = 60, 160  # of a context; a text with both may use a share of each
MOST_ADDITIONS = 3  # pieces that a context may gain in its life
PIECE_WORDS, PIECE_CJK = 18, 48  # of one addition
MOST_TAGS = 8
NEW_TAGS = 2  # tags gained from one newer note
KNOWN = 0.8  # share of a piece's content words that the context has, from which the piece adds nothing
SEPARATOR = " | "
_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Evolution:
    """The new context and tags of a note; the one that did not change is as it was. Content never changes."""

    context: str
    tags: tuple[str, ...]
    reason: str


def evolve(older: Note, newer: Note) -> Evolution | None:
    """What the newer note, linked to the older one, adds to it; None when nothing changes.

    The context gains one piece (the newer note's statement, cut to some 18 words, with its date) unless it is known
    already, the context has gained three, or it would grow beyond 60 words (160 CJK characters). The tags gain at most
    two of the newer note's, to eight in all; none is ever taken away. Fields that a person edited are left alone.
    """
    context = older.context if "context" in older.edited else _extended(older, newer)
    tags = older.tags if "tags" in older.edited else _united(older.tags, newer.tags)
    if context == older.context and tags == older.tags:
        return None
    changed = [
        name for name, differs in (("context", context != older.context), ("tags", tags != older.tags)) if differs
    ]
    return Evolution(context, tags, f"{newer.id} extends its {' and '.join(changed)}")


def _extended(older: Note, newer: Note) -> str:
    if older.context.count(SEPARATOR) >= MOST_ADDITIONS or _known(newer.content, older):
        return older.context
    piece = f"{newer.said_at:%Y-%m-%d}: {_cut(newer.content)}"
    extended = f"{older.context}{SEPARATOR}{piece}" if older.context else piece
    return extended if size(extended) <= 1.0 else older.context


def _known(statement: str, older: Note) -> bool:
    told = _content(statement)
    return len(told & (_content(older.content) | _content(older.context))) >= KNOWN * len(told)


@lru_cache(maxsize=4096)  # one newer note meets several older ones, which come round again
def _content(statement: str) -> frozenset[str]:
    return frozenset(content_words(statement))


def size(text: str, *, most_words: int = MOST_WORDS, most_cjk: int = MOST_CJK) -> float:
    """The share of a bound that a text uses: words / most_words + characters of unspaced scripts / most_cjk."""
    if not has_unspaced(text):
        return len(text.split()) / most_words
    spaced, characters = _UNSPACED.subn(" ", text)
    return len(spaced.split()) / most_words + characters / most_cjk


@lru_cache(maxsize=64)
def _cut(text: str) -> str:
    """The text, or as much of its beginning as a piece may have, ended by an ellipsis."""
    if size(text, most_words=PIECE_WORDS, most_cjk=PIECE_CJK) <= 1.0:
        return text
    kept = " ".join(text.split()[:PIECE_WORDS])
    while size(kept, most_words=PIECE_WORDS, most_cjk=PIECE_CJK) > 1.0:
        kept = kept[: len(kept) * 9 // 10]
    return kept.rstrip(" ,;:、，；：") + "…"


def _united(mine: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    known = {normalise(tag) for tag in mine}
    new = [tag for tag in theirs if normalise(tag) not in known]
    return (*mine, *new[: max(0, min(NEW_TAGS, MOST_TAGS - len(mine)))])
