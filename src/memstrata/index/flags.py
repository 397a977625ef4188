"""What a chunk holds that answers a kind of question: words of time ("when?"), proper nouns ("who?"), a question."""

from __future__ import annotations

import re

from memstrata.text.patterns import regex

TIME, PROPER, QUESTION = 1, 2, 4

_TIME_EN = regex(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekends?|months?|years?|recently|just|since|days?"
    r"|morning|evening|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|soon|\d{4})\b",
    re.IGNORECASE,
)
_TIME_CJK = regex(
    r"[昨今明]日|一昨日|明後日|今朝|昨夜|今夜|[先今来]週|[先今来]月|去年|昨年|今年|来年|[0-9０-９一二三四五六七八九十]+[年月日週]"
    r"|[月火水木金土日]曜|[昨今明后前][天晚]|今早|[上这这下]个?[周週月]|星期|周末|最近|刚才|刚刚|前年|明年"
)
# A capital that no sentence or speaker begins with; katakana; Latin letters within Japanese or Chinese; 「titles」.
_PROPER = regex(
    r"(?<![.!?:]\s)(?<!^)\b[A-Z][a-z]+|[\u30a1-\u30fa]{2}[\u30a1-\u30fa\u30fc]*|(?<=[\u3040-\u9fff])[A-Za-z]{2,}|[「『《][^」』》]+"
)
_QUESTION = regex(r"[?？]|か。|吗|呢[。？]?$")


def flags_of(text: str, speaker: str | None = None) -> int:
    """The flags of a chunk, as `vectors.flags` stores them."""
    flags = TIME if _TIME_EN.search(text) or (not text.isascii() and _TIME_CJK.search(text)) else 0
    if any(name != speaker for name in _PROPER.findall(text)):
        flags |= PROPER
    if _QUESTION.search(text):
        flags |= QUESTION
    return flags
