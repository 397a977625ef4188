"""Japanese and Chinese words of time: data of `cjk.py`.

Written in the folded form: fullwidth digits as ASCII, and the characters of FOLDED as their partner, so that one
spelling stands for the Japanese, traditional and simplified ones (週末 and 周末, 後天 and 后天).
"""

from __future__ import annotations

from memstrata.text.when.spans import Unit

FOLDED = dict(
    zip(
        "週後兩個箇號這禮間鐘時晩準備議過剛會將畫幾數劃計從說證發ヶケカヵ",
        "周后两个个号这礼间钟时晚准备议过刚会将画几数划计从说证发かかかか",
        strict=True,
    )
)

# Days away from the turn's day. The night belongs to the day on which it began.
DAYS = {
    "大前天": -3,
    "一昨日": -2,
    "おととい": -2,
    "前天": -2,
    "前晚": -2,
    "昨日": -1,
    "きのう": -1,
    "昨夜": -1,
    "昨晚": -1,
    "ゆうべ": -1,
    "昨天": -1,
    "昨儿": -1,
    "今日": 0,
    "今朝": 0,
    "今夜": 0,
    "今晚": 0,
    "今天": 0,
    "今早": 0,
    "今晨": 0,
    "今儿": 0,
    "明日": 1,
    "あした": 1,
    "明天": 1,
    "明早": 1,
    "明晚": 1,
    "明儿": 1,
    "明后日": 2,
    "あさって": 2,
    "后天": 2,
    "しあさって": 3,
    "大后天": 3,
}
# Where the characters above stand for something else: 以前天天, 说明天气, 后天性, the names 明日香 and 今日子.
NOT_BEFORE_DAY = "[以之从目证说发声表聪]"
NOT_AFTER_DAY = "性|香(?!港)|子(?!供|ども)|奈|头条|方舟"

# Before 周, 星期 and 礼拜 in Chinese; Japanese ones are whole words.
WEEKS_ZH = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
WEEKS_JA = {"先々周": -2, "先先周": -2, "先周": -1, "今周": 0, "来周": 1, "再来周": 2}
MONTHS = {
    "先々月": -2,
    "先先月": -2,
    "上上个月": -2,
    "上上月": -2,
    "先月": -1,
    "上个月": -1,
    "上月": -1,
    "今月": 0,
    "这个月": 0,
    "这月": 0,
    "本月": 0,
    "来月": 1,
    "下个月": 1,
    "下月": 1,
    "再来月": 2,
    "下下个月": 2,
    "下下月": 2,
}
YEARS = {
    "一昨々年": -3,
    "大前年": -3,
    "一昨年": -2,
    "おととし": -2,
    "前年": -2,
    "去年": -1,
    "昨年": -1,
    "今年": 0,
    "明年": 1,
    "来年": 1,
    "后年": 2,
    "再来年": 2,
}
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}  # year n of the era is this + n
SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
WEEKDAYS = {"月": 0, "火": 1, "水": 2, "木": 3, "金": 4, "土": 5, "日": 6}
WEEKDAYS |= {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "天": 6}

UNITS: dict[str, Unit] = {
    "年": "year",
    "か月": "month",
    "个月": "month",
    "个多月": "month",
    "周间": "week",
    "周": "week",
    "个星期": "week",
    "星期": "week",
    "个礼拜": "week",
    "礼拜": "week",
    "日": "day",
    "天": "day",
    "时间": "hour",
    "个小时": "hour",
    "小时": "hour",
    "分钟": "minute",
    "分": "minute",
}
FEW_WORDS = ("几", "数", "好几")

DIGITS = {c: n for n, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2} | {str(n): n for n in range(10)}
MULTIPLES = {"十": 10, "百": 100, "千": 1000}

FEW_DAYS_AGO = ("前几天", "前两天", "前些天", "先日")

# Tense. Japanese past ends in た or んだ before an end or a particle; また (again) and あなた (you) do not count.
# 会, 要, 想, 过, 了 are also parts of words (会議, 重要, 思想, 過ごす, 了解).
PAST = (
    r"(?:(?<![まな])た|んだ|ました|でした)(?=[。、！!？?\s」』）)よねなけがんのかと時りし]|$)|"
    r"(?<![終完])了(?!解)|过(?![ぎごき去程度分来节年])|[刚曾]|已经"
)
FUTURE = (
    r"予定|つもり|だろう|でしょう|しよう|ましょう|たい(?!ん|て)|楽しみ|打算|准备|计划|将|期待|"
    r"(?<![社机开聚宴约])会(?![议話话员員面谈場场社])|(?<![重主需必只])要(?![求点素件])|(?<![思理梦])想(?![法象到起像])"
)
