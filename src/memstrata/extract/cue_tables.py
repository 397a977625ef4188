"""The cue words of the extraction stage, as data: what a hedge, a question, a plan ... looks like in each language.

English cues are whole words or phrases, lower case; Japanese and Chinese cues are substrings (these scripts have no
spaces to cut at). Chinese lists hold simplified and traditional forms. A table maps the language to its cues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memstrata.text.stopwords import word_list


@dataclass(frozen=True, slots=True)
class CueSet:
    """The cues of one language: English ones by first word, with a blank on either side; others as they are."""

    by_first_word: Mapping[str, tuple[str, ...]]
    substrings: tuple[str, ...]

    def cues(self) -> tuple[str, ...]:
        """All of them."""
        return (*(cue for cues in self.by_first_word.values() for cue in cues), *self.substrings)


Table = dict[str, CueSet]


def listed(phrases: str) -> tuple[str, ...]:
    """The phrases of a table written as text, separated by commas; line breaks are white space.

    >>> listed("going to, want to")
    ('going to', 'want to')
    """
    return tuple(" ".join(phrase.split()) for phrase in phrases.split(",") if phrase.strip())


def whole_words(phrases: str) -> CueSet:
    """English cues, found as whole words."""
    found: dict[str, tuple[str, ...]] = {}
    for phrase in listed(phrases):
        first = phrase.split(" ", 1)[0]
        found[first] = (*found.get(first, ()), f" {phrase} ")
    return CueSet(found, ())


def substrings(phrases: str) -> CueSet:
    """Japanese and Chinese cues, found anywhere."""
    return CueSet({}, listed(phrases))


HEDGES: Final[Table] = {
    "en": whole_words(
        """
        maybe, perhaps, i think, i guess, i suppose, i believe, probably, possibly, might, not sure, i'm unsure,
        could be, kind of think, may be, i doubt, if i remember, i assume, presumably
        """
    ),
    "ja": substrings(
        """
        たぶん, 多分, かもしれ, かも。, おそらく, 恐らく, と思う, と思います, 気がする, 気がします, だろう,
        でしょう, かな
        """
    ),
    "zh": substrings(
        """
        可能, 也许, 也許, 大概, 或许, 或許, 我觉得, 我覺得, 我想应该, 应该是, 應該是, 恐怕, 说不定, 說不定, 我猜,
        好像
        """
    ),
}

HEARSAY: Final[Table] = {
    "en": whole_words(
        """
        he said, she said, they said, he says, she says, they say, he told me, she told me, they told me, i heard,
        i've heard, apparently, supposedly, allegedly, rumor has it, rumour has it, people say, i read that,
        i'm told, i was told, he claims, she claims, he thinks, she thinks, he mentioned, she mentioned,
        says that, said that, claims that, thinks that, told me, tells me, says i, says he, says she, says we,
        according to
        """
    ),
    "ja": substrings(
        """
        らしい, だそうです, だそうだ, るそうです, たそうです, いそうです, と言って, って言って, と言った, と聞い,
        って聞い, とのこと, によると
        """
    ),
    "zh": substrings(
        """
        听说, 聽說, 据说, 據說, 他说, 他說, 她说, 她說, 他们说, 他們說, 告诉我, 告訴我, 有人说, 有人說
        """
    ),
}

# An unreal situation, which states nothing of the speaker's own: "if I lived in", "I wish I worked at".
HYPOTHETICALS: Final[Table] = {
    "en": whole_words(
        """
        if, wish, imagine, suppose, pretend, unless, would, i'd, as if, were to, could, should, whether
        """
    ),
    "ja": substrings(
        """
        もし, たら, なら, としたら, だったらいいのに
        """
    ),
    "zh": substrings(
        """
        如果, 要是, 假如, 假设, 假設, 的话, 的話, 但愿, 但願
        """
    ),
}

NEGATIONS: Final[Table] = {
    "en": whole_words(
        """
        not, no, never, none, nothing, nobody, neither, nor, cannot, no longer, without, don't, doesn't, didn't,
        isn't, aren't, wasn't, weren't, haven't, hasn't, hadn't, won't, wouldn't, can't, couldn't, shouldn't,
        ain't, nope, dont, doesnt, didnt, cant, quit my job, left my job, quit his job, left his job, quit her job,
        left her job
        """
    ),
    "ja": substrings(
        """
        ない, ません, なかった, じゃな, ではな, ずに, 退職し
        """
    ),
    "zh": substrings(
        """
        不, 没, 沒, 别, 未, 从来没, 辞职
        """
    ),
}
# What holds the letters of a negation without denying anything.
NEGATION_EXCEPTIONS: Final[Table] = {
    "en": whole_words(
        """
        can't wait, no problem, no worries, why not, not only, no doubt, can't help, can't believe
        """
    ),
    "ja": substrings(
        """
        かもしれない, かもしれません, しかない, に違いない, 間違いない, なければなら, ないといけない, すみません,
        少ない, 危ない
        """
    ),
    "zh": substrings(
        """
        不错, 不錯, 不过, 不過, 差不多, 不客气, 不客氣, 特别, 不好意思, 不但, 不仅, 不僅, 不同, 分别, 告别, 别人,
        未来, 了不起, 不断, 不斷
        """
    ),
}

FUTURE: Final[Table] = {
    "en": whole_words(
        """
        will, i'll, we'll, he'll, she'll, they'll, gonna, going to, want to, wanna, wants to, plan to, planning,
        plans to, my plan, hope to, hoping to, hopes to, would like to, i'd like to, i'd love to, would love to,
        thinking of, thinking about, looking forward to, can't wait to, intend to, aim to, aiming to, my goal,
        need to, have to, about to, tomorrow, next week, next month, next year, next weekend, want a, dream of,
        someday, one day i, considering, saving up, gotta
        """
    ),
    "ja": substrings(
        """
        つもり, 予定, たいです, たいと思, たい。, たいな, 計画, 来週, 来月, 来年, 明日, しようと思, ようと思,
        楽しみにして, 目標, ことにした, ことにしました
        """
    ),
    "zh": substrings(
        """
        打算, 计划, 計劃, 准备, 準備, 我想要, 我想, 想去, 希望, 将要, 將要, 明天, 下周, 下週, 下个月, 下個月,
        明年, 我要, 我会, 我會, 目标, 目標, 期待
        """
    ),
}

# The parts of a question.
QUESTION_WORDS_EN: Final = listed(
    """
    what, what's, who, who's, where, where's, when, why, how, how's, which, whose, whats, hows
    """
)
AUXILIARIES_EN: Final = listed(
    """
    do, does, did, is, are, was, were, have, has, had, can, could, will, would, should, shall, may, isn't, aren't,
    don't, doesn't, didn't, haven't, hasn't, can't, won't, wouldn't
    """
)
SUBJECTS_EN: Final = listed(
    """
    you, your, we, they, he, she, it, i, there, this, that, anyone, anybody, ya, u
    """
)
INTERROGATIVES_ZH: Final = listed(
    """
    什么, 什麼, 谁, 誰, 哪, 几, 幾, 多少, 怎么, 怎麼, 怎样, 为什么, 為什麼, 何时, 如何
    """
)

# A sentence of nothing but these says nothing that could be remembered.
FILLER_EN: Final[frozenset[str]] = frozenset(
    word_list(
        """
        hi hello hey hiya howdy morning afternoon evening night goodnight bye goodbye cya later soon care welcome cheers
        thanks thank thx ty appreciate appreciated lot bunch million grateful
        wow whoa oh ooh ah aha aww aw haha hahaha lol lmao omg gosh god damn dang yay woo woohoo yoohoo yum ouch phew
        hmm um uh er huh well so and but anyway
        yes yeah yep yup yea ya sure ok okay alright fine right no nope nah nice cool great awesome amazing fantastic
        wonderful good perfect excellent lovely beautiful gorgeous sweet neat rad sick impressive incredible brilliant
        fun interesting exciting cute adorable funny hilarious crazy wild super really very too much totally absolutely
        definitely exactly indeed certainly course agreed agree true truly stunning
        that's thats that this it it's its is was are sounds sound looks look like such a an the to you you're your i
        i'm im we me my for of in on at be been see seeing hear heard hearing talk meet how what glad happy sorry
        congrats congratulations proud best luck job going go keep up way have one day weekend time week safe stay
        stoked excited problem worries worry bet know got same here there can't wait can just all guys friend buddy man
        bro dude girl let's catch chat take enjoy idea point pic photo picture check out some more about again by
        from sharing share catching get gotcha means
        """
    )
)
FILLER_CJK: Final[dict[str, tuple[str, ...]]] = {
    "ja": listed(
        """
        おはようございます, おはよう, こんにちは, こんばんは, ありがとうございます, ありがとうございました,
        ありがとう, どうも, すごいですね, すごいね, すごい, いいですね, いいね, 素敵ですね, 素敵, なるほど,
        そうですね, そうですか, そうなんですね, そうなんだ, そうだね, そうです, はい, いいえ, うん, ううん, ええ,
        わあ, へえ, えー, お疲れ様です, お疲れさま, お疲れ様でした, おめでとうございます, おめでとう,
        楽しみですね, 楽しみ, またね, じゃあね, さようなら, おやすみなさい, おやすみ, よろしくお願いします,
        よろしく, 了解です, 了解, わかりました, 分かりました, もちろん, 本当に, 本当, とても, よかったですね,
        よかった, 良かった, はじめまして, 初めまして, お久しぶりです, 久しぶり, 頑張ってください, 頑張って,
        いえいえ, 笑, ね, よ, それは,
        気をつけて, 気を付けて, 覚えておいて, 覚えといて, 覚えて, 忘れないで, ください, 下さい, 大丈夫です, 大丈夫,
        お元気ですか, 元気です
        """
    ),
    "zh": listed(
        """
        你好, 您好, 大家好, 早上好, 早安, 晚上好, 晚安, 下午好, 嗨, 哈喽, 谢谢你, 谢谢您, 谢谢, 謝謝, 多谢, 感谢,
        不客气, 不用谢, 真的太好了, 太好了, 太棒了, 真棒, 好棒, 真不错, 不错, 厉害, 真厉害, 好的, 好, 好啊, 好吧,
        行, 可以, 是的, 是, 对, 对的, 對, 没错, 嗯, 嗯嗯, 哦, 噢, 哇, 哈哈, 哈哈哈, 呵呵, 再见, 再見, 拜拜,
        回头见, 恭喜, 恭喜你, 祝贺, 加油, 当然, 真的, 真好, 没问题, 没关系, 明白, 明白了, 知道了, 收到, 辛苦了,
        好久不见, 很高兴认识你, 路上小心, 小心, 保重, 请记住, 记住, 記住, 别忘了,
        有意思, 真有意思, 听起来不错, 听起来很棒, 啊, 呀, 吧, 了, 那, 太
        """
    ),
}

# A sentence that opens with one of these points back at the sentence before it.
ANAPHORS: Final[dict[str, tuple[str, ...]]] = {
    "en": listed(
        """
        it, it's, its, that, that's, this, they, they're, them, he, he's, she, she's, his, her, their, these,
        those, such, there, which, because, so, plus, also, then
        """
    ),
    "ja": listed(
        """
        それ, これ, あれ, 彼, その, この, だから, そして, でも, そこ, また, しかも
        """
    ),
    "zh": listed(
        """
        它, 他, 她, 这, 這, 那, 所以, 因为, 因為, 但是, 然后, 然後, 而且, 还有
        """
    ),
}

# How a reply opens that confirms what was said before it, and what turns such an opening into something else.
CONFIRMATIONS: Final[dict[str, tuple[str, ...]]] = {
    "en": listed(
        """
        yes, yeah, yep, yup, correct, exactly, right, that's right, that is right, that's correct,
        that is correct, true, that's true, indeed, confirmed, you're right, spot on, precisely
        """
    ),
    "ja": listed(
        """
        はい, そうです, その通り, そのとおり, 正しい, 合っています, うん, ええ
        """
    ),
    "zh": listed(
        """
        是的, 对, 對, 没错, 沒錯, 正确, 正確, 确实, 確實, 就是这样, 是啊
        """
    ),
}
CONFIRMATION_EXCEPTIONS: Final[Table] = {
    "en": whole_words(
        """
        but, no, not, actually, wrong, isn't, wasn't, right now, right away
        """
    ),
    "ja": substrings(
        """
        でも, 違い, 違う, ただ
        """
    ),
    "zh": substrings(
        """
        但, 不过, 不過, 不对, 不對, 对不起, 對不起, 对了, 不是
        """
    ),
}
