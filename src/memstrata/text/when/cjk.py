"""Japanese and Chinese expressions of time, by one set of rules: the two share most characters and all shapes.

Texts are read folded (see `cjk_words.FOLDED`). The choices are those of `english.py`, but for these:

- 先週の金曜日, 上周五 (and 来週, 下周): that weekday of the calendar week before (after) the turn's.
- 金曜日, 周五: with a past tense the latest before the turn's day, otherwise the first after it.
- 週末, 周末 alone: with a past tense the one that is on or went, with a future one the coming, else nothing.
- 三日前, 三天前 count from the turn; 出発の3日前 (before something else) and 三日間 (a duration) give nothing.
- 3日後, 三天后 count from the turn unless the sentence is in the past tense.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memstrata.text.patterns import regex
from memstrata.text.when import cjk_words as words
from memstrata.text.when.rules import Reading, Rule, absolute
from memstrata.text.when.spans import FEW, Tense
from memstrata.types import EventTime


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_NUMERAL = "[0-9〇零一二两三四五六七八九十百千]"
_COUNT = rf"(?:(?P<few>{_any(words.FEW_WORDS)})|(?P<number>{_NUMERAL}{{1,6}}))"
_NOT_COUNTED = rf"(?<!{_NUMERAL})(?<![の的第月.个])"
_UNIT = rf"(?P<unit>{_any(words.UNITS)})"
_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_DAY = r"(?P<day>[0-3]?[0-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_YEAR = (
    rf"(?:(?P<year>(?:19|20)[0-9]{{2}}|[一二][〇零一二三四五六七八九]{{3}})年|"
    rf"(?P<era>{_any(words.ERAS)})(?P<era_year>元|{_NUMERAL}{{1,3}})年|"
    rf"(?<![以之原本])(?P<year_word>{_any(words.YEARS)}))"
)
_NOT_AT = r"(?!(?:以|之)?[前后降])"  # "5月8日以前": some time before
_ON_WEEKDAY = (
    r"(?:[（(]?(?:[月火水木金土日](?:曜日?)?[）)]|[月火水木金土日]曜日?|(?:周|星期|礼拜)[一二三四五六日天][）)]?))?"
)

_TENSE = regex(rf"(?P<past>{words.PAST})|(?P<future>{words.FUTURE})")
_KANA = regex("[ぁ-ヶ]")
_SENTENCE_END = regex(r"[。！？!?\n]")
_TENSE_REACH = 80  # characters on either side that may tell the tense


def tense_of(folded: str, start: int, end: int) -> Tense | None:
    """The tense of the sentence around folded[start:end], None when nothing tells."""
    before = _SENTENCE_END.split(folded[max(0, start - _TENSE_REACH) : start])[-1]
    after = _SENTENCE_END.split(folded[end : end + _TENSE_REACH], maxsplit=1)[0]
    # Chinese tells it soon after the time (周五我要去…了), Japanese at the end of the sentence (見た後に行く予定).
    told = [match.lastgroup for match in _TENSE.finditer(after)]
    if told:
        group = told[-1] if _KANA.search(after) else told[0]
    else:
        group = next((match.lastgroup for match in _TENSE.finditer(before)), None)
    if group is None:
        return None
    return "past" if group == "past" else "future"


def numeral(text: str) -> int:
    """三 -> 3, 二十五 -> 25, 二〇二三 -> 2023, 12 -> 12; ValueError for no numeral."""
    if not any(c in words.MULTIPLES for c in text):
        return int("".join(str(words.DIGITS[c]) for c in text))
    total, digit = 0, None
    for c in text:
        if c in words.MULTIPLES:
            total += (1 if digit is None else digit) * words.MULTIPLES[c]
            digit = None
        else:
            digit = words.DIGITS[c] if digit is None else digit * 10 + words.DIGITS[c]
    return total + (digit or 0)


def _year_of(match: re.Match[str], reading: Reading) -> int | None:
    """The year that _YEAR matched, None where it was left out."""
    if match["year"]:
        return numeral(match["year"])
    if match["era"]:
        return words.ERAS[match["era"]] + (1 if match["era_year"] == "元" else numeral(match["era_year"]))
    if match["year_word"]:
        return reading.anchor.today.year + words.YEARS[match["year_word"]]
    return None


def _needs_turn(match: re.Match[str]) -> bool:
    return not (match["year"] or match["era"])


def _ago_or_ahead(match: re.Match[str], reading: Reading) -> EventTime | None:
    unit, ahead = words.UNITS[match["unit"]], match["side"] in "后"
    if ahead and reading.tense(match) == "past":
        return None
    if match["few"]:
        return reading.anchor.away_about(*((-FEW[1], -FEW[0]) if ahead else FEW), unit)
    number = numeral(match["number"])
    if unit == "year" and number >= 1000:
        return None  # 2023年前: before 2023
    return reading.anchor.away(number if ahead else -number, unit)


def _half_year(match: re.Match[str], reading: Reading) -> EventTime | None:
    if match["side"] == "前":
        return reading.anchor.away_about(5, 7, "month")
    return None if reading.tense(match) == "past" else reading.anchor.away_about(-7, -5, "month")


def _past_span(match: re.Match[str], reading: Reading) -> EventTime:
    count = FEW[1] if match["few"] else numeral(match["number"])
    return reading.anchor.past(count, words.UNITS[match["unit"]])


def _week(match: re.Match[str], reading: Reading) -> EventTime | None:
    week = words.WEEKS_JA[match["ja"]] if match["ja"] else words.WEEKS_ZH[match["zh"]]
    if match["weekend"]:
        return reading.anchor.weekend(week)
    if match["weekday"]:
        return reading.anchor.weekday_of_week(words.WEEKDAYS[match["weekday"]], week)
    return reading.anchor.week(week)


def _weekday(match: re.Match[str], reading: Reading) -> EventTime | None:
    return reading.anchor.weekday(words.WEEKDAYS[match["ja"] or match["zh"]], reading.tense(match))


def _weekend(match: re.Match[str], reading: Reading) -> EventTime | None:
    tense = reading.tense(match)
    return None if tense is None else reading.anchor.this_weekend(tense)


def _date(match: re.Match[str], reading: Reading) -> EventTime:
    year, month, day = _year_of(match, reading), numeral(match["month"]), numeral(match["day"])
    if year is None:
        return reading.anchor.date_named(month, day, reading.tense(match))
    return reading.anchor.on(reading.anchor.today.replace(year, month, day))


def _month(match: re.Match[str], reading: Reading) -> EventTime:
    year, month = _year_of(match, reading), numeral(match["month"])
    if year is None:
        return reading.anchor.month_named(month, reading.tense(match))
    return reading.anchor.month_of(year, month)


def _month_word(match: re.Match[str], reading: Reading) -> EventTime:
    span = reading.anchor.month(words.MONTHS[match["which"]])
    if match["day"] is None:
        return span
    return reading.anchor.on(span.start.date().replace(day=numeral(match["day"])))


def _year(match: re.Match[str], reading: Reading) -> EventTime | None:
    year = _year_of(match, reading)
    if year is None:
        return None
    if match["season"]:
        return reading.anchor.season_of(year, words.SEASONS[match["season"]])
    return reading.anchor.year_of(year)


def _decade(match: re.Match[str], reading: Reading) -> EventTime:
    decade = numeral(match["decade"])
    return reading.anchor.year_of(decade if decade > 100 else 1900 + decade, years=10, precision="decade")


# 晚上周五, 一下周末, 这周围, 上周游: no week is meant.
_ZH_WEEK = rf"(?<![一以之晚早马地天身路楼])(?P<zh>{_any(words.WEEKS_ZH)})个?(?:周(?![围边游刊报年期岁密])|星期|礼拜)"
_JA_WEEK = rf"(?<![本原后近])(?P<ja>{_any(words.WEEKS_JA)})(?!间)"
_WEEKDAY_ZH = "[一二三四五六日天]"
_HABIT = "(?<![毎每])(?<![毎每]周)(?<![毎每]周の)(?<![毎每]个)"

RULES: tuple[Rule, ...] = (
    Rule(
        regex(rf"(?<!{words.NOT_BEFORE_DAY})(?:{_any(words.DAYS)})(?!{words.NOT_AFTER_DAY})"),
        lambda match, reading: reading.anchor.day(words.DAYS[match[0]]),
        frozenset("昨今明天日うたさと"),
    ),
    Rule(
        regex(rf"{_NOT_COUNTED}{_COUNT}{_UNIT}(?:ほど|くらい|ぐらい|左右|多)?(?:以|之)?(?P<side>[前后])(?![半期往])"),
        _ago_or_ahead,
        frozenset("前后"),
    ),
    Rule(regex(rf"{_NOT_COUNTED}半年(?:ほど|くらい|ぐらい)?(?:以|之)?(?P<side>[前后])"), _half_year, frozenset("半")),
    Rule(
        regex(rf"(?:{_any(words.FEW_DAYS_AGO)})"),
        lambda _, reading: reading.anchor.away_about(*FEW, "day"),
        frozenset("前先"),
    ),
    Rule(regex(rf"(?:过去|最近)的?{_COUNT}{_UNIT}(?![前后])"), _past_span, frozenset("去近")),
    Rule(
        regex(
            rf"(?:{_ZH_WEEK}|{_JA_WEEK})(?:(?P<weekend>末|の?周末)|"
            rf"(?:の)?(?P<weekday>[月火水木金土日](?=曜)|(?<=[周期拜]){_WEEKDAY_ZH}))?曜?日?"
        ),
        _week,
        frozenset("周期拜"),
    ),
    Rule(
        regex(
            rf"{_HABIT}(?:(?P<ja>[月火水木金土日])曜日?(?!大工)|"
            rf"(?<![{_NUMERAL[1:-1]}几整到至])(?:周(?!日报)|星期|礼拜)(?P<zh>{_WEEKDAY_ZH})(?![个年月天日周次到至]))"
        ),
        _weekday,
        frozenset("曜周期拜"),
    ),
    Rule(regex(rf"{_HABIT}周末"), _weekend, frozenset("末")),
    Rule(
        regex(rf"(?:{_YEAR}的?の?)?(?<!{_NUMERAL}){_MONTH}的?の?{_DAY}[日号]{_ON_WEEKDAY}{_NOT_AT}"),
        _date,
        frozenset("日号"),
        _needs_turn,
    ),
    Rule(
        regex(rf"(?:{_YEAR}的?の?)?(?<!{_NUMERAL}){_MONTH}份?(?![间天{_NUMERAL[1:-1]}]){_NOT_AT}"),
        _month,
        frozenset("月"),
        _needs_turn,
    ),
    Rule(
        regex(rf"(?<![以本地])(?P<which>{_any(words.MONTHS)})(?![球光亮])(?:的?の?{_DAY}[日号])?{_NOT_AT}"),
        _month_word,
        frozenset("月"),
    ),
    Rule(
        regex(rf"{_YEAR}(?:的?の?(?P<season>[春夏秋冬])[天季]?)?(?![代轻级纪间度]){_NOT_AT}"),
        _year,
        frozenset("年し"),
        _needs_turn,
    ),
    Rule(
        regex(rf"(?<!{_NUMERAL})(?P<decade>(?:19|20)?[0-9]0|[二三四五六七八九]十)年代"),
        _decade,
        frozenset("代"),
        absolute,
    ),
)
_CUES: frozenset[str] = frozenset().union(*(rule.cues for rule in RULES))


def cues_in(folded: str) -> frozenset[str]:
    """The characters of a text that may belong to an expression of time."""
    return _CUES.intersection(folded)
