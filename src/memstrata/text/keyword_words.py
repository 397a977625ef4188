"""Words that say little about what a text is about, beyond the stop words; and where a Chinese run is cut."""

from __future__ import annotations

from memstrata.text.stopwords import word_list

COMMON = frozenset(
    word_list(
        """
        go goes going gone went get gets getting got make makes making made take takes taking took come comes
        coming came see sees seeing saw seen look looks looking looked know knows knew known think thinks thinking
        thought say says saying said tell tells telling told want wants wanted need needs needed like likes liked
        love loves loved try tries trying tried give gives gave given keep keeps kept put let feel feels feeling
        felt find finds found use uses used using start starts started work works hear heard talk talking talked
        ask asked show shows showed help helps helped hope hopes guess seem seems seemed mean means meant happen
        happens happened bring brought leave left thing things stuff something way ways kind sort time times day
        days today tomorrow yesterday week weeks weekend month months year years hour hours minute minutes moment
        morning afternoon evening night tonight ago last next monday tuesday wednesday thursday friday saturday
        sunday january february march april june july august september october november december place people
        person guy guys man men woman women part parts life world everyone good great nice cool awesome amazing
        wonderful fantastic lovely beautiful bad big small little new old long short best better worse happy glad
        sure sorry fun interesting important special different right wrong true real able excited exciting proud
        thank thanks congrats welcome wow yay absolutely definitely actually probably maybe perhaps always
        sometimes usually often already almost together later soon finally recently lately especially pretty super
        totally exactly back away else enough first second two three four five six seven eight nine ten hundred
        thousand couple course rest end idea question answer haha lol
        """
    )
)

COMMON_JAPANESE = frozenset(
    word_list(
        """
        今日 昨日 明日 今年 去年 来年 今月 先月 来月 今週 先週 来週 今朝 今夜 毎日 毎週 毎年 最近 今度 今回 前回
        一番 一緒 本当 大変 時間 午前 午後 週末 自分 全部 全然 多分 結構 最後 最初 普通 大丈夫 大好 残念 元気 人 年
        月 日 時 分 回 前 後 中 上 下 今 方
        """
    )
)

COMMON_CHINESE = frozenset(
    word_list(
        """
        今天 昨天 明天 后天 前天 今年 去年 明年 上周 下周 周末 上个月 下个月 早上 上午 中午 下午 晚上 现在 以前
        以后 之前 之后 最近 刚才 每天 一起 时间 东西 事情 问题 地方 高兴 开心 谢谢 不好意思 没关系 当然 真是 其实
        可是 特别 一直 经常 有时候 好的 很多
        """
    )
)

CHINESE_CUTS = word_list(
    """
    喜欢 喜歡 觉得 知道 认为 打算 准备 开始 决定 希望 需要 告诉 看到 听说 参加 住在 叫做 搬到 见面 学习 学会 看看
    吃饭 认识 我们 你们 他们 她们 它们 自己 大家 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么 一个 一些 一下
    一点 有点 一家 一起 可以 可能 应该 什么 哪里 哪儿 怎么 为什么 多少 什么时候 时候 因为 所以 但是 不过 虽然 如果
    而且 或者 然后 还是 已经 正在 非常 真的 比较 今天 昨天 明天 今年 去年 明年 上周 下周 周末 早上 上午 中午 下午
    晚上 现在 以前 以后 最近 的 了 着 是 在 有 我 你 您 他 她 它 们 这 那 和 跟 与 也 都 就 很 太 还 又 把 被 让 给
    吗 呢 吧 啊 呀 啦 嘛 个 些 没 不 谁 去 来 买 吃 喝 住 说 問 问 叫 想 每 這 們 個 還 嗎 誰 給 讓 來 買 說
    """
)
"""Function words, verbs and times at which a Chinese run is cut. Characters that are as often a part of a longer word
(学, 能, 会, 中) do not cut."""

NOUN_ENDINGS = word_list(
    "tion sion ment ness ity ship ism ist ance ence ology graphy hood dom age ery ory ture ics or er cy phy try"
)
"""Endings of many English nouns."""

DETERMINERS = frozenset(word_list("a an the my your his her its our their this that these those some any no every new"))
