"""One candidate from a whole turn: what `remember` is given is one statement, however many sentences it has."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.extract.candidates import candidate_of_statements, refused
from memstrata.extract.sources import source_text
from memstrata.extract.statements import statements
from memstrata.types import Candidate, Kind, Turn


def whole(turn: Turn, *, kind: Kind | None = None, tags: Sequence[str] = ()) -> Candidate:
    """The turn as one candidate; `kind` and `tags` are the caller's, where given.

    A named rule that bars the turn (an instruction to the assistant, nothing but a secret) makes it a candidate with
    that rule, so that its rejection is stored.
    """
    text, rule = source_text(turn, ())
    if text is None or rule is not None:
        return refused(turn, turn.indexed_text, rule or "empty")
    said = statements(turn, text, people=(), asked=False, previous=None)
    barred = next((statement.rule for statement in said if statement.rule), None)
    if barred:
        return refused(turn, text, barred)
    return candidate_of_statements(turn, said, text=text, kind=kind, tags=tags)
