"""The frames of single-valued statements in Chinese, as data. They are narrow on purpose: what fits none has no slot."""
# One frame a line is how they are read and compared.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from typing import Final

from memstrata.extract.slot_frames import FEELING, NEGATIVE, POSITIVE, Frame, frame
from memstrata.text.patterns import regex

_OCCUPATIONS: Final = (
    "医生|醫生|护士|護士|教师|老师|老師|学生|學生|大学生|工程师|工程師|程序员|设计师|律师|律師|会计|會計|厨师|司机|警察|记者|作家|画家|"
    "演员|歌手|摄影师|翻译|编辑|研究员|公务员|科学家|教授|经理|销售|药剂师|兽医|消防员|军人|农民|理发师"
)
_COUNTRIES: Final = "中国|中國|日本|韩国|韓國|美国|美國|英国|英國|法国|法國|德国|德國|俄罗斯|俄羅斯|印度|加拿大|意大利|西班牙|巴西|越南|泰国|泰國"
_SURNAMES = (
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧程曹袁邓鄧许許傅沈曾彭吕呂"
)
# Before 人 these say what somebody is like, not where they are from.
_NO_ORIGIN = (
    "一个|一個|个|個|年轻|年輕|普通|老实|老實|负责|負責|成年|有钱|有錢|穷|聪明|聰明|内向|外向|主持|投资|投資|候选|候選|继承|创始|創始|"
    "发起|证|中间|介绍|领导|单身|單身|局外|明白|现代|正常|家里|自己|同龄|过来|机器|好|坏|怪|这里|這裡|那里|当事|联系|经纪|媒体|文化|音乐|"
    "素食|什么|哪里"
)
_WHO = rf"(?:(?<![说說])我|^(?P<who>(?:小[{_SURNAMES}]|[{_SURNAMES}][一-鿿]{{1,2}}?|[A-Z][A-Za-z]+)))"
_OF = rf"(?:(?<![说說])我|^(?P<who>(?:小[{_SURNAMES}]|[{_SURNAMES}][一-鿿]{{1,2}}|[A-Z][A-Za-z]+)))的?"
_ADV = r"(?:现在|現在|目前|已经|已經|今年|刚刚|刚|剛|还|還|也|是|一直|上个月|上個月|上周|去年|昨天)*"
_WORD = r"(?P<value>[^，。,.！!？?；;、\s了的]{1,16}?)"
_STOP = r"(?=了?[，。,.！!；;、\s]|了?$)"

FRAMES: Final[tuple[Frame, ...]] = (
    frame("name", "我", rf"我(?:的名字)?(?:叫做?|的名字是){_WORD}{_STOP}"),
    frame("age", "岁", rf"{_WHO}{_ADV}(?P<value>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})岁"),
    frame("age", "歲", rf"{_WHO}{_ADV}(?P<value>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})歲"),
    frame("birthday", "生日", rf"{_OF}生日(?:是|在)(?P<value>[^，。,.！!；;]*[\d一二三四五六七八九十][^，。,.！!；;]*)"),
    frame("lives_in", "住在", rf"{_WHO}{_ADV}(?:居)?住在{_WORD}{_STOP}"),
    frame("lives_in", "搬", rf"{_WHO}{_ADV}(?:从[^，。！？,.!?]{{1,12}}?)?搬(?:家)?(?:到|去)了?{_WORD}{_STOP}"),
    frame("home_town", "家", rf"{_OF}(?:家乡|家鄉|老家)(?:是|在){_WORD}{_STOP}"),
    frame("nationality", "人", rf"{_WHO}是(?P<value>(?:{_COUNTRIES})人){_STOP}"),
    frame("home_town", "人", rf"{_WHO}是(?!{_NO_ORIGIN})(?P<value>[一-鿿]{{2,4}}?)人{_STOP}"),
    frame("works_at", "工作", rf"{_WHO}{_ADV}在{_WORD}工作"),
    frame("works_at", "上班", rf"{_WHO}{_ADV}在{_WORD}上班"),
    frame("works_at", "加入|入职|入職", rf"{_WHO}{_ADV}(?:从|從|离开|離開)[^，。,.！!]{{1,12}}?(?:辞职|辭職|离职|離職)?了?[，,]?(?:然后|之后|后来|后|并|並)?(?:加入|入职|入職)了?{_WORD}{_STOP}"),
    frame("works_at", "跳槽", rf"{_WHO}{_ADV}(?:从[^，。,.！!]{{1,12}}?)?跳槽[到去]了?{_WORD}{_STOP}"),
    frame("job_title", "是", rf"{_OF}(?:工作|职业|職業)是{_WORD}{_STOP}"),
    frame("job_title", "", rf"{_WHO}{_ADV}[是当當](?:一名|一个|一個|个|個|名|位|一位)?(?P<value>[一-鿿]{{0,4}}?(?:{_OCCUPATIONS})){_STOP}"),
    frame("favourite", "最喜", rf"{_WHO}{_ADV}最喜[欢歡]的(?P<thing>[^，。是\s]{{1,8}}?)(?:{_ADV})是{_WORD}{_STOP}"),
    frame("marital_status", "婚", rf"{_WHO}{_ADV}(?:结婚|結婚)了", "married"),
    frame("marital_status", "已婚", rf"{_WHO}{_ADV}已婚", "married"),
    frame("marital_status", "婚", rf"{_WHO}{_ADV}(?:离婚|離婚)了", "divorced"),
    frame("marital_status", "婚", rf"{_WHO}{_ADV}(?:订婚|訂婚)了", "engaged"),
    frame("marital_status", "单身", rf"{_WHO}{_ADV}单身{_STOP}", "single"),
    frame("phone", "是", rf"{_OF}(?:新)?(?:电话|電話|手机|手機)(?:号码|號碼|号|號)?是(?P<value>\+?\d[\d -]{{5,}}\d)"),
    frame("email", "是", rf"{_OF}(?:新)?(?:邮箱|郵箱|电子邮件|電子郵件)(?:地址)?是(?P<value>[\w.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z0-9])"),
    frame("name", "叫", rf"我(?:家|们家)?的?(?P<thing>狗|猫|貓|兔子|仓鼠|鹦鹉)(?:的名字)?(?:叫做?|是){_WORD}{_STOP}"),
    frame("school", "在", rf"{_WHO}{_ADV}在(?P<value>[^，。\s]{{1,12}}(?:大学|大學|中学|中學|小学|小學|学院|學院))(?:读书|讀書|上学|上學|学习|學習|念书|就读)"),
    frame("native_language", "母语", rf"{_OF}母语是{_WORD}{_STOP}"),
    frame("diet", "素", rf"{_WHO}{_ADV}(?:一个|个)?(?:素食者|素食主义者|素食主義者|吃素){_STOP}", "vegetarian"),
    frame("timezone", "时区", rf"{_OF}时区是{_WORD}{_STOP}"),
)
# What no longer holds: the same slot and value, denied. "我不住在上海" alone may never have been otherwise.
ENDINGS: Final[tuple[Frame, ...]] = (
    frame("lives_in", "住在", rf"{_WHO}{_ADV}不再住在{_WORD}{_STOP}"),
    frame("lives_in", "住在", rf"{_WHO}{_ADV}不住在{_WORD}了"),
    frame("works_at", "工作", rf"{_WHO}{_ADV}不再在{_WORD}工作"),
    frame("works_at", "工作", rf"{_WHO}{_ADV}不在{_WORD}工作了"),
    frame("works_at", "上班", rf"{_WHO}{_ADV}不(?:再在{_WORD}上班|在(?P<value2>[^，。,.！!？?；;、\s了的]{{1,16}}?)上班了)"),
    frame("works_at", "辞职", rf"{_WHO}{_ADV}从{_WORD}辞职了?{_STOP}"),
    frame("diet", "素", rf"{_WHO}{_ADV}不(?:再)?(?:是)?(?:素食者|素食主义者|素食主義者|吃素)了{_STOP}", "vegetarian"),
)
_FEEL_ADV = r"(?:很|非常|特别|特別|真的|超级|超|最|也|还|還|现在|現在|更|其实|一直|都|比较|可|挺|十分)*"
_THING = r"(?P<thing>[^，。,.！!？?；;、\s的]{1,12}?)"
FEELINGS: Final[tuple[Frame, ...]] = (
    frame(FEELING, "不", rf"{_WHO}{_FEEL_ADV}不(?:再|太|怎么|是很)?(?:喜[欢歡]|爱|愛){_THING}{_STOP}", NEGATIVE),
    frame(FEELING, "受不了", rf"{_WHO}{_FEEL_ADV}受不了{_THING}{_STOP}", NEGATIVE),
    frame(FEELING, "", rf"{_WHO}{_FEEL_ADV}(?:讨厌|討厭|痛恨|恨){_THING}{_STOP}", NEGATIVE),
    frame(FEELING, "", rf"{_WHO}{_FEEL_ADV}(?:喜[欢歡]上?|热爱|熱愛|爱上|愛上|[爱愛](?![人情好]))了?{_THING}{_STOP}", POSITIVE),
)

# "现在是B", said after a statement whose slot is known.
CORRECTION: Final = regex(r"(?:现在|現在|如今)(?:已经)?(?:是|变成|改成|换成)了?(?P<value>[^，。,.！!；;\s了]{1,16})")
# "不是A，是B", "是B，不是A", where A was just said.
SET_RIGHT: Final = regex(
    r"不[是叫](?P<old>[^，。,.！!；;\s]{1,16}?)[，,]\s*(?:而)?[是叫](?P<value>[^，。,.！!；;\s]{1,16}?)(?=[。，,.！!；;]|$)"
    r"|[是叫](?P<value2>[^，。,.！!；;\s]{1,16}?)[，,]\s*不[是叫](?P<old2>[^，。,.！!；;\s]{1,16}?)(?=[。，,.！!；;]|$)"
)
