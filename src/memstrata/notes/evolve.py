"""Evolution without an LLM: a linked newer note extends an older one's context and tags, within a bound."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
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
# The opening of a context as `extract.candidates` writes it: what was said just before, quoted, and the day.
_REMARK = re.compile(r'(?:[^"]*: )?"(?P<said>.+?)" · (?P<day>\d{4}-\d\d-\d\d)(?= \| |$)', re.DOTALL)
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
    piece = piece_of(newer.content, newer.said_at)
    extended = f"{older.context}{SEPARATOR}{piece}" if older.context else piece
    return extended if size(extended) <= 1.0 else older.context


def piece_of(statement: str, said_at: datetime) -> str:
    """What a note adds to the context of an older one: its statement, cut to some 18 words, with its date."""
    return f"{said_at:%Y-%m-%d}: {_cut(statement)}"


def without_piece(context: str, piece: str) -> str:
    """A context without a piece that it gained; whole pieces only, other words stay as they are.

    >>> without_piece("2026-05-01 | 2026-05-03: She likes it. | 2026-05-04: So do I.", "2026-05-03: She likes it.")
    '2026-05-01 | 2026-05-04: So do I.'
    """
    framed = f"{SEPARATOR}{context}{SEPARATOR}".replace(f"{SEPARATOR}{piece}{SEPARATOR}", SEPARATOR)
    return framed[len(SEPARATOR) : -len(SEPARATOR)]


def without_remark(context: str, statement: str) -> str:
    """A context whose opening remark quotes this statement, or a part of it, without the quotation: its day stays.

    >>> without_remark('Ana: "I moved to Porto." · 2026-05-01', "Ana: I moved to Porto. It is warm here.")
    '2026-05-01'
    """
    found = _REMARK.match(context)
    if found is None or found["said"] not in statement:
        return context
    return context[found.start("day") :]


def with_pieces_back(context: str, before: str, after: str) -> str:
    """A context with what `before` had and `after` has not, each piece at its old place, as far as the bound allows.

    `after` is `before` without some pieces, or without its remark; other pieces may have come or gone since then.
    """
    mine, kept = context.split(SEPARATOR), after.split(SEPARATOR)
    opening = before.split(SEPARATOR)[0]
    if mine[0] == kept[0] != opening and opening.endswith(kept[0]):
        mine[0] = opening  # the remark
    place = 0
    for piece in before.split(SEPARATOR):
        if piece in mine:
            place = mine.index(piece) + 1
        elif piece not in kept:
            mine.insert(place, piece)
            place += 1
    whole = SEPARATOR.join(piece for piece in mine if piece)
    return whole if size(whole) <= 1.0 else context


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
