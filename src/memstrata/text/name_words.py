"""What is known of names before reading: titles, common names, and capitalised or katakana words that name nothing."""

from __future__ import annotations

from memstrata.text.stopwords import word_list

NOT_NAMES = frozenset(
    word_list(
        """
        monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
        january february march april may june july august september october november december jan feb mar apr jun
        jul aug sep sept oct nov dec spring summer autumn fall winter ok tv pc cd dvd lol omg pm am diy faq btw fyi
        asap imo tbh idk wtf lmao rip bbq rsvp ps etc aka today tomorrow yesterday tonight morning afternoon
        evening night week weekend month year thanks thank wow yay yes yeah congrats congratulations sorry welcome
        good great nice awesome amazing cool sure absolutely definitely totally exactly glad happy sounds looks
        speaking maybe perhaps sometimes usually recently lately finally actually honestly luckily unfortunately
        anyway however besides meanwhile first second third last next later soon let lets remember guess wish hope
        love like enjoy take look see tell ask call meet met saw got get went go going come came had made make did
        want need know think thought heard hear read try tried keep god gosh goodness man dude bro guys mom mum dad
        mommy daddy grandma grandpa aunt uncle grandmother grandfather sir madam mr mrs ms dr prof dear hiya howdy
        cheers bye goodbye ha haha aw aww ugh oops phew yup nope nah
        """
    )
)
"""Case-folded words that a capital does not make names: days, months, exclamations, openers of sentences, family."""

GIVEN_NAMES = frozenset(
    word_list(
        """
        aaron adam adrian aisha alan albert alex alexander alexandra alice alicia alison amanda amelia amy ana
        andrea andrew angela anita ann anna anne anthony antonio ashley audrey barbara ben benjamin bernard beth
        betty bob brandon brenda brian bruce bryan carl carla carlos carol caroline catherine charles charlotte
        chloe chris christina christine christopher cindy claire clara colin craig cynthia daniel daniela david
        deborah denise dennis derek diana diane diego donald donna dorothy douglas dylan edward eleanor elena
        elizabeth ella ellen emily emma eric erica erik ethan eva evan evelyn fatima felix fiona frances francis
        frank fred gabriel gary george gerald gina gloria gordon greg gregory hannah harold harry heather helen
        henry howard hugo ian irene isaac isabel isabella ivan jacob jake james jamie jane janet jasmine jason
        javier jeff jeffrey jennifer jenny jeremy jesse jessica jill jim jimmy joan joanna joe joel john jonathan
        jordan jorge jose joseph joshua juan judith judy julia julian julie justin karen kate katherine kathleen
        katie keith kelly ken kenneth kevin kim kimberly kyle larry laura lauren lawrence leah leo leon leonard
        linda lisa liz logan louis louise lucas lucy luis luke lydia maggie marcus margaret maria marie mario marta
        martha martin mary matthew maya megan melanie melissa mia michael michelle miguel mike mohammed monica
        nancy naomi natalie nathan neil nicholas nick nicole nina noah nora oliver olivia omar oscar pablo pamela
        patricia patrick paul paula pedro peter philip phoebe rachel ralph ramon raymond rebecca richard rita
        robert roger roland ronald rosa russell ruth ryan sabrina samantha samuel sandra sara sarah scott sean
        sergio sharon sheila simon sofia sophia sophie stephanie stephen steve steven stuart susan sylvia tara
        teresa thomas tim timothy tina todd tom tommy tony tracy tyler valerie vanessa veronica victor victoria
        vincent virginia walter wanda wayne wendy william xavier yolanda yusuf yvonne zachary zoe
        """
    )
)
"""English and neighbouring given names that are no common words: they are names at the start of a sentence too."""

PERSON_VERBS = frozenset(
    word_list(
        """
        said says told tells asked asks thinks thought wants wanted likes liked loves loved hates hated lives lived
        works worked moved went came called invited married graduated studies studied plays played teaches taught
        bought visited met helped gave sent wrote drives drove cooks cooked knows knew
        """
    )
)
"""What people do: the word before is a name even at the start of a sentence."""

ENGLISH_TITLES = word_list("mr mrs ms miss dr prof sir madam mister doctor professor uncle aunt")

JAPANESE_HONORIFICS = word_list("さん くん 君 ちゃん 様 さま 先生 氏 先輩 部長 課長 社長 教授")
CHINESE_HONORIFICS = word_list("先生 女士 小姐 老师 同学 医生 教授 经理 阿姨 叔叔 老師 醫生 經理")

NOT_BEFORE_HONORIFIC = frozenset(
    word_list(
        """
        皆 母 父 兄 姉 弟 妹 奥 客 娘 息子 孫 嫁 婿 赤 看護師 医者 店員 本屋 花屋 魚屋 八百屋 大家 お医者 隣 坊 嬢
        神 担任 担当 学校 大学 高校 英語 数学 保育園 幼稚園 諸 何 王 殿 仏 家主 運転手 駅員 警察官 大工 みな おかあ
        おとう おねえ おにい おばあ おじい おば おじ おばさ おじさ あか おきゃく たく どう
        """
    )
)
"""What an honorific follows without making a name: kin, jobs, shops, "everyone"."""

JAPANESE_NAMES = word_list(
    """
    佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 斎藤 清水 山崎 池田 橋本
    阿部 石川 山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本 斉藤 福田 太田 西村 藤井 岡本
    金子 藤原 三浦 中野 中川 原田 松田 竹内 小野 田村 中山 和田 森田 石田 上田 内田 柴田 酒井 宮崎 横山 高木 安藤
    宮本 大野 小島 谷口 今井 工藤 増田 丸山 杉山 村田 大塚 新井 藤本 野口 桜井 松井 菊地 佐野 武田 上野
    """
)
"""Common family names that are no common words."""

PLACES = word_list(
    """
    東京 大阪 京都 名古屋 横浜 神戸 札幌 福岡 仙台 広島 沖縄 北海道 奈良 鎌倉 箱根 日光 金沢 長野 新潟 静岡 千葉
    埼玉 渋谷 新宿 池袋 銀座 秋葉原 浅草 富士山 熊本 長崎 鹿児島 日本 韓国 中国 台湾 香港 米国 英国 北京 上海 广州
    深圳 成都 杭州 南京 武汉 西安 重庆 天津 苏州 长沙 郑州 青岛 大连 厦门 昆明 三亚 哈尔滨 沈阳 济南 宁波 桂林 丽江
    西藏 新疆 云南 四川 广东 浙江 江苏 山东 海南 台北 澳门 美国 法国 德国 韩国 泰国 加拿大 澳大利亚 新加坡 巴黎
    伦敦 纽约 东京 首尔 曼谷 悉尼 柏林 罗马
    """
)

LOANWORDS = frozenset(
    word_list(
        """
        コーヒー テレビ パソコン スマホ スマートフォン カメラ バス タクシー ホテル レストラン カフェ コンビニ
        スーパー デパート アパート マンション ビル ドア テーブル ベッド ソファ シャワー トイレ キッチン エアコン
        ケーキ パン ビール ワイン ジュース ミルク アイス アイスクリーム チョコ チョコレート サラダ スープ パスタ
        ピザ ラーメン カレー ハンバーガー サンドイッチ チーズ バター トマト バナナ リンゴ オレンジ イチゴ メロン
        レモン サッカー テニス ゴルフ バスケ バスケットボール スキー スノーボード ヨガ ジム スポーツ マラソン
        ランニング ダンス ピアノ ギター バイオリン ドラム ゲーム アニメ マンガ ドラマ ニュース メール メッセージ
        インターネット ネット サイト アプリ ブログ データ ファイル プログラム プロジェクト チーム クラス テスト
        レポート ノート ペン ボール ペット イヌ ネコ パーティー プレゼント イベント コンサート ライブ チケット
        アルバイト バイト サラリーマン エンジニア デザイナー プログラマー リーダー メンバー マネージャー ストレス
        ダイエット アレルギー ウイルス ワクチン マスク シャツ ズボン スカート セーター コート バッグ カバン メガネ
        ガラス プラスチック ストーリー タイトル テーマ アイデア イメージ スタイル タイプ サイズ レベル ポイント
        サービス システム ルール チャンス ショック スタート ゴール キャンプ ハイキング ドライブ デート ランチ
        ディナー メニュー レシピ オンライン オフィス
        """
    )
)
"""Everyday katakana words that name nothing."""

CHINESE_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜"
    "范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文張劉陳楊趙黃吳孫馬羅鄭謝韓馮鄧許蕭呂蘇盧"
    "蔣賈葉閻鍾譚鄒陸顧龍錢湯喬賀賴龔"
)

NOT_CHINESE_NAMES = frozenset(
    word_list(
        """
        高兴 高中 高级 高考 高铁 方便 方法 方面 方向 周末 周一 周二 周三 周四 周五 周六 周日 周天 周围 周年 马上
        马路 白天 白色 白酒 黄色 黄金 金钱 金色 金融 温度 常常 常见 万一 安全 江南 石头 文化 文章 文件 文学 毛病
        毛衣 田野 任务 任何 许多 何时 何必 夏天 程度 程序 于是 龙虾 雷雨 汤圆 史上 易懂 段时间 钟头 江边 林子 康复
        熊猫 余下 水平 孔雀 曾经 谢谢 高个子 高大 高手 胡说 胡同 胡子 钱包 何况 明天 陈旧 顾客 万岁 时候 张开 张口
        王子 王国 黄昏 白菜 黄瓜 任性 常说
        """
    )
)
"""Common words that begin with a family name's character."""
