"""Links of a new note to the notes around it, without an LLM."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from memstrata.notes.classify import Neighbour
from memstrata.text.names import name_key
from memstrata.text.overlap import jaccard
from memstrata.text.tokens import normalise
from memstrata.types import Link, LinkType, Note

TAU_LINK = 0.5
MOST_LINKS = 8
COSINE_SHARE, LABEL_SHARE, NAME_SHARE = 0.5, 0.3, 0.2


def relevance(cosine: float, one: Note, other: Note) -> float:
    """How closely two notes belong together, in [0, 1].

    .5 cosine + .3 Jaccard of keywords and tags + .2 Jaccard of the normalised names; a negative cosine counts as 0.
    """
    return (
        COSINE_SHARE * max(0.0, cosine)
        + LABEL_SHARE * jaccard(_labels(one), _labels(other))
        + NAME_SHARE * jaccard(_names(one), _names(other))
    )


def links_of(
    note: Note, neighbours: Sequence[Neighbour], *, tau: float = TAU_LINK, most: int = MOST_LINKS
) -> tuple[Link, ...]:
    """The links of a new note, best first: to each current neighbour with relevance >= tau, at most `most`.

    A neighbour that has `most` links already takes no more. Links run from the new note to the older one, but for a
    consequence ("so I moved"), which the older one causes. Links made by superseding are not counted and not made here.
    """
    scored = [
        (relevance(each.similarity, note, each.note), each)
        for each in neighbours
        if each.note.id != note.id and each.note.state == "current" and _link_count(each.note) < most
    ]
    chosen = sorted((pair for pair in scored if pair[0] >= tau), key=lambda pair: (-pair[0], pair[1].note.id))[:most]
    return tuple(_link(note, each, min(1.0, score)) for score, each in chosen)


def _link(note: Note, neighbour: Neighbour, score: float) -> Link:
    older = neighbour.note
    source, target = note.id, older.id
    shared = _names(note) & _names(older)
    kind: LinkType = "related"
    because = f"similarity {neighbour.similarity:.2f}"
    if _adjacent(note, older):
        kind, because = "continues", "said in the same or the next turn"
        if (cause := _causal_cue(note)) is not None:
            kind, because = "causes", f'the cue "{cause[1]}" in adjacent turns'
            if cause[0] == "consequence":
                source, target = target, source
    elif shared:
        kind, because = "same_entity", f"both name {', '.join(sorted(shared))}"
    common = sorted(_labels(note) & _labels(older))
    about = f", both about {', '.join(common[:3])}" if common else ""
    return Link(source=source, target=target, type=kind, score=score, reason=f"relevance {score:.2f}: {because}{about}")


def _labels(note: Note) -> frozenset[str]:
    return _normalised((*note.keywords, *note.tags))


def _names(note: Note) -> frozenset[str]:
    return _name_keys(note.names)


@lru_cache(maxsize=4096)  # the same notes come round as neighbours again and again
def _normalised(labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(normalise(label) for label in labels)


@lru_cache(maxsize=4096)
def _name_keys(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name_key(name) for name in names)


def _link_count(note: Note) -> int:
    return sum(link.type != "supersedes" for link in note.links)


def _adjacent(one: Note, other: Note) -> bool:
    """Whether the two stand on the same or on neighbouring turns of one session."""
    return any(
        mine.session == theirs.session and abs(mine.position - theirs.position) <= 1
        for mine in one.evidence
        for theirs in other.evidence
    )


def _causal_cue(note: Note) -> tuple[str, str] | None:
    """("reason" | "consequence", the cue) when the note's content gives the one or the other of something before it."""
    text = normalise(note.content)
    for role, pattern in _cues().items():
        if found := pattern.search(text):
            return role, found.group()
    return None


@lru_cache
def _cues() -> Mapping[str, re.Pattern[str]]:
    table = tomllib.loads((files("memstrata.notes") / "data" / "causes.toml").read_text(encoding="utf-8"))
    return {role: re.compile("|".join(cues)) for role, cues in table.items()}
