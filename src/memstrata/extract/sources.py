"""Which text of a turn may become notes, and by which named rule the rest may not ("Trust").

System turns and tool calls are never sources; tool and web text is quarantined. What a `context` served is cut, so that
nothing is remembered because it was remembered. An assistant is believed about its own acts, and about what the
user confirms in the next turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memstrata.extract import source_tables as tables
from memstrata.extract.cues import confirms, is_question, table_language
from memstrata.text.language import detect
from memstrata.text.patterns import regex
from memstrata.text.sentences import sentences
from memstrata.text.tokens import words
from memstrata.types import Turn

ECHO_SHARE: Final = 0.8  # an assistant sentence with this share of a served note's words repeats it
REPEATS: Final = 3  # so many identical lines are a machine's

_FENCE: Final = regex(r"<memstrata-context\b.*?(?:</memstrata-context\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_CODE: Final = regex(r"```.*?(?:```|\Z)", re.DOTALL)
PLACEHOLDER: Final = regex(r"\[REDACTED:[^\[\]]{1,60}\]")
_LIST_ITEM: Final = regex(r"^\s*(?:[-*•・]|\d{1,2}[.)、])\s*")
_WORD: Final = regex(r"\w")


def source_text(turn: Turn, served: Sequence[str], *, after: Sequence[Turn] = ()) -> tuple[str | None, str | None]:
    """The text of a turn that may be extracted from, and the named rule that cut the rest.

    `served` are the texts that `context` gave in this session; `after` the turns that follow (a user's confirmation
    is looked for there). (text, None): all of it may be used. (text, rule): the rule cut a part. (None, rule): nothing
    is left. (None, None): there is nothing to remember and no rule to name. Rules: "system", "tool", "tool_call",
    "quarantined", "echo", "unconfirmed", "secret_only", "heartbeat", "boilerplate".
    """
    blocked = _blocked(turn)
    if blocked is not None:
        return None, blocked
    text, rule = _without_served(turn.indexed_text, served, is_assistant(turn))
    text, machine = _without_machine_text(text)
    rule = rule or machine
    if is_assistant(turn) and text.strip():
        text, unconfirmed = _believed(text, after)
        rule = rule or unconfirmed
    text = text.strip()
    if not text:
        return None, rule
    if "[REDACTED:" in text and _WORD.search(PLACEHOLDER.sub("", text)) is None:
        return None, rule or "secret_only"
    return text, rule


def is_assistant(turn: Turn) -> bool:
    """Whether the turn is an assistant's own words (named speakers of a conversation are users)."""
    return turn.trust == "assistant" or (turn.trust == "import" and turn.role == "assistant")


def is_override(text: str) -> bool:
    """Whether a sentence tries to take over whoever reads it ("ignore previous instructions", "system: ...")."""
    return is_suspicious(text) and tables.OVERRIDE.search(text) is not None


def is_command(text: str) -> bool:
    """Whether a sentence tells the assistant what it is or must do ("from now on you must ...")."""
    return is_suspicious(text) and tables.COMMAND.search(text) is not None


def is_suspicious(text: str) -> bool:
    """Whether a text may hold an override or a command: a cheap first look, at a whole turn or at a sentence."""
    lowered = text.lower()
    return any(word in lowered for word in tables.SUSPICIOUS)


def without_fences(text: str) -> str:
    """The text without the fenced blocks that `context` served; an unclosed fence runs to the end."""
    return _FENCE.sub(" ", text) if "<memstrata-context" in text.lower() else text


def echoes(text: str, served: Sequence[str]) -> bool:
    """Whether a sentence repeats a served text: it has four fifths of its words.

    >>> echoes("As you know, you moved to Porto last May.", ["Moved to Porto last May"])
    True
    """
    return _repeats(frozenset(words(text)), _word_sets(served))


def _word_sets(served: Sequence[str]) -> list[frozenset[str]]:
    return [found for found in (frozenset(words(note)) for note in served) if found]


def _repeats(own: frozenset[str], notes: Sequence[frozenset[str]]) -> bool:
    return any(len(own & note) >= ECHO_SHARE * len(note) for note in notes)


def _without_echoes(pieces: Sequence[str], served: Sequence[str]) -> list[str]:
    """The sentences that repeat no served text, alone or as a part of the text that they make together."""
    notes = _word_sets(served)
    own = [frozenset(words(piece)) for piece in pieces]
    whole = frozenset().union(*own)
    spread = [note for note in notes if len(whole & note) >= ECHO_SHARE * len(note)]
    return [
        piece
        for piece, found in zip(pieces, own)
        if not (found and (_repeats(found, notes) or any(len(found & n) >= ECHO_SHARE * len(found) for n in spread)))
    ]


def _blocked(turn: Turn) -> str | None:
    """The rule that bars a whole turn by what it is, whatever it says."""
    if turn.role == "system" or turn.trust == "system":
        return "system"
    if not turn.is_source:
        return "tool_call"
    if turn.trust in ("tool", "web"):
        return "quarantined"
    return "tool" if turn.role == "tool" else None


def _without_served(text: str, served: Sequence[str], assistant: bool) -> tuple[str, str | None]:
    """The text without what `context` served.

    From an assistant every echoing sentence goes. A user who says it again is evidence; only list items that hold a
    served text are cut there, since that is how programs paste recalled memories into a prompt.
    """
    kept = without_fences(text)
    rule = "echo" if kept != text else None
    if not served:
        return kept, rule
    if assistant:
        pieces = sentences(kept)
        left = _without_echoes(pieces, served)
        return (kept, rule) if len(left) == len(pieces) else ("\n".join(left), "echo")
    lines = kept.splitlines()
    left = [line for line in lines if not (_LIST_ITEM.match(line) and echoes(line, served))]
    return (kept, rule) if len(left) == len(lines) else ("\n".join(left), "echo")


def _without_machine_text(text: str) -> tuple[str, str | None]:
    """The text without code blocks, heartbeats, boot lines, log lines and lines repeated three times or more."""
    if "```" in text:
        text = _CODE.sub("\n", text)
    if tables.HEARTBEAT.search(text) is not None:
        return "", "heartbeat"
    lines = text.splitlines()
    left = [line for line in lines if tables.BOILERPLATE.search(line) is None]
    if len(left) >= REPEATS:
        counts: dict[str, int] = {}
        for line in left:
            counts[line.strip()] = counts.get(line.strip(), 0) + 1
        left = [line for line in left if not line.strip() or counts[line.strip()] < REPEATS]
    return (text, None) if len(left) == len(lines) else ("\n".join(left), "boilerplate")


def _believed(text: str, after: Sequence[Turn]) -> tuple[str, str | None]:
    """Of an assistant's text: all of it if the user confirms it, else the sentences that report its own acts."""
    pieces = sentences(text)
    reply = next((turn for turn in after if turn.trust == "user" or turn.role == "user"), None)
    if reply is not None:
        opening = next(iter(sentences(reply.text)), "")
        if confirms(opening, detect(opening)) and any(not is_question(piece, detect(piece)) for piece in pieces):
            return text, None
    left = [piece for piece in pieces if reports_own_act(piece)]
    if len(left) == len(pieces):
        return text, None
    return "\n".join(left), "unconfirmed"


def reports_own_act(text: str) -> bool:
    """Whether an assistant's sentence reports what it did itself.

    >>> reports_own_act("I've booked your flight."), reports_own_act("You could have booked it.")
    (True, False)
    """
    language = detect(text)
    if is_question(text, language):
        return False
    plain = text.replace("’", "'").lower()
    return tables.OWN_ACT[table_language(language)].search(plain) is not None
