"""What a chunk holds that answers a kind of question: words of time ("when?"), proper nouns ("who?"), a question."""

from __future__ import annotations

from memstrata.text.patterns import regex
from memstrata.text.stopwords import word_list

TIME, PROPER, QUESTION = 1, 2, 4

_WORD = regex(r"\w+")
_TIME_EN = frozenset(
    word_list(
        """
        yesterday today tonight tomorrow last next ago week weeks weekend weekends month months year years recently just
        since day days morning evening january february march april may june july august september october november
        december monday tuesday wednesday thursday friday saturday sunday soon
        """
    )
)
_YEAR = regex(r"\b\d{4}\b")
_TIME_CJK = regex(
    r"[昨今明]日|一昨日|明後日|今朝|昨夜|今夜|[先今来]週|[先今来]月|去年|昨年|今年|来年|[0-9０-９一二三四五六七八九十]+[年月日週]"
    r"|[月火水木金土日]曜|[昨今明后前][天晚]|今早|[上这这下]个?[周週月]|星期|周末|最近|刚才|刚刚|前年|明年"
)
# A capital that no sentence or speaker begins with (looked back from, since a pattern that opens with a set of letters
# is searched for fastest); katakana; Latin letters within Japanese or Chinese; 「titles」.
_CAPITAL = r"[A-Z](?<=\W.)(?<![.!?:]\s.)[a-z]+"
_PROPER_ASCII = regex(_CAPITAL)
_PROPER = regex(
    _CAPITAL + r"|[\u30a1-\u30fa]{2}[\u30a1-\u30fa\u30fc]*|(?<=[\u3040-\u9fff])[A-Za-z]{2,}|[「『《][^」』》]+"
)
_QUESTION = regex(r"[?？]|か。|吗|呢[。？]?$")


def flags_of(text: str, speaker: str | None = None) -> int:
    """The flags of a chunk, as `vectors.flags` stores them."""
    is_ascii = text.isascii()
    flags = 0
    if (
        not _TIME_EN.isdisjoint(_WORD.findall(text.lower()))
        or _YEAR.search(text)
        or (not is_ascii and _TIME_CJK.search(text))
    ):
        flags |= TIME
    if any(name != speaker for name in (_PROPER_ASCII if is_ascii else _PROPER).findall(text)):
        flags |= PROPER
    if ("?" in text) if is_ascii else _QUESTION.search(text):
        flags |= QUESTION
    return flags
