"""Labelled candidates as JSON Lines: what `Memory.labelled` gives of feedback, or what somebody labelled by hand.

A line needs `text` and `label` (1 or true: worth keeping) and may have

- `group`: whose it is (a user, a conversation); lines of a group are held out together; default: each line its own
- `at`: when it was said, ISO 8601 with an offset; `speaker`; `role` (user or assistant)
- `turn`: the whole turn it is from; `previous`, `next`: the turns around, texts or objects with `text`
- `kind`: one of the kinds of notes
- `signals`: any of the five, by name, in [0, 1]; what is given is not computed again
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from typing import Any

from memstrata.errors import InputError
from memstrata.evaluation.admission.candidates import Columns, Embed, Known, Table, score
from memstrata.evaluation.admission.data import check_labels
from memstrata.evaluation.schema import read_lines
from memstrata.extract.whole import whole
from memstrata.gate.policy import SIGNALS, Policy
from memstrata.index.units import note_document
from memstrata.types import KINDS, Candidate, Turn

_UNDATED = datetime(2024, 1, 1, tzinfo=UTC)
_BEFORE, _IT, _AFTER = 1, 2, 3  # numbers of the turns of a line


@dataclass(frozen=True)
class Record:
    """One labelled candidate with the turn it is from, those beside it, and the signals that came with it."""

    label: bool
    group: str
    candidate: Candidate
    turns: Mapping[int, Turn]
    given: tuple[float, ...]


def is_records(path: Path) -> bool:
    """Whether a file is JSON Lines of labelled candidates: its first line has a text and a label."""
    if path.is_dir() or ".jsonl" not in path.suffixes:
        return False
    _, first = next(read_lines(path), ("", None))
    return isinstance(first, Mapping) and {"text", "label"} <= set(first)


def read_records(path: Path) -> list[Record]:
    """The labelled candidates of a file. Raises InputError that names the line, and for one label alone."""
    found = [_record(item, f"{path}: {where}", n) for n, (where, item) in enumerate(read_lines(path))]
    check_labels({record.label for record in found}, str(path))
    return found


def table_of_records(path: Path, embed: Embed, policy: Policy) -> Table:
    """Each labelled candidate as an example of its own; novelty is counted within its group, in the order of time."""
    records = read_records(path)
    names = list(dict.fromkeys(record.group for record in records))
    columns = Columns()
    for number, name in enumerate(names):
        mine = sorted((each for each in records if each.group == name), key=lambda each: each.candidate.said_at)
        candidates = [each.candidate for each in mine]
        vectors = embed([note_document(0, c.content, c.context, c.keywords, c.tags).dense[0] for c in candidates])
        newest = max(each.said_at for each in candidates)
        known = Known(vectors)
        for n, record in enumerate(mine):
            example = columns.add_example(record.candidate.text, record.label, number, n)
            cited = [record.turns[_IT]]
            scored = score(n, record.candidate, cited, record.turns, newest, known, policy)
            if scored is not None:
                columns.add(example, replace(scored, given=record.given))
    return columns.table(path.name, tuple(names), {})


def _record(item: object, where: str, number: int) -> Record:
    if not isinstance(item, Mapping):
        raise InputError(f"{where}: expected an object with text and label")
    text = item.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: text is missing")
    label = item.get("label")
    if label not in (0, 1):
        raise InputError(f"{where}: label must be 1 (worth keeping) or 0, not {label!r}")
    at = _time(item.get("at"), where)
    said = item.get("turn") or text
    turns = {
        no: _turn(no, each, item, at)
        for no, each in (
            (_BEFORE, _text(item.get("previous"), -1)),
            (_IT, said),
            (_AFTER, _text(item.get("next"), 0)),
        )
        if each
    }
    kind = item.get("kind")
    if kind is not None and kind not in KINDS:
        raise InputError(f"{where}: no such kind: {kind!r} (one of {', '.join(KINDS)})")
    candidate = replace(whole(replace(turns[_IT], text=text), kind=kind), rule=None)
    return Record(bool(label), str(item.get("group", number)), candidate, turns, _given(item.get("signals"), where))


def _given(signals: object, where: str) -> tuple[float, ...]:
    if signals is None:
        return (nan,) * len(SIGNALS)
    if not isinstance(signals, Mapping) or not set(signals) <= set(SIGNALS):
        raise InputError(f"{where}: signals must be some of {', '.join(SIGNALS)}")
    for name, value in signals.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise InputError(f"{where}: the signal {name} must lie in [0, 1], not {value!r}")
    return tuple(float(signals.get(name, nan)) for name in SIGNALS)


def _time(text: Any, where: str) -> datetime:
    if text is None:
        return _UNDATED
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: at: {text!r} is not written as ISO 8601") from error
    if at.tzinfo is None:
        raise InputError(f"{where}: at: {text!r} has no offset")
    return at


def _text(turns: Any, which: int) -> str:
    """The text of the nearest of the turns before or after: a text, or a list of texts or objects with one."""
    if isinstance(turns, list):
        turns = turns[which] if turns else ""
    if isinstance(turns, Mapping):
        turns = turns.get("text")
    return turns if isinstance(turns, str) else ""


def _turn(no: int, text: str, item: Mapping[str, Any], at: datetime) -> Turn:
    speaker = item.get("speaker") if no == _IT else None
    role = "assistant" if item.get("role") == "assistant" and no == _IT else "user"
    return Turn(
        no=no,
        id=str(no),
        agent=None,
        session="",
        position=no,
        role="assistant" if role == "assistant" else "user",
        speaker=speaker if isinstance(speaker, str) else None,
        text=text,
        at=at,
        recorded_at=at,
        trust="assistant" if role == "assistant" else "user",
    )
