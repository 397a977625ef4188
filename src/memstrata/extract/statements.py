"""From the usable text of one turn to its statements: sentences that say something, with what their own words tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from memstrata.extract.cue_tables import FILLER_EN
from memstrata.extract.cues import Cues, Folded, cues_of, fold, is_question, points_back, table_language
from memstrata.extract.kinds import kind_of
from memstrata.extract.slots import continues_another, slot_of
from memstrata.extract.smalltalk import content_of, is_filler
from memstrata.extract.source_tables import SECRET_CJK, SECRET_NOUNS_EN
from memstrata.extract.sources import PLACEHOLDER, is_command, is_override, is_suspicious
from memstrata.text.language import detect
from memstrata.text.measure import chunks
from memstrata.text.patterns import regex
from memstrata.text.scripts import has_unspaced
from memstrata.text.sentences import sentences
from memstrata.text.when import find_times
from memstrata.types import EventTime, Kind, Slot, Turn

SENTENCE_WORDS: Final = 80.0  # a longer sentence (a pasted text without stops) is cut into such pieces
_LONGEST_TOKEN: Final = 60  # characters; a "word" beyond that is data, not speech

_FIRST_PERSON: Final = regex(r"\b(?:i|i'm|i've|i'll|i'd|my|me|we|we're|we've|our)\b|私|僕|俺|うち|我", re.IGNORECASE)
_LISTENER: Final = regex(r"\b(?:you|your|ya|u)\b|[你您]|あなた", re.IGNORECASE)
_CONDITION: Final = regex(
    r"^(?:if|when|since|because|as|after|before|once|while|although)\b|如果|要是|もし", re.IGNORECASE
)
_LAST_COMMA: Final = regex(r"(?:, (?:but |and |so )?| [-–—] |; |，|；|、)(?=[^,，、;；]*$)")
_CONJUNCTION: Final = regex(
    r",? (?:and|but|while|though) (?=(?:I|I'm|my)\b)|，(?:但是?|不过|不過|可是|而)?"
    r"|(?<=けど)、?|(?<=が)、|(?<=けれど)、?|(?<=です)、|(?<=ます)、|(?<=ました)、"
)
_WORD: Final = regex(r"\w")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, or the stating half of one; `rule` is set where it is barred by name."""

    text: str
    cues: Cues
    kind: Kind
    slot: Slot | None = None
    event: EventTime | None = None
    language: str = "und"
    points_back: bool = False
    rule: str | None = None


@dataclass(slots=True)
class Reading:
    """What one turn says and asks."""

    said: list[Statement] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


def statements(
    turn: Turn, text: str, *, people: tuple[str, ...] = (), asked: bool = False, previous: Slot | None = None
) -> list[Statement]:
    """The statements in `text`, the usable text of `turn`, in order; see `read`."""
    return read(turn, text, people=people, asked=asked, previous=previous).said


def read(
    turn: Turn, text: str, *, people: tuple[str, ...] = (), asked: bool = False, previous: Slot | None = None
) -> Reading:
    """The statements and questions in `text`, the usable text of `turn`, each in order.

    `people` are those who may be addressed in it, `asked` whether it replies to another (then one word can be a
    statement), `previous` the slot the speaker set last. An attempt to take over the reader bars itself and all that
    follows; a command to the assistant only itself.
    """
    spoken, captions = _captions(turn, text)
    language = detect(spoken or text)
    found = Reading()
    suspicious = is_suspicious(text)
    for piece in _pieces(spoken):
        if suspicious and is_override(piece):
            rest = spoken[spoken.find(piece) :]
            found.said.append(Statement(rest, Cues(), "ephemeral", rule="instruction"))
            return found
        if suspicious and is_command(piece):
            found.said.append(Statement(piece, Cues(), "ephemeral", rule="instruction"))
        elif "[REDACTED:" in piece and _only_secret(piece):
            found.said.append(Statement(piece, Cues(), "ephemeral", rule="secret_only"))
        elif _WORD.search(PLACEHOLDER.sub("", piece) if "[REDACTED:" in piece else piece):
            _read_sentence(piece, _language(piece, language), turn, people, asked, previous, found)
            if found.said and found.said[-1].slot is not None:
                previous = found.said[-1].slot
    for caption in captions:
        rule = "instruction" if is_override(caption) or is_command(caption) else None
        found.said.append(
            Statement(caption, Cues(), "ephemeral" if rule else "fact", language=language, points_back=True, rule=rule)
        )
    return found


def _only_secret(piece: str) -> bool:
    """Whether a sentence says of a redacted secret only that it is a key, a password, a card ..."""
    rest = PLACEHOLDER.sub(" ", piece)
    if not _WORD.search(rest):
        return False  # a placeholder beside other sentences says nothing and leaves nothing to refuse
    if has_unspaced(rest):
        return _WORD.search(SECRET_CJK.sub("", rest)) is None
    return not [word for word in content_of(fold(rest)) if word not in FILLER_EN and word not in SECRET_NOUNS_EN]


def _language(piece: str, language: str) -> str:
    """The language of a sentence: its turn's, unless it is in another script."""
    if table_language(language) != "en":
        return "en" if piece.isascii() else language
    return detect(piece) if has_unspaced(piece) else language


def _pieces(text: str) -> Iterator[str]:
    """The sentences of a text, over-long ones in pieces, without data such as base64."""
    for sentence in sentences(text):
        if (
            len(sentence) > _LONGEST_TOKEN
            and sentence.isascii()
            and max(map(len, sentence.split())) > 2 * _LONGEST_TOKEN
        ):
            continue
        yield from chunks(sentence, SENTENCE_WORDS)


def _captions(turn: Turn, text: str) -> tuple[str, list[str]]:
    """The text without the image captions at its end, and these, each in its brackets."""
    captions: list[str] = []
    for part in reversed(turn.parts):
        bracketed = f"[{part.caption}]"
        if part.caption and text.endswith(bracketed):
            captions.insert(0, bracketed)
            text = text[: -len(bracketed)].rstrip()
    return text, captions


def _read_sentence(
    piece: str,
    language: str,
    turn: Turn,
    people: tuple[str, ...],
    asked: bool,
    previous: Slot | None,
    found: Reading,
) -> None:
    """Add to `found` what one sentence says: nothing if it is small talk, two things where both halves set a slot."""
    folded = fold(piece)
    cues = cues_of(piece, language, folded)
    if cues.question:
        found.questions.append(piece)
        head = _before_question(piece, language)
        if head is None:
            return
        piece, folded = head, fold(head)
        cues = cues_of(piece, language, folded)
    if is_filler(piece, language, names=people, folded=folded):
        return
    if not _has_substance(folded, asked and not found.said):
        return
    for half in _halves(piece, turn, language):
        seen = folded if half is piece else fold(half)
        own = cues if half is piece else cues_of(half, language, seen)
        slot = slot_of(half, _subject(turn), language, previous=previous, cues=own, folded=seen)
        if slot is not None and continues_another(half, language, (one.text for one in found.said)):
            slot = None
        mention = next(iter(find_times(half, turn.at, language=language)), None)
        event = mention.event if mention else None
        kind = kind_of(half, language, event=event, slot=slot, cues=own, folded=seen)
        found.said.append(Statement(half, own, kind, slot, event, language, points_back(half, language, seen)))


def _subject(turn: Turn) -> str | None:
    return turn.speaker or ("assistant" if turn.role == "assistant" else None)


def _halves(piece: str, turn: Turn, language: str) -> list[str]:
    """The halves of "I love tea but I hate coffee" where each sets a slot of its own; else the whole."""
    if len(piece) > 200 or (piece.isascii() and " I" not in piece and " my" not in piece):
        return [piece]
    halves = [half for half in _CONJUNCTION.split(piece) if half]
    if len(halves) > 1 and all(slot_of(half, _subject(turn), language) for half in halves):
        return halves
    return [piece]


def _before_question(piece: str, language: str) -> str | None:
    """The stating half of "I moved to Porto, what about you?": the head of a sentence whose tail asks the listener."""
    comma = _LAST_COMMA.search(piece)
    if comma is None:
        return None
    head, tail = piece[: comma.start()], piece[comma.end() :]
    if not _FIRST_PERSON.search(head) or not _LISTENER.search(tail) or _CONDITION.search(head):
        return None
    return None if is_question(head, language) or not is_question(tail, language) else head


def _has_substance(folded: Folded, asked: bool) -> bool:
    """Whether a sentence holds enough to be remembered: a content word for an answer or about oneself, else two."""
    content = len(content_of(folded))
    return content >= 2 or (content == 1 and (asked or _FIRST_PERSON.search(folded.text) is not None))
