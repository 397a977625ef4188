"""The five signals of A-MAC, each a pure function with a value in [0, 1].

Utility has a module of its own (`gate.utility`). A signal costs microseconds except `support`, which is one longest
common subsequence of the candidate and the turns it cites. What a signal is computed from is stored with the decision,
so each can be computed again without the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from math import exp
from types import MappingProxyType

from memstrata.text.overlap import lcs_precision
from memstrata.types import Candidate, Kind, Trust

HEDGED = 0.8  # "I think", "maybe", たぶん, 可能
HEARSAY = 0.75  # "Tom says that Ana moved": said of somebody, by somebody else
QUESTION = 0.5  # "Did you hear that Ana moved?": the statement is only implied
LISTENER = 0.7  # "You must love it there": of the listener, who would know better
AGREEMENT = 0.5  # each other turn that says the same halves what is missing to 1
TRUST: Mapping[Trust, float] = MappingProxyType(
    {"user": 0.9, "import": 0.9, "assistant": 0.75, "tool": 0.6, "web": 0.5, "system": 0.0}
)
"""How far the single word of a class of speaker is taken; only agreement brings it nearer to 1. Starting values: an
assistant often restates, a tool's output is about the world rather than the user, anyone may write a web page."""

_HOUR = timedelta(hours=1)


def support(candidate_words: Sequence[str], sources: Sequence[Sequence[str]]) -> float:
    """The share of the candidate's words that the cited turns contain in the same order: ROUGE-L precision, in [0, 1].

    Words are those of `text.tokens.words` (Latin words, single CJK characters); the cited turns are read as one text,
    in their order. 1 for a candidate taken verbatim from one turn, 0 without words or sources. One LCS: O(n m).
    """
    if not candidate_words or not sources:
        return 0.0
    return lcs_precision(candidate_words, list(chain.from_iterable(sources)))


def confidence(
    supported: float,
    *,
    trust: Trust,
    hedged: bool,
    hearsay: bool,
    question: bool,
    of_listener: bool = False,
    agreeing: int = 0,
) -> float:
    """How far the candidate can be believed, in [0, 1].

    c = support * TRUST[trust] * HEDGED? * HEARSAY? * QUESTION? * LISTENER?, then 1 - (1 - c) * AGREEMENT ** agreeing,
    where `agreeing` counts other turns, not cited by the candidate, that say the same. Agreement cannot raise what has
    no support at all. A user's plain verbatim statement has .9, with one turn that agrees .95. Constant time.
    """
    believed = supported * TRUST[trust]
    for applies, factor in ((hedged, HEDGED), (hearsay, HEARSAY), (question, QUESTION), (of_listener, LISTENER)):
        if applies:
            believed *= factor
    if believed == 0.0:
        return 0.0
    return 1.0 - (1.0 - believed) * AGREEMENT**agreeing


def novelty(nearest_similarity: float | None) -> float:
    """How new the candidate is: 1 - the highest cosine to notes and earlier candidates of the scope; 1 for the first.

    Negative cosines count as 0, so the value stays in [0, 1]. The cosine comes from the search that classification
    makes anyway.
    """
    if nearest_similarity is None:
        return 1.0
    return 1.0 - min(1.0, max(0.0, nearest_similarity))


def happened_at(candidate: Candidate) -> datetime:
    """The time that recency counts from: the end of the event's interval where it is known, else when it was said.

    The end, because "in March" may be as late as its last day.
    """
    return candidate.event.end if candidate.event is not None else candidate.said_at


def age_hours(newest_at: datetime, happened: datetime) -> float:
    """Hours from what happened to the newest turn of the scope when the page fell due; 0 for what is yet to come."""
    return max(0.0, (newest_at - happened) / _HOUR)


def recency(kind: Kind, hours: float, rates_per_day: Mapping[Kind, float]) -> float:
    """exp(-rate * age), in (0, 1], the rate a day by kind (`Policy.recency_rates`).

    A-MAC's rates are an hour (fact .01): after three weeks, when a page of a conversation of months cools, that is
    exp(-5), the same near zero for everything. The policies here give rates a day instead.
    """
    return exp(-rates_per_day[kind] * hours / 24.0)


def type_prior(kind: Kind, priors: Mapping[Kind, float]) -> float:
    """How often a statement of this kind is worth keeping, before anything else is known (`Policy.type_priors`)."""
    return priors[kind]
