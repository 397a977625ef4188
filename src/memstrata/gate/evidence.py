"""The words by which a candidate was read as hedged, as hearsay or as one of its kind: for the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memstrata.extract import cue_tables, kind_tables
from memstrata.extract.cue_tables import CueSet, Table
from memstrata.extract.cues import Folded, fold, table_language
from memstrata.types import Candidate

_KIND_TABLES: Final[Mapping[str, Table]] = {
    "ephemeral": kind_tables.EPHEMERAL,
    "plan": cue_tables.FUTURE,
    "identity": kind_tables.IDENTITY,
    "preference": kind_tables.PREFERENCE,
    "relation": kind_tables.RELATION,
    "procedure": kind_tables.PROCEDURE,
    "state": kind_tables.STATE,
}


def cues_found(candidate: Candidate) -> dict[str, list[str]]:
    """The cue words in a candidate, by what they stand for: "hedged", "hearsay", "kind"; nothing of what has none.

    A kind that follows from a slot names its attribute; one that follows from grammar (a past tense, a question of
    whose relative) has no word. Looks only for what extraction says is there: microseconds.
    """
    language = table_language(candidate.language)
    table = _KIND_TABLES.get(candidate.kind)
    folded = fold(candidate.text) if candidate.hedged or candidate.hearsay or table is not None else None
    found: dict[str, list[str]] = {}
    if folded is not None:
        if candidate.hedged:
            found["hedged"] = _cues_in(folded, cue_tables.HEDGES[language])
        if candidate.hearsay:
            found["hearsay"] = _cues_in(folded, cue_tables.HEARSAY[language])
    if candidate.slot is not None:
        found["kind"] = [candidate.slot.attribute]
    elif table is not None and folded is not None:
        found["kind"] = _cues_in(folded, table[language])
    return {name: cues for name, cues in found.items() if cues}


def _cues_in(folded: Folded, cues: CueSet) -> list[str]:
    """The cues of a set that stand in the text, each once."""
    if cues.substrings:
        return [cue for cue in cues.substrings if cue in folded.text]
    firsts = (cues.by_first_word.get(word, ()) for word in folded.words)
    return list(dict.fromkeys(cue.strip() for group in firsts for cue in group if cue in folded.padded))
