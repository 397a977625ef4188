"""The cues by which a statement's kind is told, as data (English: whole words; Japanese and Chinese: substrings)."""

from __future__ import annotations

from typing import Final

from memstrata.extract.cue_tables import Table, listed, substrings, whole_words
from memstrata.text.stopwords import word_list
from memstrata.types import Kind

SLOT_KINDS: Final[dict[str, Kind]] = {
    "name": "identity",
    "age": "identity",
    "birthday": "identity",
    "birthplace": "identity",
    "home_town": "identity",
    "lives_in": "identity",
    "works_at": "identity",
    "job_title": "identity",
    "phone": "identity",
    "email": "identity",
    "school": "identity",
    "nationality": "identity",
    "native_language": "identity",
    "timezone": "identity",
    "marital_status": "relation",
    "diet": "preference",
}

IDENTITY: Final[Table] = {
    "en": whole_words(
        """
        my job is, my profession is, my hometown is, my name, i was born, i grew up, i was raised, i come from,
        i'm from, i am from, i'm originally, i identify as, my background,
        for a living, i'm fluent, my pronouns, my religion, my age, my birthday,
        my hometown, i speak, i'm allergic, i am allergic
        """
    ),
    "ja": substrings(
        """
        私の名前, と申します, 生まれ, 育ちました, 育った, 出身, 職業, アレルギー, 私の仕事
        """
    ),
    "zh": substrings(
        """
        我叫, 我的名字, 出生, 长大, 我来自, 我的职业, 我的工作, 过敏, 我信
        """
    ),
}

KIN_EN: Final = listed(
    """
    mom, mum, mother, dad, father, parents, brother, sister, son, daughter, kids, children, wife, husband,
    partner, boyfriend, girlfriend, friend, best friend, grandma, grandmother, grandpa, grandfather, aunt, uncle,
    cousin, niece, nephew, fiance, roommate, boss, dog, cat, family, baby, puppy, kitten, pet, twins
    """
)
KIN_JA: Final = listed("妹, 弟, 兄, 姉, 母, 父, 妻, 夫, 息子, 娘, 祖母, 祖父, 友達, 友人, 親友, 彼氏, 彼女, 同僚")
RELATION: Final[Table] = {
    "en": whole_words(
        """
        we've been friends, we've known, we have been friends, best friends, we've been married, we're married,
        close friend,
        """
    ),
    "ja": substrings(
        """
        私の妻, 私の夫, 私の母, 私の父, 私の兄, 私の姉, 私の弟, 私の妹, 息子が, 娘が, 息子は, 娘は, 妻は, 夫は,
        母は, 父は, 兄は, 姉は, 弟は, 妹は, 親友, 友達がい, 飼ってい
        """
    ),
    "zh": substrings(
        """
        我妻子, 我丈夫, 我老婆, 我老公, 我妈, 我爸, 我哥, 我姐, 我弟, 我妹, 我儿子, 我女儿, 我的朋友, 我朋友,
        我男朋友, 我女朋友, 我养了, 我有一个, 我有两个, 最好的朋友
        """
    ),
}

PREFERENCE: Final[Table] = {
    "en": whole_words(
        """
        i love, i like, i hate, i prefer, i enjoy, i dislike, i adore, i really like, i really love,
        i really enjoy, i don't like, i can't stand, my favorite, my favourite, favorites, i'm a fan, big fan,
        huge fan, not a fan, fan of, i'm into, i'm passionate about, i also love, i also like, i always love,
        i still love, i just love, i absolutely love, we love, i'd rather, i rather, means a lot to me,
        important to me, i value, i believe in, i care about, i'm obsessed, i don't eat, i don't drink,
        i never eat, i'm keen on, i only eat, prefers, loves, hates
        """
    ),
    "ja": substrings(
        """
        好き, 嫌い, 苦手, お気に入り, 好み, 大切にして, こだわ, ハマって, はまって, 興味があ
        """
    ),
    "zh": substrings(
        """
        喜欢, 喜歡, 讨厌, 討厭, 爱吃, 爱喝, 最爱, 热爱, 偏好, 不喜, 感兴趣, 更愿意, 宁愿, 着迷, 我爱, 我恨
        """
    ),
}

PROCEDURE: Final[Table] = {
    "en": whole_words(
        """
        the recipe is, here is how, this is how you, first you, then you, step one, step 1, steps are,
        you need to, you have to, the trick is,
        make sure to, always use, whenever i ask, when i ask, instructions are, the process is,
        every time you, my routine, please always, i usually start by
        """
    ),
    "ja": substrings(
        """
        手順, やり方, 方法は, まず、, 次に, してから, 作り方, コツは, 必ず
        """
    ),
    "zh": substrings(
        """
        步骤, 步驟, 方法是, 首先, 然后再, 做法, 流程, 诀窍, 记得先, 每次都要, 先把
        """
    ),
}

STATE: Final[Table] = {
    "en": whole_words(
        """
        i feel, i'm feeling, i am feeling, feeling, i'm tired, i'm busy, i'm swamped, i'm stressed, right now,
        currently, these days, lately, at the moment, i've i have been, i'm so, i'm really, i'm still,
        i'm working on, we're still, i'm learning, i'm trying, nowadays, been
        """
    ),
    "ja": substrings(
        """
        ています, ている, てる, 最近, 今は, 現在, 疲れ, 忙し, 気分, 調子
        """
    ),
    "zh": substrings(
        """
        正在, 现在, 現在, 最近, 目前, 感觉, 感到, 很累, 很忙, 心情, 一直在, 着呢
        """
    ),
}

EPHEMERAL: Final[Table] = {
    "en": whole_words(
        """
        brb, on my way, talk soon, talk to you, see you, see ya, catch you, gotta go, got to go,
        i'll be right back, keep me posted, keep you posted, let me know, take a look, look at this,
        check this out, check it out, have fun, take care, good luck, stay safe, hang on, one sec, just a moment,
        it's raining, nice weather, here's a pic, here's a photo, can't wait to hear, keep it up, keep going
        """
    ),
    "ja": substrings(
        """
        ちょっと待, 今向か, 後で連絡, また連絡, いい天気, 雨が降っ, 行ってきます, 見てください
        """
    ),
    "zh": substrings(
        """
        等一下, 稍等, 马上到, 回头聊, 下次聊, 在路上, 今天天气, 下雨了, 看看这个, 我先走
        """
    ),
}

# A sentence about the listener, or a verdict on what was just said, opens so, after any interjections.
REACTION_OPENINGS_EN: Final[frozenset[str]] = frozenset(
    word_list(
        """
        you're you've you'll you'd your sounds that's that what how glad congrats hope keep it's its looks happy sorry
        """
    )
)
ADVICE_EN: Final[frozenset[str]] = frozenset(word_list("can could should need must might may have want"))
INTERJECTIONS_EN: Final[frozenset[str]] = frozenset(
    word_list("wow yeah yep yes oh ooh aw aww nice great awesome cool thanks good so well hey haha and no totally")
)
FIRST_PERSON_EN: Final[frozenset[str]] = frozenset(
    word_list("i i'm i've i'll i'd me my mine myself we we're we've we'll us our ours")
)

# Irregular past tenses of what people do; regular ones are told by their -ed.
PAST_EN: Final[frozenset[str]] = frozenset(
    word_list(
        """
        went got had made saw met took gave found bought came left began became broke built caught chose did drew
        drank drove ate fell felt flew forgot grew heard held hit hurt kept knew led lost paid put quit ran read
        said sang sat sent slept spent spoke stood swam taught thought told threw was were woke won wore wrote
        """
    )
)
PAST_CJK: Final[Table] = {
    "ja": substrings(
        """
        ました, った。, った！, した。, した！, いた。, てきた, だった, でした, 行った, 会った, 買った
        """
    ),
    "zh": substrings(
        """
        了, 过, 過
        """
    ),
}
