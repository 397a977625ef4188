"""A small lexicon of topics: the words, in three languages, that give a note one of some twenty tags."""

from __future__ import annotations

from typing import Final

from memstrata.extract.cues import Folded

# tag: (English words, Japanese and Chinese substrings). A plural in -s or -es is found through its singular.
TOPICS: Final[dict[str, tuple[str, str]]] = {
    "family": (
        "family mom mum mother dad father parent parents brother sister son daughter kid kids child children wife "
        "husband grandma grandmother grandpa grandfather aunt uncle cousin niece nephew baby sibling",
        "家族 母 父 兄 姉 妹 弟 息子 娘 妻 夫 祖母 祖父 子供 両親 妈妈 爸爸 媽媽 父母 哥哥 姐姐 妹妹 弟弟 儿子 "
        "女儿 兒子 女兒 妻子 丈夫 孩子 奶奶 爷爷",
    ),
    "relationship": (
        "friend boyfriend girlfriend partner fiance married marriage wedding engaged divorced dating anniversary date",
        "友達 友人 彼氏 彼女 恋人 結婚 離婚 婚約 朋友 男友 女友 结婚 离婚 恋爱 婚礼",
    ),
    "work": (
        "work job career office boss colleague coworker company business startup interview promotion client "
        "project meeting salary hired intern internship shift employer",
        "仕事 会社 職場 上司 同僚 転職 就職 面接 会議 工作 公司 老板 同事 面试 升职 会议 项目 創業 创业",
    ),
    "education": (
        "school college university class course student teacher exam degree study studying homework graduate "
        "graduation professor thesis lecture learn learning tutor",
        "学校 大学 授業 試験 勉強 卒業 宿題 先生 留学 大學 学习 考试 毕业 作业 老师 课程 研究生",
    ),
    "health": (
        "health doctor hospital sick illness ill medicine therapy therapist diet sleep injury injured pain surgery "
        "allergic allergy anxiety depression stress mental yoga meditation weight pregnant headache cancer dentist",
        "健康 病院 医者 病気 薬 手術 怪我 アレルギー 妊娠 頭痛 ストレス 医院 医生 生病 吃药 手术 受伤 过敏 怀孕 "
        "失眠 减肥",
    ),
    "travel": (
        "travel trip vacation holiday flight airport hotel beach visit visited tour abroad passport roadtrip "
        "journey camping hike hiking cruise country flew",
        "旅行 出張 空港 ホテル 海外 飛行機 観光 温泉 旅游 旅遊 出差 机场 酒店 飞机 度假 签证 海边",
    ),
    "food": (
        "food eat cook cooking bake baking recipe restaurant dinner lunch breakfast coffee tea pizza cake vegan "
        "vegetarian chocolate cuisine meal wine beer dessert ice-cream sushi",
        "料理 食べ ご飯 レストラン コーヒー お茶 寿司 ラーメン ケーキ 朝食 夕食 吃 喝 餐厅 咖啡 茶 做饭 早餐 晚饭 "
        "火锅 美食 蛋糕",
    ),
    "music": (
        "music song sing singer band concert guitar piano violin drum album playlist musician choir",
        "音楽 歌 曲 ライブ ギター ピアノ バイオリン コンサート 音乐 唱歌 歌手 吉他 钢琴 演唱会 乐队",
    ),
    "sport": (
        "sport gym run running marathon soccer football basketball baseball tennis swim swimming workout team "
        "coach race surf surfing ski skiing climb climbing bike cycling fitness",
        "スポーツ サッカー 野球 テニス 水泳 マラソン ジム 試合 バスケ 登山 运动 足球 篮球 网球 游泳 跑步 健身 比赛 "
        "马拉松 爬山",
    ),
    "pets": (
        "pet dog puppy pup cat kitten rabbit hamster vet leash adopt adopted",
        "犬 猫 ペット 子犬 子猫 うさぎ 狗 小狗 小猫 宠物 寵物 兔子 仓鼠",
    ),
    "home": (
        "home house apartment flat room kitchen garden rent moved move moving neighbor neighbour roommate furniture",
        "家 引っ越 部屋 マンション アパート 庭 搬家 房子 公寓 房间 租 邻居 花园 搬到",
    ),
    "money": (
        "money pay paid price buy bought loan debt save saving budget invest bank expensive cheap mortgage tax",
        "お金 給料 貯金 買っ 値段 借金 投資 钱 工资 存钱 贷款 投资 预算 买了 便宜",
    ),
    "hobby": (
        "hobby hobbies reading book books game games gaming gardening fishing knitting chess puzzle collect "
        "collecting photography craft",
        "趣味 読書 本 ゲーム 釣り 写真 园艺 爱好 愛好 读书 看书 游戏 钓鱼 摄影 下棋",
    ),
    "art": (
        "art paint painting draw drawing sculpture pottery museum gallery artist dance dancing theater theatre "
        "poem poetry write writing novel",
        "絵 美術 芸術 陶芸 ダンス 演劇 小説 画画 绘画 艺术 藝術 舞蹈 小说 写作 书法",
    ),
    "film": (
        "movie film series show cinema actor anime documentary",
        "映画 ドラマ アニメ 番組 电影 電影 电视剧 动漫 纪录片",
    ),
    "tech": (
        "computer laptop phone app software code coding programming internet website ai robot python data server",
        "パソコン スマホ アプリ ソフト プログラ サーバ 电脑 手机 软件 编程 网站 程序 服务器",
    ),
    "nature": (
        "nature tree forest mountain lake river ocean sunset sunrise weather plant flower bird animal park",
        "自然 山 海 森 川 花 天気 動物 公園 大自然 森林 动物 公园 天气 植物",
    ),
    "faith": (
        "church god pray prayer faith religion religious temple bible",
        "宗教 教会 神社 お寺 祈 教堂 信仰 寺庙 佛教",
    ),
    "celebration": (
        "birthday party christmas thanksgiving easter halloween celebrate celebrated celebration festival gift present",
        "誕生日 パーティー クリスマス 祭り お祝い 正月 生日 聚会 圣诞 春节 礼物 庆祝 中秋",
    ),
    "community": (
        "volunteer volunteering charity community fundraiser donate donation shelter campaign activism pride vote "
        "politics",
        "ボランティア 寄付 地域 選挙 志愿 慈善 捐款 社区 义工",
    ),
}

WORD_TOPICS: Final[dict[str, str]] = {word: tag for tag, (words, _) in TOPICS.items() for word in words.split()}
CJK_TOPICS: Final[tuple[tuple[str, str], ...]] = tuple(
    (term, tag) for tag, (_, terms) in TOPICS.items() for term in terms.split()
)


def topics(folded: Folded, language: str, *, limit: int = 3) -> tuple[str, ...]:
    """The topic tags of a text in order of first mention."""
    if language in ("ja", "zh"):
        text = folded.text
        found = sorted((text.find(term), tag) for term, tag in CJK_TOPICS if term in text)
        return tuple(dict.fromkeys(tag for _, tag in found))[:limit]
    tags: dict[str, None] = {}
    for word in folded.words:
        tag = WORD_TOPICS.get(word) or (WORD_TOPICS.get(word[:-1]) if word.endswith("s") else None)
        if tag is not None:
            tags[tag] = None
    return tuple(tags)[:limit]
