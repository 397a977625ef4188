"""English expressions of time.

Which day is meant, where English leaves a choice (d is the turn's day; weeks begin on Monday):

- "last Friday": the latest Friday before d; so too "this past Friday".
- "next Friday": the Friday of the week after d's. "this Friday": the first Friday from d on; with a past tense the
  latest up to d. "Friday", "on Friday": with a past tense the latest before d, otherwise the first after d.
- "last weekend", "next weekend": of the week before, after d's. "the weekend", "this weekend": the one that is on or
  comes; with a past tense the one that is on or went. The span is Saturday and Sunday.
- "in March": the latest March that has begun; with a future tense the first that has not ended. "May 8": past tense,
  the latest; future tense, the next; no tense, the nearest.
- "two weeks ago": the seven days centred on that day. "a few days ago": two to five days before, precision week.
- "last night" is the day on which the night began.
- "since 2016": 2016, when the state began.
- Durations ("for two weeks"), ages, habits ("on Fridays", "every May"), "before March" and "years ago" give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memstrata.text.patterns import regex
from memstrata.text.when import english_words as words
from memstrata.text.when.rules import Reading, Rule, absolute, has_no_year
from memstrata.text.when.spans import FEW, Tense
from memstrata.types import EventTime

# Word edges for Latin letters only: in "昨日May 8" there is one between 日 and M, in "María" none after "Mar".
_B = r"(?<![0-9a-zÀ-ɏ_])"
_E = r"(?![0-9a-zÀ-ɏ_])"
_S = r"\s{1,3}"


def _any(names: Iterable[str]) -> str:
    """An alternation, longest first, in which a space stands for any white space."""
    return "|".join(sorted((name.replace(" ", _S) for name in names), key=len, reverse=True))


def _compile(pattern: str) -> re.Pattern[str]:
    return regex(_B + pattern + _E)


_MONTH = rf"(?P<month>{_any(words.MONTHS)})\.?"
_FULL_MONTH = rf"(?P<month>{_any(words.FULL_MONTHS)})"
_WEEKDAY = rf"(?P<weekday>{_any(words.WEEKDAYS)})\.?"
_FULL_WEEKDAY = rf"(?P<weekday>{_any(words.FULL_WEEKDAYS)})"
_YEAR_DIGITS = r"(?P<year>(?:19|20)[0-9]{2})"
_YEAR = rf"(?P<year>(?:19|20)[0-9]{{2}}|(?:last|this|next){_S}year)"
_DAY = r"(?P<day>[0-3]?[0-9])"
_ORDINAL = r"(?P<ordinal>st|nd|rd|th)?"
_SEASON = rf"(?P<season>{_any(words.SEASONS)})"
_NUMBER = rf"(?:(?P<number>{_any(words.NUMBERS)}|(?<![.,])[0-9]{{1,4}})|(?P<few>{_any(words.FEW_WORDS)}))"
_UNIT = rf"(?P<unit>{_any(words.UNITS)})s?"
_ON_WEEKDAY = rf"(?:(?:{_any(words.WEEKDAYS)})\.?,?{_S}(?:the{_S})?)?"
_OF_WEEKDAY = rf"(?:{_S}\((?:{_any(words.WEEKDAYS)})\.?\))?"

# What turns a following time into one that was not meant.
_NOT_AT = regex(rf"\b(?:{words.NOT_AT.replace(' ', _S)}){_S}(?:the{_S})?$")
_NOT_COUNTED = regex(r"(?:-|\b(?:half|and|hundred|thousand)\s+)$")  # half an hour, two and a half years
_TIMES = regex(r"\b(?:once|twice|times)\s+$")
_FOR = regex(r"\bfor(?:\s+the)?\s*$")
_STRONG_FUTURE = regex(rf"\b(?:{words.STRONG_FUTURE})\b")
_PAST = regex(rf"\b(?:{words.PAST}|(?!(?:{words.NOT_PAST})\b)[a-z]{{2,}}ed)\b")
_WEAK_FUTURE = regex(rf"\b(?:{words.WEAK_FUTURE})\b")
_SENTENCE_END = regex(r"[.!?;\n](?:\s|$)")
_TENSE_REACH = 200  # characters on either side that may tell the tense


def tense_of(folded: str, start: int, end: int) -> Tense | None:
    """The tense of the sentence around folded[start:end], None when no word tells."""
    before = _SENTENCE_END.split(folded[max(0, start - _TENSE_REACH) : start])[-1]
    after = _SENTENCE_END.split(folded[end : end + _TENSE_REACH], maxsplit=1)[0]
    sentence = f"{before} . {after}"
    if _FOR.search(before) or folded.startswith("for", start):
        return "future"  # "I booked it for Friday"
    if _STRONG_FUTURE.search(sentence):
        return "future"
    if _PAST.search(sentence):
        return "past"
    return "future" if _WEAK_FUTURE.search(sentence) else None


def _preceded(by: re.Pattern[str], match: re.Match[str], reading: Reading) -> bool:
    return by.search(reading.folded, max(0, match.start() - 20), match.start()) is not None


def _excluded(match: re.Match[str], reading: Reading) -> bool:
    return _preceded(_NOT_AT, match, reading)


def _doubtful_month(match: re.Match[str], reading: Reading) -> bool:
    return match["month"] in words.DOUBTFUL_MONTHS and not reading.capitalised(match, "month")


def _year_number(match: re.Match[str], reading: Reading) -> int:
    """The year in group "year": "2022", or "last year"."""
    text = match["year"]
    return int(text) if text.isdigit() else reading.anchor.today.year + _STEPS[text.split()[0]]


def _number(match: re.Match[str]) -> int:
    text = re.sub(r"\s+", " ", match["number"])
    return words.NUMBERS[text] if text in words.NUMBERS else int(text)


def _day(match: re.Match[str], reading: Reading) -> EventTime | None:
    return None if _excluded(match, reading) else reading.anchor.day(words.DAYS[re.sub(r"\s+", " ", match[0])])


def _ago(match: re.Match[str], reading: Reading) -> EventTime | None:
    if match["number"] and _preceded(_NOT_COUNTED, match, reading) and not match["number"].isdigit():
        return None
    unit = words.UNITS[match["unit"]]
    if match["few"]:
        return reading.anchor.away_about(*FEW, unit)
    return reading.anchor.away(-_number(match), unit)


def _ahead(match: re.Match[str], reading: Reading) -> EventTime | None:
    """ "In two weeks" is a duration in "I built it in two weeks"; "two weeks from now" never is."""
    if match["in"] and (reading.tense(match) == "past" or _preceded(_TIMES, match, reading)):
        return None
    unit = words.UNITS[match["unit"]]
    if match["few"]:
        return reading.anchor.away_about(-FEW[1], -FEW[0], unit)
    return reading.anchor.away(_number(match), unit)


def _past_span(match: re.Match[str], reading: Reading) -> EventTime | None:
    unit = words.UNITS[match["unit"]]
    if match["few"]:
        return reading.anchor.past(FEW[1], unit)
    return reading.anchor.past(_number(match) if match["number"] else 1, unit)


_STEPS = {"last": -1, "past": -1, "this past": -1, "before last": -2, "this": 0, "next": 1, "after next": 2}


def _which(match: re.Match[str]) -> str:
    return re.sub(r"\s+", " ", match["which"] or "")


def _calendar_unit(match: re.Match[str], reading: Reading) -> EventTime | None:
    """ "Last week", "the month after next"; "the next week" is told from a story's own time, so it is left unset."""
    which = _which(match)
    if _excluded(match, reading) or (which in ("last", "next") and reading.folded.endswith("the ", 0, match.start())):
        return None
    anchor = reading.anchor
    return {"week": anchor.week, "month": anchor.month, "year": anchor.year}[match["unit"]](_STEPS[which])


def _weekday(match: re.Match[str], reading: Reading) -> EventTime | None:
    if _excluded(match, reading):
        return None
    anchor, number = reading.anchor, words.WEEKDAYS[match["weekday"]]
    which = _which(match)
    if match["weekday"] not in words.FULL_WEEKDAYS and not (
        reading.capitalised(match, "weekday") and which in ("last", "next", "on")
    ):
        return None  # "this sun", "the cat sat"
    if which in ("last", "past", "this past"):
        return anchor.weekday_before(number)
    if which == "next":
        return anchor.weekday_of_week(number, 1)
    if which in ("this coming", "coming"):
        return anchor.weekday_after(number)
    tense = reading.tense(match)
    if which == "this" and number == anchor.today.weekday():
        return anchor.day(0)
    return anchor.weekday(number, tense)


def _bare_weekday(match: re.Match[str], reading: Reading) -> EventTime | None:
    if _excluded(match, reading):
        return None
    return reading.anchor.weekday(words.WEEKDAYS[match["weekday"]], reading.tense(match))


def _weekday_of_week(match: re.Match[str], reading: Reading) -> EventTime | None:
    return reading.anchor.weekday_of_week(words.WEEKDAYS[match["weekday"]], _STEPS[match["which"]])


def _weekend(match: re.Match[str], reading: Reading) -> EventTime | None:
    if _excluded(match, reading):
        return None
    which = _which(match)
    if which in ("last", "past", "this past"):
        return reading.anchor.weekend(-1)
    if which == "next":
        return reading.anchor.weekend(1)
    return reading.anchor.this_weekend(reading.tense(match))


def _month(match: re.Match[str], reading: Reading) -> EventTime | None:
    """ "In March", "last May", "early June 2022", "March 2022"."""
    month, which = words.MONTHS[match["month"]], match["which"]
    if _excluded(match, reading):
        return None
    if _doubtful_month(match, reading) and (not which or which in words.DOUBTFUL_AFTER):
        return None
    anchor = reading.anchor
    if match["year"]:
        return anchor.month_of(_year_number(match, reading), month)
    this_year = anchor.today.year
    if which == "last":
        return anchor.month_of(this_year - (month >= anchor.today.month), month)
    if which == "next":
        return anchor.month_of(this_year + (month <= anchor.today.month), month)
    if which == "this":
        return anchor.month_of(this_year, month)
    return anchor.month_named(month, reading.tense(match)) if which else None


def _date(match: re.Match[str], reading: Reading) -> EventTime | None:
    if _excluded(match, reading) or (_doubtful_month(match, reading) and not match["ordinal"]):
        return None
    month, day = words.MONTHS[match["month"]], int(match["day"])
    if match["year"]:
        return reading.anchor.on(reading.anchor.today.replace(_year_number(match, reading), month, day))
    return reading.anchor.date_named(month, day, reading.tense(match))


def _numeric_date(match: re.Match[str], reading: Reading) -> EventTime | None:
    """ "2023-05-08"; "5/13/2023" and "13.5.2023", but not "5/8/2023", which is May or August."""
    year = int(match["year"] or match["last_year"])
    if match["year"]:
        month, day = int(match["month"]), int(match["day"])
    else:
        month, day = int(match["first"]), int(match["second"])
        if month <= 12 and day <= 12 and month != day:
            return None
        if month > 12:
            month, day = day, month
    return reading.anchor.on(reading.anchor.today.replace(year, month, day))


def _year(match: re.Match[str], reading: Reading) -> EventTime | None:
    return None if _excluded(match, reading) else reading.anchor.year_of(int(match["year"]))


def _decade(match: re.Match[str], reading: Reading) -> EventTime | None:
    year = int(match["decade"])
    return reading.anchor.year_of(year if year > 100 else 1900 + year, years=10, precision="decade")


def _season(match: re.Match[str], reading: Reading) -> EventTime | None:
    season, which = words.SEASONS[match["season"]], match["which"]
    if match["year"]:
        return reading.anchor.season_of(_year_number(match, reading), season)
    if which == "last":
        return reading.anchor.season_named(season, "last")
    if which == "next":
        return reading.anchor.season_named(season, "next")
    if which == "this":
        return reading.anchor.season_named(season, "this")
    tense = reading.tense(match) if which else None
    if tense is None:
        return None  # "in the summer we swim" is a habit
    this = reading.anchor.season_named(season, "this")
    now = reading.anchor.said_at
    if tense == "past":
        return this if this.start <= now else reading.anchor.season_named(season, "last")
    return this if this.end > now else reading.anchor.season_named(season, "next")


_YEARS = frozenset(str(year) for year in range(1900, 2100))
_DECADES = frozenset(f"{decade}s" for decade in (*range(20, 100, 10), *range(1900, 2100, 10)))
_WEEKDAY_CUES = frozenset(words.WEEKDAYS)
_MONTH_CUES = frozenset(words.MONTHS)
_DAY_CUES = frozenset(["yesterday", "today", "tomorrow", "tonight", "tmrw", "night", "morning", "afternoon", "evening"])
_CALENDAR_CUES = frozenset({"week", "month", "year"})
_OF = rf"(?:(?:{_S}of)?{_S}|,{_S}?)"

RULES: tuple[Rule, ...] = (
    Rule(_compile(rf"(?:{_any(words.DAYS)})"), _day, _DAY_CUES),
    Rule(_compile(rf"{_NUMBER}{_S}{_UNIT}{_S}ago"), _ago, frozenset({"ago"})),
    Rule(_compile(rf"the{_S}other{_S}day"), lambda _, r: r.anchor.away_about(*FEW, "day"), frozenset({"other"})),
    Rule(
        _compile(rf"(?P<in>in{_S}(?:about{_S})?){_NUMBER}{_S}{_UNIT}(?:['’]?{_S}time)?(?!{_S}(?:old|ago))"),
        _ahead,
        frozenset({"in"}),
    ),
    Rule(_compile(rf"(?P<in>){_NUMBER}{_S}{_UNIT}{_S}from{_S}(?:now|today)"), _ahead, frozenset({"now", "today"})),
    Rule(
        _compile(
            rf"(?:in|over|during|within){_S}the{_S}(?:last|past){_S}"
            rf"(?:{_NUMBER}{_S})?(?P<unit>day|week|month|year|decade)s?(?!{_S}of)"
        ),
        _past_span,
        frozenset({"last", "past"}),
    ),
    Rule(
        _compile(rf"(?P<which>this{_S}past|last|this|next){_S}(?P<unit>week|month|year)(?!{_S}of)"),
        _calendar_unit,
        _CALENDAR_CUES,
    ),
    Rule(
        _compile(rf"(?:the{_S})?(?P<unit>week|month|year){_S}(?P<which>before{_S}last|after{_S}next)"),
        _calendar_unit,
        _CALENDAR_CUES,
    ),
    Rule(
        _compile(
            rf"(?P<which>this{_S}past|this{_S}coming|last|past|this|coming|next|on){_S}{_WEEKDAY}(?!{_S}(?:of|in){_S}(?!last|this|next))"
        ),
        _weekday,
        _WEEKDAY_CUES,
    ),
    Rule(_compile(_FULL_WEEKDAY), _bare_weekday, _WEEKDAY_CUES),
    Rule(
        _compile(rf"(?:on{_S})?{_FULL_WEEKDAY}{_S}(?:of{_S})?(?P<which>last|this|next){_S}week"),
        _weekday_of_week,
        _WEEKDAY_CUES,
    ),
    Rule(
        _compile(rf"(?P<which>this{_S}past|last|past|this|next|the){_S}weekend"),
        _weekend,
        frozenset({"weekend"}),
    ),
    Rule(
        _compile(
            rf"(?:(?P<which>last|this|next|in|since|during|until|by|for|from|early|mid|late|throughout)(?:{_S}|-))?"
            rf"{_FULL_MONTH}(?:{_OF}{_YEAR})?(?!\.?{_S}[0-9])"
        ),
        _month,
        _MONTH_CUES,
        has_no_year,
    ),
    Rule(
        _compile(
            rf"{_ON_WEEKDAY}{_MONTH}{_S}(?:the{_S})?{_DAY}{_ORDINAL}(?:(?:,|{_S}of)?{_S}{_YEAR})?{_OF_WEEKDAY}"
            rf"(?![,.:%]?[0-9])"
        ),
        _date,
        _MONTH_CUES,
        has_no_year,
    ),
    Rule(
        _compile(
            rf"{_ON_WEEKDAY}(?:the{_S})?{_DAY}{_ORDINAL}{_S}(?:of{_S})?{_MONTH}(?:(?:,|{_S}of)?{_S}{_YEAR})?{_OF_WEEKDAY}"
        ),
        _date,
        _MONTH_CUES,
        has_no_year,
    ),
    Rule(
        regex(
            r"(?<![0-9a-z_./-])(?:(?P<year>(?:19|20)[0-9]{2})(?P<mark>[-/.])(?P<month>[01]?[0-9])(?P=mark)"
            r"(?P<day>[0-3]?[0-9])|(?P<first>[0-3]?[0-9])(?P<mark2>[-/.])(?P<second>[0-3]?[0-9])(?P=mark2)"
            r"(?P<last_year>(?:19|20)[0-9]{2}))(?:(?=t[0-9]{2}:)|(?!\.?[0-9a-z_/-]))"
        ),
        _numeric_date,
        _YEARS,
        absolute,
    ),
    Rule(
        _compile(
            rf"(?:in|since|during|until|till|by|from|around|throughout|(?:in{_S})?(?:early|mid|late|the{_S}year))"
            rf"(?:{_S}|-){_YEAR_DIGITS}"
            rf"(?!['’]?s|[-/.,:%][0-9]|{_S}(?:{words.COUNTED})\b)"
        ),
        _year,
        _YEARS,
        absolute,
    ),
    Rule(
        _compile(rf"the{_S}['’]?(?P<decade>(?:19|20)?[0-9]0)['’]?s"),
        _decade,
        _DECADES | {str(n) for n in range(20, 100, 10)} | {str(n) for n in range(1900, 2100, 10)},
        absolute,
    ),
    Rule(
        _compile(
            rf"(?:(?P<which>last|this|next|in(?:{_S}the)?|since(?:{_S}the)?|during{_S}the|over{_S}the){_S})?"
            rf"(?:(?:early|mid|late){_S})?{_SEASON}(?:{_OF}{_YEAR})?"
        ),
        _season,
        frozenset(words.SEASONS),
        has_no_year,
    ),
)
_CUES: frozenset[str] = frozenset().union(*(rule.cues for rule in RULES))
_TOKEN = regex(r"[a-z]+|[0-9]+s?")


def cues_in(folded: str) -> frozenset[str]:
    """The words of a text that may belong to an expression of time."""
    return _CUES.intersection(_TOKEN.findall(folded))
