"""Sentence-local cues: negation, hedges, hearsay, questions, plans, unreal situations; English, Japanese, Chinese.

English cues are matched as whole words ("is" is not found inside "this"); a sentence is folded once to
" word word word " and each cue is looked for with a blank on either side. Any other language is read with the
English table, which then finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from memstrata.extract import cue_tables as tables
from memstrata.extract.cue_tables import CueSet
from memstrata.text.patterns import regex

# What sets a value right denies the old one, not the statement: "my name is Anna, not Ana", 綾子ではなく彩子です,
# 我叫王方，不叫王芳. Pairs of a pattern and what it leaves; in English what is denied has a capital, a digit or an
# article.
_OLD_EN: Final = r"(?:(?:an?|the) [\w'-]+|[A-Z0-9][\w'-]*(?: [A-Z0-9][\w'-]*){0,3})"
_CONTRASTS: Final = {
    "en": (
        (regex(rf", (?:and )?not (?:(?:in|at|on|from|with|for) )?{_OLD_EN}(?=[.!;,)]|$)"), ""),
        (regex(rf"(?<=\bis) not {_OLD_EN},? (?:but|it's|it is)(?= [A-Z0-9])"), ""),
        (regex(rf"\bisn't {_OLD_EN},? (?:but|it's|it is)(?= [A-Z0-9])"), "is"),
    ),
    "ja": (
        (regex(r"(?<=です|ます)、?[^、。]{1,16}(?:では|じゃ)(?:ありません|ないです|ない)(?=[。！!]|$)"), ""),
        (
            regex(
                r"[^、。はがを]{1,16}(?:では|じゃ)なくて?、?(?=[^、。はがを]{1,16}(?:です|だ|と申します|といいます))"
            ),
            "",
        ),
    ),
    "zh": (
        (regex(r"[，,]\s*(?:而不是|并不是|並不是|不是|不叫|不在)[^，。,.！!；;了]{1,16}(?=[。.！!；;]|$)"), ""),
        (regex(r"不是[^，。,.！!；;]{1,16}[，,]\s*(?:而)?(?=是)"), ""),
        (regex(r"不叫[^，。,.！!；;]{1,16}[，,]\s*(?:而是)?(?=叫)"), ""),
    ),
}
# One who leaves an employer for the next denies nothing about the next.
_LEFT_FOR: Final = {
    "en": regex(r"\b(?:quit|left) (?:my|his|her) job\b(?=[^.!?;]* (?:and|to|for) (?:then )?(?:join|start))"),
    "ja": regex(r"退職し(?=て[^。]*(?:入社|転職|就職)し)"),
    "zh": regex(r"辞职(?=了?[，,]?[^。！!]*(?:加入|入职))"),
}

_WORD: Final = regex(r"[^\W_]+(?:'[^\W_]+)*")
_TRAILING: Final = regex(r"[\s\"'”’」』）)\]。.!！~〜…]+$")
_QUESTION_EN: Final = regex(
    r"^ (?:(?:and|so|but|oh|well|hey|wow|also|anyway|btw|by the way|ok|okay|cool|nice) )*"
    rf"(?:(?:{'|'.join(tables.QUESTION_WORDS_EN)}) (?:\w+ ){{0,2}}?(?:{'|'.join(tables.AUXILIARIES_EN)}|'s|you) "
    rf"|(?:what's|who's|where's|how's|whats|hows) "
    rf"|(?:{'|'.join(tables.AUXILIARIES_EN)}) (?:{'|'.join(tables.SUBJECTS_EN)}) )"
)
# "What I like is", "how you paint is": a clause, not a question, unless an auxiliary comes before its subject.
_CLAUSE_EN: Final = regex(r"^ (?:what|who|where|when|why|how|which) (?:i|we|you|they|he|she|it|my|the|a|an) ")
_QUESTION_JA: Final = regex(
    r"(?:です|ます|でした|ました|ません|ましょう|でしょう|だろう|のだ|ない|なの|だった|する|いる|ある|した|いた|なん)か$|(?:かい|だい|ですかね)$"
)
_QUESTION_ZH: Final = regex(r"(?:吗|嗎)$|^.{1,4}呢$|^[你您].*(?:是不是|有没有|有沒有|要不要|会不会|能不能|好不好)")


@dataclass(frozen=True, slots=True)
class Cues:
    """What a sentence's own words say about how far it can be taken."""

    negated: bool = False
    hedged: bool = False
    hearsay: bool = False
    question: bool = False
    future: bool = False
    hypothetical: bool = False


class Folded(NamedTuple):
    """A text as cues are looked for in it."""

    text: str  # as it stands
    padded: str  # " word word word ": lower case, one blank around every word, straight apostrophes
    words: tuple[str, ...]


@lru_cache(maxsize=256)  # a sentence is read for the summary of its page and for its statements
def fold(text: str) -> Folded:
    """The text folded for cues: done once a sentence and handed on, where several functions look at it.

    >>> fold("This ISN’T it!").padded
    " this isn't it "
    """
    words = tuple(_WORD.findall(text.replace("’", "'").lower()))
    return Folded(text, f" {' '.join(words)} ", words)


def has_cue(folded: Folded, cues: CueSet) -> bool:
    """Whether one of `cues` stands in the text: English ones as whole words, those of other scripts anywhere."""
    if cues.substrings:
        text = folded.text
        return any(cue in text for cue in cues.substrings)
    firsts, padded = cues.by_first_word, folded.padded
    if firsts.keys().isdisjoint(folded.words):
        return False
    return any(cue in padded for word in folded.words for cue in firsts.get(word, ()))


def table_language(language: str) -> str:
    """The language whose cue tables are read for `language`: its own, or English where there is none."""
    return language if language in ("ja", "zh") else "en"


def is_question(text: str, language: str, folded: Folded | None = None) -> bool:
    """Whether the sentence asks: by its mark, or by its grammar where the mark is missing.

    >>> is_question("what is your name", "en"), is_question("What I like is tea.", "en")
    (True, False)
    >>> is_question("お元気ですか。", "ja"), is_question("你喜欢茶吗", "zh"), is_question("静かな町です。", "ja")
    (True, True, False)
    """
    bare = text.rstrip(" \"'”’」』）)!！.。…")
    if bare.endswith(("?", "？")):
        return True
    language = table_language(language)
    if language == "en":
        padded = (folded or fold(text)).padded
        return _CLAUSE_EN.match(padded) is None and _QUESTION_EN.match(padded) is not None
    stem = _TRAILING.sub("", text)
    if language == "ja":
        return _QUESTION_JA.search(stem) is not None
    asks = stem.endswith("呢") and any(word in stem for word in tables.INTERROGATIVES_ZH)
    return asks or _QUESTION_ZH.search(stem) is not None


def cues_of(text: str, language: str, folded: Folded | None = None) -> Cues:
    """The cues of one sentence (or of a few joined ones: a cue of any of them counts).

    >>> cues_of("I think she might not come.", "en")
    Cues(negated=True, hedged=True, hearsay=False, question=False, future=False, hypothetical=False)
    """
    table = table_language(language)
    folded = folded or fold(text)
    return Cues(
        negated=_negated(folded, table),
        hedged=has_cue(folded, tables.HEDGES[table]),
        hearsay=has_cue(folded, tables.HEARSAY[table]),
        question=is_question(text, language, folded),
        future=has_cue(folded, tables.FUTURE[table]),
        hypothetical=has_cue(folded, tables.HYPOTHETICALS[table]),
    )


def without_contrast(text: str, language: str) -> str:
    """The text without the value that it sets right, by its tables' language.

    >>> without_contrast("My name is Anna, not Ana.", "en"), without_contrast("名前は綾子ではなく彩子です。", "ja")
    ('My name is Anna.', '名前は彩子です。')
    """
    for pattern, left in _CONTRASTS[language]:
        text = pattern.sub(left, text)
    return text


def points_back(text: str, language: str, folded: Folded | None = None) -> bool:
    """Whether the sentence opens with a word whose antecedent is in the sentence before ("It was great", "それは")."""
    table = table_language(language)
    if table == "en":
        words = (folded or fold(text)).words
        return bool(words) and words[0] in tables.ANAPHORS["en"]
    return text.lstrip().startswith(tables.ANAPHORS[table])


def confirms(text: str, language: str) -> bool:
    """Whether a reply opens by confirming what was said before it ("Yes, that's right.", "その通りです", "没错").

    >>> confirms("Yes, on Friday.", "en"), confirms("Yes, but not on Friday.", "en"), confirms("I moved.", "en")
    (True, False, False)
    """
    table = table_language(language)
    if is_question(text, language):
        return False
    folded = fold(text)
    if has_cue(folded, tables.CONFIRMATION_EXCEPTIONS[table]):
        return False
    if table == "en":
        return folded.padded.startswith(tuple(f" {cue} " for cue in tables.CONFIRMATIONS["en"]))
    return text.strip().startswith(tables.CONFIRMATIONS[table])


def _negated(folded: Folded, table: str) -> bool:
    if not has_cue(folded, tables.NEGATIONS[table]):
        return False
    stated = _LEFT_FOR[table].sub("", without_contrast(folded.text.replace("’", "'"), table))
    if stated != folded.text:
        folded = fold(stated)
        if not has_cue(folded, tables.NEGATIONS[table]):
            return False
    if not has_cue(folded, tables.NEGATION_EXCEPTIONS[table]):
        return True
    rest = folded.text if table != "en" else folded.padded
    for exception in tables.NEGATION_EXCEPTIONS[table].cues():
        rest = rest.replace(exception, " ")
    return has_cue(fold(rest), tables.NEGATIONS[table])
