"""Named things in Japanese and Chinese text, by honorifics, scripts, brackets, common names and cues."""

from __future__ import annotations

from collections.abc import Iterator

from memstrata.text import name_words
from memstrata.text.patterns import regex
from memstrata.text.scripts import HAN, HIRAGANA, KATAKANA

_TITLE = regex(
    r"《([^《》\n]{1,40})》|『([^『』\n]{1,40})』"
    r"|「([^「」。！？、\n]{1,20})」(?!と(?!い[うっ])|って)"  # 「…」と言った is speech, 「…」という a title
)

_HONORIFIC = "|".join(name_words.JAPANESE_HONORIFICS)
_ADDRESSED = regex(
    rf"((?<![{KATAKANA}])[{KATAKANA}]{{2,20}}|[{HAN}]{{1,4}})(?:{_HONORIFIC})"
    # A name in hiragana needs a clear start: nothing Japanese before it, or one particle after a word.
    rf"|(?:(?<![{HIRAGANA}{HAN}{KATAKANA}])|(?<=[^{HIRAGANA}][はがとのにをもで]))([{HIRAGANA}]{{2,4}})(?:さん|くん|君|ちゃん)"
)
_KATAKANA = regex(rf"[{KATAKANA}]{{2,}}(?:[・=][{KATAKANA}]{{2,}})*")
_LISTED = regex("|".join(sorted({*name_words.JAPANESE_NAMES, *name_words.PLACES}, key=len, reverse=True)))
_PLACE_ENDING = "県|大学|高校|小学校|中学校|公園|病院|神社|株式会社|空港|公园|医院|公司|机场"
_PLACE = regex(rf"(?:(?![我你他她们私的了是在去到从和于来读上这那个一家])[{HAN}]){{2,5}}?(?:{_PLACE_ENDING})")

_SURNAME = rf"(?:欧阳|司马|上官|诸葛|歐陽|司馬|諸葛|[{name_words.CHINESE_SURNAMES}])"
_GIVEN = rf"(?:(?![的了是在我你他她这那去来也都很说和跟])[{HAN}]){{1,2}}?"
_KIN = "朋友|同事|同学|室友|邻居|弟弟|哥哥|姐姐|妹妹|儿子|女儿|丈夫|妻子|老公|老婆|老板|女友|男友"
_PERSON_DOES = "|".join(
    (
        "说|告诉|问|喜欢|住在|打电话|结婚|搬到|说过|說|告訴|問|喜歡|結婚",
        "(?:今|明|去)年|[今明昨]天|[上下]周|去了|来了|的(?:生日|妈|爸|女儿|儿子)",
    )
)
_AFTER_NAME = rf"(?=[，。！？、；：,.!?\s）)和跟与是在去来住要会想的也都很做学从给]|$|{_PERSON_DOES})"
_CUED_BEFORE = regex(rf"(?:名叫|叫做|叫|名字是|我是|{_KIN}|和|跟|与|给|找)({_SURNAME}{_GIVEN}){_AFTER_NAME}")
_CUED_AFTER = regex(rf"(?<![{HAN}])({_SURNAME}{_GIVEN})(?={_PERSON_DOES})")
_ZH_ADDRESSED = regex(rf"{_SURNAME}[{HAN}]{{0,2}}?(?:{'|'.join(name_words.CHINESE_HONORIFICS)})")
_FAMILIAR = regex(rf"[小老阿]{_SURNAME}{_AFTER_NAME}")


def titles(text: str) -> Iterator[tuple[int, str]]:
    """Start and surface of what stands in 《》 and 『』, and in 「」 when it is no speech."""
    for match in _TITLE.finditer(text):
        yield match.start() + 1, match[match.lastindex or 0]


def japanese(text: str) -> Iterator[tuple[int, str]]:
    """Start and surface of people with an honorific and of katakana runs that are no everyday words."""
    for match in _ADDRESSED.finditer(text):
        name = match[1] or match[2]
        if name not in name_words.NOT_BEFORE_HONORIFIC and not (name[0] in "おご" and match[2]):
            yield match.start(), match[0]
    for match in _KATAKANA.finditer(text):
        if len(match[0]) > 2 and match[0] not in name_words.LOANWORDS:
            yield match.start(), match[0]


def chinese(text: str) -> Iterator[tuple[int, str]]:
    """Start and surface of people whom a word before or after, a title, or 小, 老 and 阿 give away."""
    for pattern in (_CUED_BEFORE, _CUED_AFTER):
        for match in pattern.finditer(text):
            name = match[1]
            if name not in name_words.NOT_CHINESE_NAMES:
                yield match.start(1), name
    for pattern in (_ZH_ADDRESSED, _FAMILIAR):
        for match in pattern.finditer(text):
            yield match.start(), match[0]


def listed(text: str) -> Iterator[tuple[int, str]]:
    """Start and surface of common Japanese family names, well-known places, and words with a place's ending."""
    for match in _LISTED.finditer(text):
        yield match.start(), match[0]
    for match in _PLACE.finditer(text):
        yield match.start(), match[0]
