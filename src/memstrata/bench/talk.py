"""Conversations without end, made from a seed: two people talk for a year about moves, jobs, pets, trips and plans.

Turns have some 25 words, as in recorded long conversations; facts return, change and contradict each other, so that
every stage of the path has work. One session in ten is Japanese, one in ten Chinese.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SESSION_TURNS = 20
CHANGES = 0.004  # share of the turns that change a fact of which only one can hold
START = datetime(2023, 1, 2, 18, 30, tzinfo=UTC)

NAMES = (
    "Ana Ben Carla Dmitri Elif Farid Grace Hugo Ines Jonas Keiko Liam Marta Nadia Omar Petra Quinn Rosa Samir Tess "
    "Umar Vera Wanda Xenia Yusuf Zoe Anders Birgit Cosmo Dalia Edgar Fiona Goran Hanna Igor Judit Karim Lotte Milos"
)
PLACES = (
    "Porto Lisbon Ghent Lyon Oslo Kyoto Osaka Taipei Malmo Leeds Turin Graz Bergen Utrecht Seville Krakow Dublin "
    "Basel Tallinn Vilnius Aarhus Bologna Girona Cork Bruges Trieste Split Bilbao Exeter Tromso Uppsala Delft Cadiz "
    "Salzburg Limerick Rouen Zadar Sibiu Burgos Pisa Tartu Kosice Evora Bath Lugano Nantes Brno"
)
JOBS = "nurse, baker, gardener, teacher, carpenter, translator, bus driver, librarian, photographer, cook, welder, vet"
THINGS = (
    "a clay bowl, an old bicycle, a wool blanket, a record player, a chess set, a telescope, a sewing machine, "
    "a canoe, a cello, a sourdough starter, a camera, a tent, a painting of the harbour, a bookshelf, a lemon tree"
)
HOBBIES = "pottery, climbing, choir, chess, rowing, painting, running, baking, birdwatching, salsa, fencing, knitting"
PETS = "dog, cat, rabbit, parrot, tortoise, pony"
PET_NAMES = "Biscuit Pepper Mochi Luna Oscar Noodle Ginger Ziggy"
FOODS = "ramen, lentil soup, paella, dumplings, apple pie, sushi, falafel, mushroom risotto, pancakes, goulash"
WHENS = (
    "yesterday, last Friday, two weeks ago, last month, on 12 May, in March, last weekend, the day before yesterday, "
    "on Tuesday, three days ago, in 2019, this morning"
)
COMINGS = "tomorrow, next week, next month, on Saturday, in October, next summer, in two weeks"
KIN = "sister, brother, mother, father, cousin, uncle, neighbour, colleague, daughter, son, grandmother, best friend"
FEELINGS = "It was calmer than I had hoped; I am still tired from it; It made me think of our school days; "
FEELINGS += "I want to do it again; Nobody expected the rain; We laughed about it all evening; It was costly"
GRADES = "wonderful, hard, long, strange, quiet, crowded, expensive, beautiful, muddy, cheap"

# An English statement is an opening, what was done, and a tail; each is drawn by itself.
OPENINGS = """
{when} I|We|{when} we|My {kin} and I|I finally|{name} and I|Before breakfast I|After the {hobby} class we
""".strip().split("|")
DEEDS = (
    """
repaired the roof of the shed, bought {thing}, painted the hallway yellow, planted three apple trees, cycled to {place},
missed the last train, cooked {food} for nine guests, found an old diary in the attic, signed a lease for a studio,
watched a documentary about whales, lost a wallet near the station, started {hobby}, sold the van, broke a tooth,
booked flights to {place}, adopted a {pet} called {pet_name}, read a novel about lighthouse keepers, passed the exam,
ran {number} kilometres along the river, visited the maritime museum, applied for a grant, mended the fence,
baked bread for the neighbours, took the ferry to {place}, quarrelled over the heating bill, opened a savings account,
learned to solder, taught a first aid course, sorted photographs from the eighties, moved the piano upstairs,
met {name} by chance, raised {money} euros for the hospice, caught a bad cold, dug up potatoes, gave {name} {thing},
won a small prize, joined a reading circle, installed solar panels, cancelled the newspaper, saw a comet
""".strip()
    .replace("\n", " ")
    .split(", ")
)
TAILS = (
    """
because the old one had given up, which took most of the afternoon, and {name} helped with the heavy parts,
although nobody had slept much, before the weather turned, so the budget for this month is gone,
and the doctor said it was about time, even if my {kin} thought it foolish, on the way back from {place},
while the children stayed with my {kin}, and I have been humming ever since, without telling anyone at work,
which reminded me of our school in {place}, and now the kitchen smells of {food}, in less than {number} minutes,
after {number} years of putting it off, and the {pet} slept through all of it, with borrowed tools and much luck,
for the first time since the operation, and somebody wrote about it in the local paper
""".strip()
    .replace("\n", " ")
    .split(", ")
)
ENGLISH_CHANGES = """
I moved to {place} {when} because my {kin} lives there with {pet_name} the {pet}.
I work as a {job} now; before that I was a {job2} in {place} for {number} years.
My favourite food is {food}, my {kin} cooks it on every birthday.
""".strip().splitlines()
ENGLISH_ASIDES = """
{feeling}.
How was your {grade} week, and did {name} call you about {hobby}?
What did you do in {place}, was it as {grade} as people say?
I think {name} would like it too, but maybe not {coming}.
The weather in {place} was {grade}, at least in the morning.
Thanks for asking, that means a lot to me.
Do you still have {thing}?
The journey was {grade}, about {number} hours by train.
""".strip().splitlines()
JAPANESE = """
{when_ja}{place_ja}の市場で{number}番目に古い店を見つけました。{name_ja}さんが{food_ja}を買いました。
{kin_ja}の{name_ja}さんは{place_ja}で{job_ja}をしています。週末はいつも忙しいそうです。
{when_ja}{name_ja}さんと{place_ja}へ旅行に行って、{food_ja}を食べました。とても美味しかったです。
{hobby_ja}を始めてから{number}か月になります。先生の{name_ja}さんは厳しいです。
{when_ja}{name_ja}さんが{food_ja}と{food2_ja}を{number}人分作りました。{hobby_ja}の仲間も来ました。
来月{place_ja}で{hobby_ja}の大会があります。{name_ja}さんも一緒に出るつもりです。
""".strip().splitlines()
CHINESE = """
{when_zh}我的{kin_zh}从{place_zh}寄来{number}斤{food_zh}，{name_zh}帮我搬上楼。
我的{kin_zh}{name_zh}在{place_zh}当{job_zh}，周末常常没有时间。
{when_zh}我和{name_zh}去了{place_zh}，住了{number}天，吃了很多{food_zh}。
我开始学{hobby_zh}已经{number}个月了，老师{name_zh}说我进步很快。
{when_zh}{name_zh}做了{food_zh}和{food2_zh}，来了{number}个{hobby_zh}班的同学。
下个月我打算去{place_zh}看{name_zh}，如果买得到火车票的话。
""".strip().splitlines()

WORDS: dict[str, list[str]] = {
    "name": NAMES.split(),
    "place": PLACES.split(),
    "pet_name": PET_NAMES.split(),
    "job": JOBS.split(", "),
    "job2": JOBS.split(", "),
    "thing": THINGS.split(", "),
    "hobby": HOBBIES.split(", "),
    "pet": PETS.split(", "),
    "food": FOODS.split(", "),
    "food2": FOODS.split(", "),
    "when": WHENS.split(", "),
    "coming": COMINGS.split(", "),
    "kin": KIN.split(", "),
    "feeling": FEELINGS.split("; "),
    "grade": GRADES.split(", "),
    "number": [str(number) for number in range(2, 40)],
    "money": [str(money) for money in range(480, 1500, 20)],
    "name_ja": ["田中", "佐藤", "鈴木", "高橋", "伊藤", "渡辺", "山本", "中村"],
    "place_ja": ["京都", "大阪", "札幌", "福岡", "仙台", "名古屋", "金沢", "長崎"],
    "job_ja": ["看護師", "教師", "料理人", "庭師", "写真家", "運転手"],
    "kin_ja": ["姉", "兄", "母", "父", "友達", "同僚", "祖母"],
    "hobby_ja": ["陶芸", "登山", "合唱", "将棋", "水泳", "絵画"],
    "food_ja": ["ラーメン", "寿司", "カレー", "うどん", "餃子", "たこ焼き"],
    "food2_ja": ["納豆", "セロリ", "牡蠣", "パクチー", "レバー"],
    "when_ja": ["昨日", "先週", "先月", "三日前に", "五月十二日に", "去年"],
    "name_zh": ["张伟", "李娜", "王芳", "刘洋", "陈静", "赵磊"],
    "place_zh": ["北京", "上海", "杭州", "成都", "西安", "台北", "广州"],
    "job_zh": ["护士", "老师", "厨师", "司机", "摄影师", "翻译"],
    "kin_zh": ["姐姐", "哥哥", "妈妈", "爸爸", "朋友", "同事"],
    "hobby_zh": ["陶艺", "爬山", "合唱", "围棋", "游泳", "画画"],
    "food_zh": ["饺子", "火锅", "拉面", "豆腐", "月饼"],
    "food2_zh": ["香菜", "芹菜", "苦瓜", "羊肉"],
    "when_zh": ["昨天", "上周五", "上个月", "三天前", "五月十二日", "去年"],
}


@dataclass(frozen=True, slots=True)
class Session:
    """One session: its id and its messages as `add` takes them."""

    id: str
    messages: list[dict[str, object]]


def sessions(seed: int = 7) -> Iterator[Session]:
    """Sessions of SESSION_TURNS turns, a day or two apart, without end. A seed always gives the same text."""
    chance = random.Random(seed)
    at, number = START, 0
    while True:
        number += 1
        language = chance.choices(("en", "ja", "zh"), (8, 1, 1))[0]
        messages: list[dict[str, object]] = []
        for turn in range(SESSION_TURNS):
            at += timedelta(seconds=chance.randint(20, 90))
            speaker = ("Mia", "Noah")[turn % 2]
            messages.append({"role": "user", "name": speaker, "content": say(chance, language), "at": at})
        yield Session(f"s{number}", messages)
        at += timedelta(hours=chance.randint(20, 44))


def say(chance: random.Random, language: str) -> str:
    """One turn: in English a statement and an aside; in Japanese and Chinese one or two statements."""
    if language != "en":
        frames = JAPANESE if language == "ja" else CHINESE
        return "".join(_filled(chance, chance.choice(frames)) for _ in range(chance.choice((1, 1, 2))))
    if chance.random() < CHANGES:
        parts = [chance.choice(ENGLISH_CHANGES)]
    else:
        parts = [f"{chance.choice(OPENINGS)} {chance.choice(DEEDS)}, {chance.choice(TAILS)}."]
    parts.insert(chance.randint(0, 1), chance.choice(ENGLISH_ASIDES))
    return " ".join(_filled(chance, part) for part in parts)


def questions(count: int, seed: int = 11) -> list[str]:
    """Questions about what such conversations tell."""
    chance = random.Random(seed)
    frames = (
        "When did {name} move to {place}?",
        "What did Mia buy in {place} last month?",
        "Who works as a {job} in {place}?",
        "Which hobby did Noah start with {name} in May?",
        "What is the name of the {pet} that was ill?",
        "{name_ja}さんはどこで{job_ja}をしていますか",
        "{name_zh}什么时候去了{place_zh}？",
    )
    return [_filled(chance, frames[n % len(frames)]) for n in range(count)]


def _filled(chance: random.Random, frame: str) -> str:
    """The frame with a random word in each place. Every list is drawn from, so that a new frame changes no other."""
    return frame.format_map({name: chance.choice(words) for name, words in WORDS.items()})
