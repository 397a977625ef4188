"""The audit as a whole: every check over every entry, with counts, shares and examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.audit.checks import (
    PROBLEMS,
    Finding,
    Problem,
    Read,
    expired,
    junk,
    read,
    repeated,
    secret,
    speaks_of_memory,
    superseded,
    unsupported,
)
from memstrata.audit.entries import Entry, read_source
from memstrata.audit.near import clusters
from memstrata.intake.redact import Redactor
from memstrata.types import Progress

SHOWN = 160  # characters of an example


@dataclass(frozen=True, slots=True)
class Example:
    """One finding to look at. `text` is redacted and cut."""

    entry: str
    owner: str
    text: str
    why: str
    other: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """All findings of one problem: how many entries, their share of all, the reasons by frequency, some examples.

    `measured` is False where the file does not have what the check needs; then nothing is claimed.
    """

    problem: Problem
    entries: int
    share: float
    reasons: Mapping[str, int]
    examples: tuple[Example, ...]
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found. `flagged` are entries with at least one problem; an entry may have several."""

    file: str
    kind: str
    at: datetime
    entries: int
    owners: int
    flagged: int
    groups: tuple[Group, ...]

    @property
    def share(self) -> float:
        """The flagged share of the entries, 0 of an empty store."""
        return self.flagged / self.entries if self.entries else 0.0

    def group(self, problem: Problem) -> Group:
        return next(group for group in self.groups if group.problem == problem)


def audit(
    path: str | Path,
    *,
    now: datetime,
    examples: int = 3,
    embed: Callable[[Sequence[str]], NDArray[np.float32]] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Read a file and report what is wrong with its entries. The file is not changed, no model is asked.

    `now` is the time that plans are held against. `embed` gives unit vectors of texts: then near duplicates are found
    by meaning instead of by words. `progress(what, done, total)` is called as it goes.

    Raises InputError when the file cannot be read.
    """
    source = read_source(path)
    entries, redactor = source.entries, Redactor()
    findings: list[Finding] = []
    seen: list[Read] = []
    for number, entry in enumerate(entries, 1):
        item = read(entry, now)
        seen.append(item)
        found = (junk(item), secret(entry, redactor), speaks_of_memory(entry), unsupported(entry), expired(item, now))
        findings += [each for each in found if each is not None]
        if progress is not None and number % 100 == 0:
            progress("entries read", number, len(entries))
    vectors = None if embed is None or not entries else embed([entry.text for entry in entries])
    findings += repeated(entries, clusters(entries, vectors))
    findings += superseded(seen)
    measured = {"unsupported": source.has_evidence}
    return Audit(
        file=str(path),
        kind=source.kind,
        at=now,
        entries=len(entries),
        owners=len({entry.owner for entry in entries}),
        flagged=len({id(each.entry) for each in findings}),
        groups=tuple(
            _group(
                problem,
                [each for each in findings if each.problem == problem],
                len(entries),
                examples,
                redactor,
                measured.get(problem, True),
            )
            for problem in PROBLEMS
        ),
    )


def _group(
    problem: Problem, found: Sequence[Finding], total: int, examples: int, redactor: Redactor, measured: bool
) -> Group:
    count = len({id(each.entry) for each in found})
    reasons = Counter(_reason(each) for each in found)
    return Group(
        problem,
        count,
        count / total if total else 0.0,
        dict(reasons.most_common()),
        tuple(_example(each, redactor) for each in _varied(found, examples)),
        measured,
    )


def _reason(finding: Finding) -> str:
    """The reason without what is of this entry alone."""
    if finding.problem in ("exact_duplicate", "near_duplicate"):
        return finding.problem.replace("_", " ")
    if finding.problem == "recall_loop" and finding.other is not None:
        return "stored many times over"
    return finding.why.split(":")[0].split(",")[0] if finding.problem != "secret" else finding.why


def _varied(found: Sequence[Finding], wanted: int) -> list[Finding]:
    """The first findings, one of each reason before a second of any."""
    first: dict[str, Finding] = {}
    for each in found:
        first.setdefault(_reason(each), each)
    chosen = list(first.values())[:wanted]
    rest = (each for each in found if all(each is not other for other in chosen))
    return [*chosen, *(each for each, _ in zip(rest, range(wanted - len(chosen)), strict=False))]


def _example(finding: Finding, redactor: Redactor) -> Example:
    entry: Entry = finding.entry
    text = " ".join(redactor.redact(entry.text)[0].split())
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return Example(entry.id, entry.owner, shown, redactor.redact(finding.why)[0], finding.other)


def as_dict(found: Audit) -> dict[str, Any]:
    """The audit as plain values, for JSON."""
    return {
        "file": found.file,
        "kind": found.kind,
        "at": found.at.isoformat(),
        "entries": found.entries,
        "owners": found.owners,
        "flagged": found.flagged,
        "share": found.share,
        "problems": {
            group.problem: {
                "measured": group.measured,
                "entries": group.entries,
                "share": group.share,
                "reasons": dict(group.reasons),
                "examples": [
                    {"entry": each.entry, "owner": each.owner, "text": each.text, "why": each.why, "other": each.other}
                    for each in group.examples
                ],
            }
            for group in found.groups
        },
    }
