"""What decides whether a turn may be a source, as data: an assistant's own acts, commands to it, machine text."""

from __future__ import annotations

import re
from typing import Final

from memstrata.extract.cue_tables import listed
from memstrata.text.patterns import regex
from memstrata.text.stopwords import word_list

# The assistant reports its own act. The verb must stand right after "I('ve)", so "I could have booked" is none.
_ACTS_EN = (
    "added|arranged|booked|cancelled|canceled|changed|completed|configured|confirmed|converted|created|deleted|deployed|"
    "drafted|emailed|enabled|disabled|filed|fixed|forwarded|generated|installed|merged|moved|ordered|paid|placed|posted|"
    "published|purchased|recorded|refunded|registered|removed|renamed|renewed|replaced|rescheduled|reserved|restarted|"
    "saved|scheduled|sent|set|shared|signed|submitted|transferred|translated|turned|updated|uploaded|wrote|written"
)
# After "I have" any participle is an act but these: what it thinks, perceives, says or is, and plain adjectives.
_NO_ACTS_EN = (
    "agreed|answered|appreciated|asked|assumed|believed|concluded|considered|decided|described|detailed|discussed|enjoyed|"
    "experienced|explained|gathered|guessed|hated|hoped|inferred|learned|liked|limited|listed|lived|loved|mentioned|"
    "mixed|needed|noted|noticed|observed|outlined|preferred|realised|realized|recommended|remembered|stated|suggested|"
    "suspected|trained|wanted|watched|wondered|worked"
)
_IRREGULAR_ACTS_EN = (
    "begun|bought|brought|built|chosen|cut|done|drawn|given|hidden|held|kept|made|paid|put|rebuilt|reset|rewritten|run|"
    "sent|set|shut|sold|split|spent|taken|undone|withdrawn|written"
)
# "I've updated my notes that you live in Porto" tells of the user.
_NOT_OF_THE_USER = r"(?![^.!?]{0,200}\b(?:that|how) you\b)"  # bounded: a search stays linear
OWN_ACT: Final[dict[str, re.Pattern[str]]] = {
    "en": regex(
        rf"\bi(?:'ve| have)?(?: (?:just|already|now|also|successfully|gone ahead and))* "
        rf"(?:{_ACTS_EN})\b{_NOT_OF_THE_USER}"
        r"|\b(?:(?:i|we)(?:'ve| have)|(?:i|we) just)(?: (?:just|already|now|also|successfully|gone ahead and))* "
        rf"(?:(?!(?:{_NO_ACTS_EN})\b)[a-z]+[a-df-z]ed|{_IRREGULAR_ACTS_EN})\b{_NOT_OF_THE_USER}"
        rf"|\byour [\w -]{{1,40}}? (?:has been|have been|is now|are now) (?:{_ACTS_EN})\b"
    ),
    "ja": regex(
        r"(?:予約|送信|登録|設定|作成|変更|追加|削除|更新|保存|注文|購入|手配|完了|キャンセル|投稿|インストール"
        r"|転送|申請|記録|お送り)(?:を)?"
        r"(?:いた|完了いた|完了)?(?:しました|しておきました|してあります|済みです)"
        # Any object with a polite past at the end; not of the listener, nor what it thought, heard or saw.
        r"|^(?!.*(?:あなた|ユーザー|(?:さん|様|君|彼女?)[はがもの]|(?:思い|感じ|聞き|伺い|知り|考え|理解し|学び|見|拝見し)ました))"
        r".*(?:を[^、。]{1,16}(?:ました|てあります)|(?:ておき|いたし)ました)[。！!]*$"
    ),
    "zh": regex(
        r"我(?:已经|已經|已|刚刚|刚|剛)?(?:为您|為您|帮你|帮您|幫你|幫您|给您|给你|把[^，。]{1,20})?"
        r"(?:已经|已經|已)?(?:预订|預訂|预约|預約|发送|發送|创建|創建|设置|設置|安排|更新|添加|删除|刪除|取消|提交"
        r"|保存|购买|購買|下单|注册|註冊|修改|转发)"
        r"(?:好)?了|(?:我已|已经|已經|已)(?:为您|為您|帮您|帮你|幫您|幫你)?"
        r"(?:预订|預訂|预约|預約|发送|發送|创建|創建|设置|設置|安排|更新|添加|删除|刪除|取消|提交|保存|购买|購買"
        r"|注册|註冊|修改|转发)"
        # Any act after 我已经, but not what it thought, heard or said; and whatever was done for the listener.
        r"|(?:^|[，。,！!])我(?:们|們)?(?:已经|已經|已|刚刚|刚|剛)"
        r"(?!刚|经|經|听|聽|知道|觉得|覺得|认为|認為|以为|以為|理解|明白|注意|看到|记住|記住|了解|想|学|學|说|說|提到)"
        r"|(?:已经|已經|已)(?:为|為|帮|幫|给|給|替)[你您]|我(?:为|為|帮|幫|给|給|替)[你您][^，。]{1,20}了"
    ),
}

# What a sentence may say of a redacted secret without holding anything else: that it is a key, a password; to use it.
SECRET_NOUNS_EN: Final = frozenset(
    word_list(
        """
        api key keys secret secrets password passwords passphrase passcode pin code token tokens access auth bearer
        credential credentials card credit debit number login private client openai github aws account
        please use using try
        """
    )
)
SECRET_CJK: Final = regex(
    r"api|キー|鍵|シークレット|パスワード|暗証番号|トークン|認証|アクセス|クレジット|カード|番号|私|僕|俺|あたし|これ|は|が|の|を|です|だ"
    r"|密钥|密鑰|密码|密碼|口令|令牌|信用卡|银行卡|銀行卡|卡号|卡號|我|这|這|的|是|了|token|key|password",
    re.IGNORECASE,
)

# A sentence without any of these (in lower case) is neither an override nor a command: a cheap first look.
SUSPICIOUS: Final = listed(
    """
    ignore, disregard, forget, override, bypass, system, assistant, developer, instruction, [inst, im_start, im_end,
    you are now, the user, reveal, from now on, remember that you, you must, you shall, act as, act like, behave,
    pretend, respond, answer, reply, memory,
    指示, 命令, プロンプト, ルール, システム, 今後, あなたは, 振る舞, ふるま,
    指令, 提示, 规则, 規則, 要求, 系统, 系統, 从现在, 從現在, 记住, 記住, 你现在是, 你必须
    """
)

# Text that tries to take over whoever reads it: it and all that follows in its turn is no source.
OVERRIDE: Final = regex(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,20}"
    r"\b(?:all|any|previous|prior|above|earlier|preceding|your|system)\b"
    r"[^.!?\n]{0,30}?\b(?:instructions?|prompts?|rules|guidelines|directives?|messages?|safety)\b"
    r"|\b(?:ignore|disregard|forget) (?:everything|all|anything)"
    r"(?: that was)?(?: \w+)? (?:above|before|previously|earlier)\b"
    r"|\b(?:ignore|disregard|forget) the (?:above|previous|earlier|preceding|rest)\b"
    r"|(?:^|\n)\s*[\[<(]\s*(?:system|admin|developer)\s*[\]>)]"
    r"|\bas (?:the|a) (?:memory|assistant|ai|system)\b[^.!?\n]{0,30}\byou (?:must|shall|will|have to|should)\b"
    r"|(?:^|\n)\s*[\[<#*]*\s*(?:system|assistant|developer)(?: (?:prompt|message|note|override))?\s*[\]>*]*\s*:"
    r"|</?(?:system|im_start|im_end|instructions?)\b|<\|im_(?:start|end)\|>|\[/?INST\]"
    r"|\bnew (?:system )?(?:instructions?|prompt|rules)(?: for [\w ]{1,30})?\s*:"
    r"|\byou are now (?:an? |in |the )?(?:\w+ )?(?:assistant|ai|bot|mode|model|agent|dan|jailbroken)\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention (?:this|it) to) the user\b|\breveal your (?:system )?prompt\b"
    r"|(?:これまで|今まで|以前|上記|前)の(?:すべての|全ての)?(?:指示|命令|プロンプト|ルール)[をは](?:すべて"
    r"|全て|全部)?(?:無視|忘れ|破棄)|システム(?:プロンプト|メッセージ|指示)を(?:変更|更新|上書き)"
    r"|(?:システム|system)(?:プロンプト|メッセージ|指示)?\s*[：:]|新しい指示\s*[：:]"
    r"|(?:忽略|无视|無視|忘记|忘記|不要理会|跳过)[^。！？\n]{0,12}(?:指令|指示|提示|规则|規則|命令|要求)"
    r"|(?:系统|系統)(?:提示|消息|指令)?\s*[：:]|新(?:的)?指令\s*[：:]",
    re.IGNORECASE,
)
# A command about what the assistant is or must do: the sentence is no source, its neighbours are.
COMMAND: Final = regex(
    r"\bfrom now on,? (?:you|always|never|only|respond|answer|reply|act|pretend|ignore)\b"
    r"|\bremember that you(?:'re| are| must| have to)\b"
    r"|\byou (?:must|shall) (?:always|never|only|now|obey|comply|answer|respond|reply|act)\b"
    r"|^(?:please )?(?:act|behave|respond|answer|reply) (?:as|like) (?:if you|an?|my)\b"
    r"|^pretend (?:to be|that you|you)\b"
    r"|\b(?:store|save|write|add) (?:this|the following|that)\b[^.!?]{0,40}\b(?:in|to|into) (?:your "
    r"|the )?(?:long[- ]term )?memory\b"
    r"|今後は?、?(?:あなた|必ず|常に|絶対)[^。]*(?:[てで](?:ください|下さい|くれ)|なければ|すること|しろ|せよ)"
    r"|あなたは(?:今から|これから)|として(?:振る舞|ふるま)"
    r"|从现在(?:开始|起)，?(?:你|请|必须)|從現在(?:開始|起)，?(?:你|請|必須)|(?:请)?记住，?你(?:是|必须|要)"
    r"|請?記住，?你(?:是|必須|要)|你现在是一个|你必须(?:始终|永远|总是|只)",
    re.IGNORECASE,
)

HEARTBEAT: Final = regex(
    r"^\W*(?:heartbeat(?:[_ :-]*(?:ok|check|ack|poll|normal|alive|received))?|ping|pong|keep[- ]?alive"
    r"|health ?check(?:[ :]*ok)?|still alive|no[_ ]reply|ack"
    r"|(?:ハートビート|死活監視)\W*(?:ok|正常|受信|異常なし|チェック)?(?:です|しました)?"
    r"|心跳(?:检测|檢測|检查|檢查|包|信号|信號)?\W*(?:ok|正常|成功|已收到)?)\W*$"
    r"|\bHEARTBEAT_OK\b|\bHEARTBEAT\.md\b",
    re.IGNORECASE,
)
# What may follow "session started": nothing, a time or a place, but no tale.
_TAIL = r"(?:(?: ?[:,(–—-]| (?:at|on|for|id|to|from|in|successfully|and)\b)[^.!?\n]{0,80})?\W*$"
BOILERPLATE: Final = regex(
    r"^\W*(?:boot(?:ing|ed|strap(?:ped|ping)?)?(?: up)?(?: sequence)?(?: (?:complete[d]?|ok|done|finished))?"
    r"|system (?:initiali[sz]ed|ready|online|boot\w*)(?:[.!] loading [\w ,]{1,40})?"
    r"|loading (?:tools|plugins|skills|modules|context|memory|config\w*)"
    r"|(?:new )?session(?: (?:started|resumed|ended|initiali[sz]ed|created))|new session"
    r"|agent (?:started|ready|initiali[sz]ed|online)|context loaded"
    r"|conversation (?:started|reset)|memory (?:loaded|initiali[sz]ed)"
    rf"|(?:gateway|service|server) (?:started|restarted|connected)){_TAIL}"
    r"|^\W*(?:(?:システム|セッション|会話|エージェント|サーバー|ゲートウェイ)[がをは]?)?"
    r"(?:起動|再起動|開始|再開|終了|初期化|リセット|接続)(?:が?完了)?(?:いた|され|し)?(?:ました|完了|済み)?\W*$"
    r"|^\W*(?:系统|系統|会话|會話|对话|對話|代理|服务器?|服務器?|网关|網關)?(?:已经|已經|已)?"
    r"(?:启动|啟動|开始|開始|恢复|恢復|结束|結束|初始化|重置|重启|重啟|就绪|就緒|连接|連接)"
    r"(?:完成|完毕|完畢|成功|了)?\W*$"
    r"|^\W*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\n]*\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE)\b"
    r"|^\W*(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE)\b\s*[:|\]]"
    r"|^\W*(?:relevant |recalled |retrieved |user |long[- ]term )*memor(?:y|ies)(?: context)?\s*:\W*$",
    re.IGNORECASE,
)
