"""What a frame of a single-valued statement is, and the words no frame takes for a name, a thing or a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memstrata.text.patterns import regex
from memstrata.text.stopwords import word_list

FEELING: Final = "feels_about"
POSITIVE: Final = "positive"
NEGATIVE: Final = "negative"


@dataclass(frozen=True, slots=True)
class Frame:
    """One way of stating a single-valued attribute.

    `pattern` runs only where one of `triggers` occurs (English: as a whole word, lower case; none: always). Its groups:
    `who` a named subject (none: the speaker), `thing` what a favourite, a pet's name or a feeling is of, `value` (or
    `value2`) the value, unless it is `fixed`.
    """

    attribute: str
    triggers: frozenset[str]
    pattern: re.Pattern[str]
    fixed: str = ""


def frame(attribute: str, triggers: str, pattern: str, fixed: str = "") -> Frame:
    """A frame with its pattern compiled and its triggers, separated by bars, split."""
    return Frame(attribute, frozenset(triggers.split("|")) - {""}, regex(pattern), fixed)


# Capitalised openings that are not the name of somebody.
NOT_NAMES: Final[frozenset[str]] = frozenset(
    word_list(
        """
        the a an this that these those it he she they we you i who what which there here everyone everybody
        someone somebody nobody people one my your his her our their its and but so because although though well
        yes no yeah oh hey wow also just only really not still now today then when while if as maybe most many
        some all both each every anyone nothing something everything thanks thank got been gonna going love like
        hate monday tuesday wednesday thursday friday saturday sunday
        """
    )
)
# What follows "I love" without being a thing: a pronoun, a clause, something of the listener's.
NOT_THINGS_EN: Final[frozenset[str]] = frozenset(
    word_list(
        """
        it its it's this that that's these those them him her you your you're yours u he she they we our us me
        myself my how what when where why who if whether all everything anything nothing something everyone one
        ones being seeing hearing having getting so very each both here there and but or for with in on at as i
        """
    )
)
# Where the thing ends: what comes after says how much or why, not what.
THING_ENDS_EN: Final[frozenset[str]] = frozenset(
    word_list(
        """
        because since when while but so though although as if more most anymore now too very a much better best
        especially even any every these itself myself
        """
    )
)
# With one of these the thing is only half named ("stories that ...", "spending time with ...", "what I love is ...").
THING_BREAKS_EN: Final[frozenset[str]] = frozenset(
    word_list(
        """
        and or at in on for with from by about during after before over into through than who which that whose
        is are was were be makes make made has have had they're you've you're it's us them him her me not just
        """
    )
)
# One spelling for what favourites are of.
SPELLINGS: Final = {"color": "colour", "flavor": "flavour", "film": "movie", "sports": "sport"}
# Where one works without its being an employer.
NOT_PLACES_JA: Final[frozenset[str]] = frozenset(
    word_list(
        """
        家 自宅 会社 在宅 リモート ここ そこ あそこ 一緒 一人 外 夜 朝 週末 職場 どこ 実家 近く 隣
        """
    )
)
NOT_PLACES_ZH: Final[frozenset[str]] = frozenset(
    word_list(
        """
        家 家里 这里 这儿 那里 那儿 这 那 外面 周末 晚上 白天 早上 下午 一起 努力 认真 哪里 哪 网上 公司 单位
        办公室
        """
    )
)
# A floor or somebody's home lies within a place and takes nothing back of it: 五階, 二楼, 友達の家.
WITHIN_PLACES: Final = ("階", "楼", "樓", "层", "層", "の家", "朋友家")
# After "now it is": weather, moods and phases, never the new value of a statement.
NOT_VALUES: Final[frozenset[str]] = frozenset(
    word_list(
        """
        over time late early better worse gone done ok okay fine good great bad my your his her their our too so
        just all more much not like cold hot dark sunny summer winter spring autumn morning night
        """
    )
)
