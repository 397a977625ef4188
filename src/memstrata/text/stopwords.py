"""Function words: what carries grammar and no topic, by language.

Contractions stand without their ending ("I'm" is "i" after `words`), except those with "not".
"""

from __future__ import annotations


def word_list(lines: str) -> tuple[str, ...]:
    """The words of a table written as text, white space between them."""
    return tuple(lines.split())


ENGLISH = word_list(
    """
    a an the this that these those such same other another each every either neither both all any some few i me
    my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones someone somebody something anyone anybody
    anything everyone everybody everything nobody nothing am is are was were be been being have has had having
    do does did doing done will would shall should can could may might must ought let and or but if then else
    than so because although though while as until unless since whether of at by for with about against between
    into through during before after above below to from up down in out on off over under onto upon within
    without along across around toward towards per via again further once here there now just only own too very
    also even still yet ever quite rather really much many more most less least lot lots bit who whom whose
    what which when where why how whatever whenever wherever whoever oh ah uh um hmm hey hi hello yeah yep ok
    okay well please
    """
)

NEGATIONS = word_list(
    """
    no not nor never none cannot don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't
    wouldn't shan't shouldn't can't couldn't mustn't mightn't needn't ain't
    """
)
"""Dropped from queries, kept where statements are compared."""

JAPANESE = word_list(
    """
    は が を に へ と も で や の か ね よ な わ ぞ さ し て た だ から まで より など だけ ばかり ほど くらい
    ぐらい しか こそ さえ でも では には とは へは からは ので のに けど けれど ながら です ます でした ました
    ません でしょう だろう だった である ない なかった じゃない たい たら れば なら って という といった する
    した して している していた しています される された できる いる いた います いました ある あった あります
    ありました なる なった なります なりました くる きた いく いった ください これ それ あれ この その あの
    ここ そこ あそこ こと もの とき ところ ため よう そう こう どう 私 わたし 僕 ぼく 俺 あなた 彼 彼女 私たち
    僕たち 何 なに なん 誰 だれ いつ どこ どれ どの どちら どんな どうして どうやって なぜ いくつ いくら 何時
    何人 何歳 また そして しかし でも だから それで とても すごく もう まだ ちょっと 教えて 知って 覚えて さん
    ちゃん くん った
    """
)

CHINESE = word_list(
    """
    的 了 着 过 地 得 们 是 在 有 和 跟 与 及 或 而 但 就 都 也 还 又 很 太 更 最 再 才 把 被 让 给 对 从 到 向
    往 为 以 于 由 用 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 自己 大家 这 那 这个 那个 这些 那些 这里
    那里 这样 那样 这么 那么 一个 一些 一下 一点 有点 个 些 里 上 下 中 要 会 能 可以 可能 应该 想 吗 呢 吧 啊
    呀 哦 嗯 哈 嘛 啦 哎 什么 谁 哪 哪里 哪儿 哪个 哪些 哪天 何时 什么时候 时候 怎么 怎样 怎么样 为什么 为何
    多少 几 几个 几点 多久 多大 是否 是不是 有没有 因为 所以 但是 不过 虽然 如果 而且 或者 然后 还是 已经 正在
    非常 真的 比较 這 這個 那個 們 個 還 過 對 從 為 嗎 誰 什麼 哪裡 怎麼 為什麼 多少 時候 我們 你們 他們 她們
    請問 请问 告诉 记得
    """
)
