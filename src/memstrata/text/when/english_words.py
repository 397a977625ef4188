"""English words of time, and the words that tell a sentence's tense: data of `english.py`, all in lower case."""

from __future__ import annotations

from memstrata.text.when.spans import Unit

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
FULL_MONTHS = tuple(name for name in MONTHS if len(name) > 4 or name in ("june", "july", "may"))
# Also verbs or names: without a capital they are months only in clear company ("in march", "may 8th").
DOUBTFUL_MONTHS = frozenset({"may", "march", "mar", "jan"})
# Words before a doubtful one that are no such company: "this may be", "the next may be", "bought by may".
DOUBTFUL_AFTER = frozenset({"this", "last", "next", "by", "for", "from"})

WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tues tue",
            "wednesday wed",
            "thursday thurs thur thu",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
FULL_WEEKDAYS = tuple(name for name in WEEKDAYS if name.endswith("day"))

SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"}

_ONES = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
NUMBERS = (
    {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2}
    | _ONES
    | _TENS
    | {
        f"{ten}{joint}{one}": _TENS[ten] + _ONES[one]
        for ten in _TENS
        for one in tuple(_ONES)[:9]
        for joint in (" ", "-")
    }
)
FEW_WORDS = ("a few", "few", "several", "some")

UNITS: dict[str, Unit] = {
    "minute": "minute",
    "min": "minute",
    "hour": "hour",
    "hr": "hour",
    "day": "day",
    "week": "week",
    "wk": "week",
    "month": "month",
    "year": "year",
    "yr": "year",
    "decade": "decade",
}

# Days away from the turn's day. The night belongs to the day on which it began.
DAYS = {
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
    "last night": -1,
    "last evening": -1,
    "yesterday": -1,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tonight": 0,
    "today": 0,
    "tomorrow": 1,
    "tmrw": 1,
}

# A number after "in" that is not a year: "in 2000 words".
COUNTED = "words|people|dollars|euros|steps|miles|km|kilometers|kilometres|meters|metres|pages|cities|places|pieces"

# What stands before a time that was not meant: "before March", "every Friday", "that Friday", "a week from today".
NOT_AT = (
    "before|after|every|each|any|most|some|one|a|another|that|same|first|second|third|fourth|following|previous|ago|"
    "black|good|cyber|super|ruby|than|(?:day|week|month|year)s? from"
)

# Tense. Looked up in this order: strong future, past, weak future.
STRONG_FUTURE = (
    r"will|won't|won’t|shall|[a-z]+['’]ll|gonna|needs? to|going to (?!the|my|a|an|see|be at)[a-z]+|going to (?:see|be)"
)
PAST = (
    "was|were|did|didn't|didn’t|had|went|got|saw|took|made|met|came|bought|gave|found|told|ran|won|left|ate|felt|"
    "spent|brought|taught|thought|said|began|started|became|broke|built|caught|chose|drew|drank|drove|fell|flew|forgot|"
    "grew|heard|held|kept|knew|learnt|lost|paid|rode|sang|sat|sent|slept|sold|spoke|stood|swam|threw|understood|woke|"
    "wore|wrote|been|done|gone|seen|taken|since"
)
# Ends in -ed, yet not a past tense; or a participle that looks ahead.
NOT_PAST = (
    "need|feed|speed|indeed|excited|interested|scheduled|supposed|hundred|married|bed|red|seed|weed|breed|exceed|"
    "proceed|succeed|invited|tired|bored|worried|thrilled|pleased|used|talented|booked"
)
WEAK_FUTURE = (
    r"plan to|plans to|planning|plan on|plans for|hope to|hoping|want to|wants to|wanna|intend|upcoming|"
    r"looking forward|can't wait|can’t wait|let's|let’s|let us|next|soon|scheduled|booked|invited|due|about to|"
    r"would like|(?:am|are|is|i['’]m|[a-z]+['’](?:re|s)) (?:also |not |finally |all )?(?:going|flying|coming|leaving|"
    r"moving|starting|travell?ing|visiting|having|getting|doing|meeting|seeing|taking|heading|attending|hosting|"
    r"running)"
)
