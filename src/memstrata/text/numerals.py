"""Numbers written in words: English, and Chinese numerals as Chinese and Japanese use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memstrata.text.patterns import regex
from memstrata.text.stopwords import word_list

_UNITS = {
    word: value
    for value, word in enumerate(
        word_list(
            """
            one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
            eighteen nineteen
            """
        ),
        start=1,
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(word_list("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_VALUES = _UNITS | _TENS | _SCALES

_HAN_DIGITS = {character: value for value, character in enumerate("〇一二三四五六七八九")}
_HAN_DIGITS |= {"零": 0, "两": 2, "兩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000}
_HAN_LARGE = {"万": 10_000, "萬": 10_000, "億": 100_000_000, "亿": 100_000_000}
_COUNTED = (
    "年月日天号號时時点點分秒周週个個人名位口只匹頭头条枚本冊册张張台辆輛次回度岁歳才元円块塊件"
    "杯瓶楼階层層番第斤公里米歩步倍つ"
)
_HAN_NUMBER = regex(rf"[{''.join(_HAN_DIGITS | _HAN_SCALES | _HAN_LARGE)}]{{1,20}}(?=[{_COUNTED}])")


def english_numbers(words: Iterable[str]) -> Iterator[str]:
    """The numbers that case-folded `words` spell, as decimal strings: "twenty", "three" is 23.

    A lone "one" is a pronoun as often as a number, and is none.
    """
    total = current = 0
    spelled: list[str] = []
    for word in [*words, ""]:
        value = _VALUES.get(word)
        if value is not None and word in _SCALES:
            current = max(current, 1) * value
            if value >= 1_000:
                total, current = total + current, 0
        elif value is not None and (current % 100 == 0 or (value < 10 and spelled[-1] in _TENS)):
            current += value
        else:
            if spelled and spelled != ["one"]:
                yield str(total + current)
            total, current, spelled = 0, value or 0, []
        if value is not None:
            spelled.append(word)


def _han_value(numeral: str) -> int:
    if not any(character in _HAN_SCALES or character in _HAN_LARGE for character in numeral):
        return int("".join(str(_HAN_DIGITS[character]) for character in numeral))  # 二〇二三
    total = section = digit = 0
    for character in numeral:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_SCALES:
            section, digit = section + (digit or 1) * _HAN_SCALES[character], 0
        else:
            total, section, digit = total + (section + digit or 1) * _HAN_LARGE[character], 0, 0
    return total + section + digit


def han_numbers(text: str) -> Iterator[str]:
    """The Chinese numerals before a counter in `text`, as decimal strings: 二十三歳 is 23. A lone 一 is none."""
    for match in _HAN_NUMBER.finditer(text):
        if match[0] != "一":
            yield str(_han_value(match[0]))
