"""Which language a text is in: by script first, then by the function words of the Latin-script languages."""

from __future__ import annotations

from functools import lru_cache

from memstrata.text.patterns import regex
from memstrata.text.scripts import HAN, HANGUL, HIRAGANA, KATAKANA
from memstrata.text.stopwords import ENGLISH, word_list

_ENOUGH = 4_000  # characters that decide

# Scripts that stand for one language here, in the order of the table; variants below.
_SCRIPTS: tuple[tuple[str, str], ...] = (
    ("kana", HIRAGANA + KATAKANA),
    ("han", HAN),
    ("ko", HANGUL),
    ("th", "\u0e01-\u0e5b"),
    ("lo", "\u0e81-\u0edf"),
    ("my", "\u1000-\u109f"),
    ("km", "\u1780-\u17ff"),
    ("cyrillic", "\u0400-\u052f"),
    ("arabic", "\u0620-\u06ff"),
    ("el", "\u0370-\u03ff"),
    ("he", "\u05d0-\u05ea"),
    ("hi", "\u0900-\u097f"),
    ("bn", "\u0980-\u09ff"),
    ("pa", "\u0a00-\u0a7f"),
    ("gu", "\u0a80-\u0aff"),
    ("ta", "\u0b80-\u0bff"),
    ("te", "\u0c00-\u0c7f"),
    ("kn", "\u0c80-\u0cff"),
    ("ml", "\u0d00-\u0d7f"),
    ("si", "\u0d80-\u0dff"),
    ("hy", "\u0531-\u0587"),
    ("ka", "\u10a0-\u10ff"),
)
_RUNS = regex("|".join(f"(?P<{name}>[{body}]+)" for name, body in _SCRIPTS))
_LATIN_WORD = regex(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")
_JAPANESE_ONLY = regex("[々込働畑峠辻円駅図売読対経済験覚広沢浜桜気変県]")
_UKRAINIAN = regex("[іїєґІЇЄҐ]")
_PERSIAN = regex("[پچژگ]")
_VIETNAMESE = regex("[ăđơưĂĐƠƯ\u1ea0-\u1ef9]")

_CHARACTERS_A_WORD = 3.0  # Latin letters that say as much as one Han or kana character

_FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(ENGLISH),
    "de": frozenset(
        word_list("der die das und ich ist nicht ein eine zu mit auf für den von sie wir mein hat habe war")
    ),
    "fr": frozenset(
        word_list("le la les des et je est pas un une dans pour que qui nous vous mon ma avec sur suis été")
    ),
    "es": frozenset(word_list("el la los las y yo es no un una en por para que mi con muy pero como fue está soy")),
    "it": frozenset(word_list("il lo la gli e io è non un una di che per mi con sono ho molto ma come della nel")),
    "pt": frozenset(word_list("o os as e eu é não um uma em para que meu minha com muito mas como foi está sou")),
    "nl": frozenset(word_list("de het een en ik is niet van op te dat met voor mijn heb naar zijn was er maar")),
    "sv": frozenset(word_list("och jag är inte ett en att det som på med för min har var till av den")),
    "pl": frozenset(word_list("i w na nie jest się z do to że jak mam ale moja mój dla od był była")),
    "tr": frozenset(word_list("ve bir bu ben çok için ile ama değil var benim gibi daha olarak da de")),
    "id": frozenset(word_list("dan yang di saya tidak ini itu dengan untuk ke dari akan sudah ada aku pada")),
}


_LANGUAGES_OF: dict[str, tuple[str, ...]] = {
    word: tuple(language for language, listed in _FUNCTION_WORDS.items() if word in listed)
    for word in frozenset().union(*_FUNCTION_WORDS.values())
}


def _latin(text: str) -> str:
    """The language whose function words are most frequent; English for plain ASCII without any, else "und"."""
    if not text.isascii() and _VIETNAMESE.search(text):
        return "vi"
    hits: dict[str, int] = {}
    for word in _LATIN_WORD.findall(text.lower()):
        for language in _LANGUAGES_OF.get(word, ()):
            hits[language] = hits.get(language, 0) + 1
    if not hits:
        return "en" if text.isascii() else "und"
    # On a tie the order of the table decides, English first.
    return max(_FUNCTION_WORDS, key=lambda language: hits.get(language, 0))


def _variant(script: str, text: str, japanese: bool) -> str:
    if script == "han":
        return "ja" if japanese or _JAPANESE_ONLY.search(text) else "zh"
    if script == "kana":
        return "ja"
    if script == "cyrillic":
        return "uk" if _UKRAINIAN.search(text) else "ru"
    if script == "arabic":
        return "fa" if _PERSIAN.search(text) else "ar"
    return script


def detect(text: str) -> str:
    """The ISO 639-1 code of the language most of `text` is in, or "und" for text without letters.

    Any kana among Chinese characters makes it Japanese. A few words of another script in a text do not decide.
    Limits: Japanese written in Chinese characters alone is "zh" unless one of them is Japanese only; short Latin text
    without function words counts as English when it is plain ASCII.
    """
    return _detect(text[:_ENOUGH])


@lru_cache(maxsize=512)  # a turn and its sentences are asked about by several stages
def _detect(text: str) -> str:
    if not text.isascii():
        counts: dict[str, float] = {}
        for match in _RUNS.finditer(text):
            script = match.lastgroup or ""
            counts[script] = counts.get(script, 0) + match.end() - match.start()
        if counts:
            kana = counts.get("kana", 0) > 0
            if kana:
                counts["han"] = counts.pop("kana") + counts.get("han", 0)
            script = max(counts, key=counts.__getitem__)
            latin = sum(map(len, _LATIN_WORD.findall(text)))
            weight = _CHARACTERS_A_WORD if script == "han" else 1.0
            if counts[script] * weight >= latin:
                return _variant(script, text, kana)
    return _latin(text) if _LATIN_WORD.search(text) else "und"
