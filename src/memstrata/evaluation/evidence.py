"""Reading the evidence labels of a benchmark: which turns a question stands on, however the label was typed.

Labels are written by hand, so the rules are general: an id is a session number and a turn number with a colon in
between, a "D" and stray colons in front and leading zeros do not matter, one string may hold several ids, and what
names no turn of the conversation is dropped. Nothing is guessed: a label with half an id names no turn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_TURN_ID = re.compile(r"D? ?:? ?(\d{1,9}) ?: ?(\d{1,9})", re.IGNORECASE)  # on text with single spaces
_ANYTHING_SAID = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Label:
    """What one evidence label came to: the turns it names, and why it was not simply one turn's id.

    `reason` is empty for a clean label. A label with a reason and turns was repaired, one without turns is dropped.
    """

    turns: tuple[str, ...]
    reason: str = ""


class EvidenceReader:
    """Reads labels against the turn ids of one conversation.

    >>> reader = EvidenceReader(["D8:6", "D9:17", "D30:5"])
    >>> reader.read("D8:6").turns
    ('D8:6',)
    >>> reader.read("D8:6; D9:17").turns
    ('D8:6', 'D9:17')
    >>> reader.read("D30:05")
    Label(turns=('D30:5',), reason='not written as the turn id')
    """

    def __init__(self, turn_ids: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        self._by_numbers: dict[tuple[int, int], str] = {}
        for turn_id in turn_ids:
            self._known[turn_id] = turn_id
            if match := _TURN_ID.fullmatch(turn_id):
                self._by_numbers[int(match[1]), int(match[2])] = turn_id

    def read(self, label: object) -> Label:
        """The turns that `label` (normally a string) names, in its order, each once."""
        if not isinstance(label, str):
            return Label((), f"not a string but {type(label).__name__}")
        if label in self._known:
            return Label((label,))
        text = " ".join(unicodedata.normalize("NFKC", label).split())
        matches = list(_TURN_ID.finditer(text))
        if not matches:
            return Label((), "no turn id in it")
        found = [self._by_numbers.get((int(match[1]), int(match[2]))) for match in matches]
        turns = tuple(dict.fromkeys(turn for turn in found if turn is not None))
        reasons = ["several ids in one string"] if len(matches) > 1 else []
        unknown = [match[0].strip() for match, turn in zip(matches, found, strict=True) if turn is None]
        if unknown:
            reasons.append(f"no such turn: {', '.join(unknown)}")
        if rest := _ANYTHING_SAID.findall(_TURN_ID.sub(" ", text)):
            reasons.append(f"not read: {' '.join(rest)}")
        return Label(turns, "; ".join(reasons) or "not written as the turn id")
