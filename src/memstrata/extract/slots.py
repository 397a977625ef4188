"""Which single-valued attribute a statement sets, if any: "I live in Porto" sets (user, lives_in, porto).

Only statements with the same subject and the same attribute can revise each other, so a slot is read cautiously:
questions, hypotheticals, hearsay, hedges, plans and the past give none (but what no longer holds sets the same slot,
and its statement is negated), and neither does a verb that is not listed
("audits", "visited"). A feeling toward a thing is an attribute of its own, "feels_about:tea", positive or negative.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from memstrata.extract import slot_frames as tables
from memstrata.extract import slot_frames_en as english
from memstrata.extract import slot_frames_ja as japanese
from memstrata.extract import slot_frames_zh as chinese
from memstrata.extract.cues import Cues, Folded, cues_of, fold, table_language, without_contrast
from memstrata.text.patterns import regex
from memstrata.text.tokens import normalise
from memstrata.types import Slot

_FRAMES: Final = {
    "en": english.FRAMES + english.FEELINGS,
    "ja": japanese.FRAMES + japanese.FEELINGS,
    "zh": chinese.FRAMES + chinese.FEELINGS,
}
_PLACES_EN: dict[str, tuple[int, ...]] = {}  # the places in the table of the frames that a word triggers
for _place, _frame in enumerate(_FRAMES["en"]):
    for _trigger in _frame.triggers:
        _PLACES_EN[_trigger] = (*_PLACES_EN.get(_trigger, ()), _place)
_ENDINGS: Final = {"en": english.ENDINGS, "ja": japanese.ENDINGS, "zh": chinese.ENDINGS}
_CORRECTIONS: Final = {"en": english.CORRECTION, "ja": japanese.CORRECTION, "zh": chinese.CORRECTION}
_SET_RIGHT: Final = {"en": english.SET_RIGHT, "ja": japanese.SET_RIGHT, "zh": chinese.SET_RIGHT}

PLAIN_USER: Final = "user"  # the subject of "I" where the speaker has no name

_ARTICLES: Final = regex(r"^(?:the|an?) ")
_PAST_EN: Final = regex(r"\b(?:used to|back when|when I was|as a (?:kid|child|teenager))\b")
_PAST_WORDS_EN: Final = frozenset(("used", "back", "when", "as"))  # the first words of these
_PAST_JA: Final = regex(r"(?:昔は|以前は|子供の頃)")
_PAST_ZH: Final = regex(r"(?:以前|曾经|曾經|过去|小时候)")
_PAST: Final = {"en": _PAST_EN, "ja": _PAST_JA, "zh": _PAST_ZH}
_LISTED: Final = regex(r"(?:, [\w' -]+)+,? (?:and|or) (?!I\b)|、[^、。]+(?:と|や)|和|跟")
_HONORIFIC: Final = regex(r"(?:さん|くん|ちゃん|君)$")


def slot_of(
    text: str,
    speaker: str | None,
    language: str,
    *,
    previous: Slot | None = None,
    cues: Cues | None = None,
    folded: Folded | None = None,
) -> Slot | None:
    """The slot that one sentence sets.

    `speaker` is the subject of "I" (None: the plain user). `previous` is the slot the same speaker set last, which
    "now it's B" refers to. `cues` and `folded` save reading them again.

    >>> slot_of("I live in Porto.", "Ana", "en")
    Slot(subject='ana', attribute='lives_in', value='porto')
    >>> slot_of("Ana audits Acme.", "Ben", "en") is None
    True
    """
    folded = folded or fold(text)
    cues = cues or cues_of(text, language, folded)
    language = table_language(language)
    if cues.question or cues.hedged or cues.hearsay or cues.hypothetical:
        return None
    if not (language == "en" and _PAST_WORDS_EN.isdisjoint(folded.words)) and _PAST[language].search(text):
        return None
    text = text.replace("’", "'").strip()
    if language == "en" and not text.isascii():
        text = unicodedata.normalize("NFKC", text)  # the frames look for capitals: Ｃlara is Clara
    plain = without_contrast(text, language)
    for frame in _likely_frames(folded, language):
        slot = _read(frame, plain, speaker, language, cues)
        if slot is not None:
            return slot
    if cues.negated and not cues.future:
        for frame in _ENDINGS[language]:
            if any(trigger in folded.text for trigger in frame.triggers) and (found := frame.pattern.search(text)):
                return _stated(frame, found, speaker)
    return _correction(text, speaker, language, previous)


def refers_back(text: str, language: str) -> bool:
    """Whether a text corrects a statement made before it without naming what it is about ("now it's B")."""
    table, text = table_language(language), text.replace("’", "'")
    return any(forms[table].search(text) is not None for forms in (_CORRECTIONS, _SET_RIGHT))


def continues_another(text: str, language: str, before: Iterable[str]) -> bool:
    """Whether a sentence without a subject goes on about somebody named in the sentences before it.

    Japanese leaves subjects out: in "妹は看護師です。大阪に住んでいます。" it is the sister who lives in Osaka.
    """
    if language != "ja" or japanese.TOPIC.search(text):
        return False
    topics = [found for sentence in before for found in japanese.TOPIC.finditer(sentence)]
    return bool(topics) and topics[-1]["other"] is not None


def _likely_frames(folded: Folded, language: str) -> list[tables.Frame]:
    """The frames one of whose triggers occurs, in the order of the tables."""
    if language != "en":
        text = folded.text
        return [f for f in _FRAMES[language] if not f.triggers or any(trigger in text for trigger in f.triggers)]
    places = sorted({place for word in folded.words for place in _PLACES_EN.get(word, ())})
    return [_FRAMES["en"][place] for place in places]


def _read(frame: tables.Frame, text: str, speaker: str | None, language: str, cues: Cues) -> Slot | None:
    """The slot of one frame, or None where it does not fit or another reading is likelier."""
    feeling = frame.attribute == tables.FEELING
    if not feeling and (cues.negated or cues.future):
        return None
    found = frame.pattern.search(text)
    if found is None:
        return None
    if feeling:
        groups = found.groupdict()
        subject = _subject(groups.get("who"), speaker)
        if subject is None:
            return None
        thing = "" if _LISTED.match(text[found.end() :]) else _thing(groups["thing"], language)
        return Slot(subject, f"{tables.FEELING}:{thing}", frame.fixed) if thing else None
    return _stated(frame, found, speaker)


def _stated(frame: tables.Frame, found: re.Match[str], speaker: str | None) -> Slot | None:
    """The slot of a frame that was found, other than a feeling's; None where its value is no value."""
    groups = found.groupdict()
    subject = _subject(groups.get("who"), speaker)
    if subject is None:
        return None
    value = _clean(frame.fixed or groups.get("value") or groups.get("value2") or "")
    if not value or value in tables.NOT_PLACES_ZH or value in tables.NOT_PLACES_JA:
        return None
    attribute = frame.attribute
    if attribute in ("lives_in", "works_at") and value.endswith(tables.WITHIN_PLACES):
        return None
    if "thing" in groups:  # "favourite" and "name" are of something: favourite_player, dog_name
        thing = _clean(groups["thing"]).replace(" ", "_")
        thing = tables.SPELLINGS.get(thing, thing)
        attribute = f"{attribute}_{thing}" if attribute == "favourite" else f"{thing}_{attribute}"
    return Slot(subject, attribute, value)


def _subject(who: str | None, speaker: str | None) -> str | None:
    """The normalised subject: a name, the speaker, or the speaker's own ("ana's wife"); None for a mere pronoun."""
    own = _clean(speaker) if speaker else PLAIN_USER
    if who is None:
        return own
    if who[:3].lower() == "my ":
        return f"{own}'s {_clean(who[3:])}"
    who = _HONORIFIC.sub("", who)
    if not who or who.split(" ", 1)[0].lower() in tables.NOT_NAMES:
        return None
    return _clean(who)


def _thing(text: str, language: str) -> str:
    """What a feeling is about, normalised; empty where it is a pronoun, a clause or a list of things."""
    if language != "en":
        thing = normalise(text)
        return (
            ""
            if any(mark in thing for mark in ("和", "と", "、", "你", "您", "あなた", "这", "那", "それ", "これ"))
            else thing
        )
    words = normalise(text).split()
    if words[:1] == ["to"]:
        words = words[1:]
    if words[:1] and words[0] in ("the", "a", "an"):
        words = words[1:]
    kept: list[str] = []
    for word in words:
        if word in tables.THING_ENDS_EN:
            break
        if word in tables.THING_BREAKS_EN:
            return ""
        kept.append(word)
    if not kept or kept[0] in tables.NOT_THINGS_EN or len(kept) > 4:
        return ""
    return " ".join(kept)


def _correction(text: str, speaker: str | None, language: str, previous: Slot | None) -> Slot | None:
    """The slot of "now it's B", or of "it's B, not A" where A was said: the previous subject and attribute."""
    if previous is None or previous.attribute.startswith(tables.FEELING):
        return None
    own = _subject(None, speaker)
    found = _CORRECTIONS[language].search(text)
    if found is None:
        found = _SET_RIGHT[language].search(text)
        if found is not None and _clean(found["old"] or found["old2"]) != previous.value:
            return None
    if found is None or (own != previous.subject and not previous.subject.startswith(f"{own}'s ")):
        return None
    value = _clean(found["value"] or found.groupdict().get("value2") or "")
    words = value.split()
    if not words or words[0] in tables.NOT_VALUES or words[-1] in tables.NOT_VALUES or words[0].endswith("ing"):
        return None
    return Slot(previous.subject, previous.attribute, value)


def _clean(text: str) -> str:
    return _ARTICLES.sub("", normalise(text).strip(" .,;:!'\"「」『』“”"))
