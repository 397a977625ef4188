"""The frames of single-valued statements in Japanese, as data. They are narrow on purpose: what fits none has no slot."""
# One frame a line is how they are read and compared.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from typing import Final

from memstrata.extract.slot_frames import FEELING, NEGATIVE, POSITIVE, Frame, frame
from memstrata.text.patterns import regex

_OCCUPATIONS: Final = (
    "医師|医者|看護師|薬剤師|教師|先生|教員|大学生|高校生|学生|会社員|公務員|エンジニア|プログラマー|デザイナー|弁護士|会計士|税理士|"
    "料理人|シェフ|美容師|保育士|消防士|警察官|研究者|作家|画家|音楽家|写真家|編集者|翻訳者|通訳|営業|主婦|主夫|運転手|農家|歯科医|獣医"
)
_COUNTRIES: Final = "日本|中国|韓国|アメリカ|イギリス|フランス|ドイツ|ロシア|インド|カナダ|イタリア|スペイン|ブラジル|ベトナム|タイ|オーストラリア|台湾"
_ME = r"(?:私|わたし|僕|ぼく|俺|あたし|自分)"
_TOPIC = (
    rf"(?:^|[、。，])?(?:(?:{_ME}|(?P<who>[一-龠々ァ-ヶーA-Za-z]{{1,8}}(?:さん|くん|ちゃん|君)))(?:は|が|も|、))?、?"
)
_OF = rf"(?:{_ME}の|(?P<who>[一-龠々ァ-ヶーA-Za-z]{{1,8}}(?:さん|くん|ちゃん|君))の)?"
_WORD = r"(?P<value>[^、。，\sはがをにでのもと][^、。，\sはがをにで]{0,18}?)"
_TIME = r"(?:今は|現在は?|今、|最近、?|もう)?"
_COPULA = r"(?:です|だ|でした|である|になりました|になった|なんです)"

FRAMES: Final[tuple[Frame, ...]] = (
    frame("name", "名前", rf"(?:^|[、。]){_ME}の名前は{_WORD}(?:です|だ|といいます|と申します)"),
    frame("name", "と申します", rf"{_TOPIC}{_WORD}と申します"),
    frame("age", "歳", rf"^{_TOPIC}{_TIME}(?:今年で?)?(?P<value>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})歳{_COPULA}"),
    frame("birthday", "誕生日", rf"^{_OF}誕生日は(?P<value>[^、。]*?\d+[^、。]*?)(?:です|だ|$)"),
    frame("lives_in", "住んで", rf"^{_TOPIC}{_TIME}{_WORD}に住んで(?:います|いる|る|おります)"),
    frame("lives_in", "引っ越", rf"{_TOPIC}{_TIME}(?:(?:先週|先月|去年|今年|昨日|先日)[、に]?)?{_WORD}[にへ]引っ越(?:しました|した)"),
    frame("home_town", "出身", rf"^{_OF}出身地?は{_WORD}{_COPULA}"),
    frame("home_town", "出身", rf"^{_TOPIC}{_WORD}(?:の)?出身{_COPULA}"),
    frame("works_at", "働いて", rf"^{_TOPIC}{_TIME}{_WORD}で働いて(?:います|いる|る|おります)"),
    frame("works_at", "勤", rf"^{_TOPIC}{_TIME}{_WORD}[にで]勤(?:めて|務して)(?:います|いる|る|おります)"),
    frame("works_at", "入社|転職|就職", rf"{_TOPIC}{_TIME}(?:(?:先週|先月|去年|今年|昨日|先日)[、に]?)?(?:[^、。はが]{{1,20}}(?:を(?:辞め|退職し|退社し)て|から)、?)?{_WORD}[にへ](?:入社|転職|就職)(?:しました|した)"),
    frame("job_title", "は", rf"^{_OF}(?:職業|仕事)は(?P<value>{_OCCUPATIONS}|[^、。，\sはがをにで]{{1,12}}[員師士家者手長業職官医ー]){_COPULA}"),
    frame("job_title", "として", rf"^{_TOPIC}{_WORD}として働いて(?:います|いる|る|おります)"),
    frame("job_title", "", rf"^{_TOPIC}{_TIME}(?P<value>{_OCCUPATIONS}){_COPULA}"),
    frame("favourite", "好きな", rf"^(?:{_ME}[のは])?(?:(?P<who>[一-龠々ァ-ヶーA-Za-z]{{1,8}}(?:さん|くん|ちゃん|君))[のは])?、?(?:一番|いちばん)?(?:大)?好きな(?P<thing>[^、。はが\s]{{1,10}})は{_TIME}(?P<value>[^、。はが]{{1,20}}?)(?:です|だ|$)"),
    frame("marital_status", "結婚", rf"^{_TOPIC}(?:もう)?(?:[^、。はが]{{0,6}}に)?結婚(?:しています|している|しました|した)(?:[。、！!]|$)", "married"),
    frame("marital_status", "離婚", rf"^{_TOPIC}(?:[^、。はが]{{0,6}}に)?離婚(?:しています|しました|した)(?:[。、！!]|$)", "divorced"),
    frame("marital_status", "婚約", rf"^{_TOPIC}(?:[^、。はが]{{0,6}}に)?婚約(?:しています|しました|した)(?:[。、！!]|$)", "engaged"),
    frame("marital_status", "独身", rf"^{_TOPIC}{_TIME}(?:まだ)?独身{_COPULA}", "single"),
    frame("phone", "電話", rf"^{_OF}電話番号は(?P<value>\+?\d[\d -]{{5,}}\d)"),
    frame("email", "メール", rf"^{_OF}メール(?:アドレス)?は(?P<value>[\w.+-]+@[\w-]+\.[\w.-]*\w)"),
    frame("name", "名前", rf"^(?:{_ME}の|うちの)?(?P<thing>犬|猫|うさぎ|ハムスター|インコ)の名前は{_WORD}(?:です|だ|といいます)"),
    frame("school", "通って", rf"^{_TOPIC}{_TIME}(?P<value>[^、。はがをにで\s]{{1,14}}(?:大学院|大学|高校|中学校|小学校|専門学校))に通って(?:います|いる|る)"),
    frame("nationality", "人", rf"^{_TOPIC}(?P<value>(?:{_COUNTRIES})人){_COPULA}"),
    frame("native_language", "母", rf"^{_OF}母(?:国)?語は{_WORD}{_COPULA}"),
    frame("diet", "", rf"^{_TOPIC}{_TIME}(?P<value>ベジタリアン|ヴィーガン|ビーガン|菜食主義){_COPULA}"),
    frame("timezone", "タイムゾーン", rf"^{_OF}タイムゾーンは(?P<value>[^、。\s]+?)(?:です|だ|$)"),
)
# What no longer holds: the same slot and value, denied.
_NOT = r"(?:いません|いない|おりません|ません|ない)"
ENDINGS: Final[tuple[Frame, ...]] = (
    frame("lives_in", "住んで", rf"^{_TOPIC}もう、?{_WORD}に(?:は)?住んで{_NOT}"),
    frame("lives_in", "住んで", rf"^{_TOPIC}{_WORD}に(?:は)?もう住んで{_NOT}"),
    frame("works_at", "働いて", rf"^{_TOPIC}もう、?{_WORD}で(?:は)?働いて{_NOT}"),
    frame("works_at", "働いて", rf"^{_TOPIC}{_WORD}で(?:は)?もう働いて{_NOT}"),
    frame("works_at", "退職し", rf"^{_TOPIC}{_TIME}(?:(?:先週|先月|去年|今年|昨日|先日)[、に]?)?{_WORD}を退職し(?:ました|た)"),
    frame("diet", "もう", rf"^{_TOPIC}もう、?(?P<value>ベジタリアン|ヴィーガン|ビーガン|菜食主義)(?:では|じゃ)(?:ありません|ない)"),
)
_THING = r"(?P<thing>[^、。，！!\sはがをも]{1,16})"
_FEEL_ADV = r"(?:本当に|とても|すごく|一番|もう|今は|あまり|大)*"
_STOP = r"(?=です|だ(?!った|ろう)|。|、|！|!|で(?!し|は)|けど|が|な(?:んだ|んで)|$)"
FEELINGS: Final[tuple[Frame, ...]] = (
    frame(FEELING, "好き", rf"^{_TOPIC}{_TIME}{_THING}[がはも]{_FEEL_ADV}好き(?:では|じゃ)(?:ない|ありません|なくなった|なくなりました)(?!か)", NEGATIVE),
    frame(FEELING, "好き", rf"^{_TOPIC}{_TIME}{_THING}[がをも]{_FEEL_ADV}好きになりました", POSITIVE),
    frame(FEELING, "好き", rf"^{_TOPIC}{_TIME}{_THING}[がはも]{_FEEL_ADV}好き{_STOP}", POSITIVE),
    frame(FEELING, "嫌い", rf"^{_TOPIC}{_TIME}{_THING}[がはも]{_FEEL_ADV}嫌い(?:に(?:なった|なりました)|{_STOP})", NEGATIVE),
    frame(FEELING, "苦手", rf"^{_TOPIC}{_TIME}{_THING}[がはも]{_FEEL_ADV}苦手{_STOP}", NEGATIVE),
)

# Whom a sentence is about, by name: the speaker, or somebody else whom the next sentences may go on about.
TOPIC: Final = regex(
    rf"{_ME}(?:[はがも]|には)"
    r"|(?P<other>(?:妹|弟|兄|姉|母|父|妻|夫|息子|娘|祖母|祖父|叔母|叔父|姪|甥|いとこ|両親|家族|彼女?|友達|友人|親友|同僚|上司|先生"
    r"|隣人|[一-龠々ァ-ヶーA-Za-z]{1,8}(?:さん|くん|ちゃん|君)|猫|犬)(?:の[^、。はが]{1,8})?(?:[はがも]|には))"
)

# "今はBです", said after a statement whose slot is known.
CORRECTION: Final = regex(r"今は、?(?P<value>[^、。はがを\s]{1,16}?)(?:です|だよ?|になりました|になった)(?=[。、！!]|$)")
# "AじゃなくてBです", "BですAではありません", where A was just said.
SET_RIGHT: Final = regex(
    r"(?:^|[、。はが])(?P<old>[^、。はがを]{1,16}?)(?:では|じゃ)なくて?、?(?P<value>[^、。はがを]{1,16}?)(?:です|だよ?)(?=[。、！!]|$)"
    r"|(?:^|[、。はが])(?P<value2>[^、。はがを]{1,16}?)です、(?P<old2>[^、。はがを]{1,16}?)(?:では|じゃ)(?:ありません|ない)"
)
