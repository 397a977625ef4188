import pytest

from memstrata.extract.cues import cues_of
from memstrata.extract.slots import slot_of
from memstrata.types import Slot

STATED = [
    ("en", "My name is Ana Silva.", "name", "ana silva"),
    ("en", "I'm 32 years old.", "age", "32"),
    ("en", "My birthday is on May 3rd.", "birthday", "may 3rd"),
    ("en", "I live in Porto now.", "lives_in", "porto"),
    ("en", "I’ve just moved to New York City.", "lives_in", "new york city"),
    ("en", "My home town is Braga.", "home_town", "braga"),
    ("en", "I work for the United Nations.", "works_at", "united nations"),
    ("en", "I'm a senior software engineer at Acme.", "job_title", "senior software engineer"),
    ("en", "My favourite player is Messi.", "favourite_player", "messi"),
    ("en", "My favorite color is dark blue now.", "favourite_colour", "dark blue"),
    ("en", "I got divorced last year.", "marital_status", "divorced"),
    ("en", "My phone number is +351 912 345 678.", "phone", "+351 912 345 678"),
    ("en", "My email is ana@example.com.", "email", "ana@example.com"),
    ("en", "My dog's name is Rex.", "dog_name", "rex"),
    ("en", "I go to Lincoln High School.", "school", "lincoln high school"),
    ("en", "I'm Portuguese.", "nationality", "portuguese"),
    ("en", "My native language is Portuguese.", "native_language", "portuguese"),
    ("en", "I'm vegan.", "diet", "vegan"),
    ("en", "My time zone is UTC+9.", "timezone", "utc+9"),
    ("en", "I love coffee.", "feels_about:coffee", "positive"),
    ("en", "I don't like coffee any more.", "feels_about:coffee", "negative"),
    ("en", "I hate coffee!", "feels_about:coffee", "negative"),
    ("ja", "私の名前は田中健です。", "name", "田中健"),
    ("ja", "私は東京に住んでいます。", "lives_in", "東京"),
    ("ja", "大阪に引っ越しました。", "lives_in", "大阪"),
    ("ja", "トヨタで働いています。", "works_at", "トヨタ"),
    ("ja", "私は看護師です。", "job_title", "看護師"),
    ("ja", "私の一番好きな色は青です。", "favourite_色", "青"),
    ("ja", "結婚しています。", "marital_status", "married"),
    ("ja", "犬の名前はポチです。", "犬_name", "ポチ"),
    ("ja", "コーヒーが好きです。", "feels_about:コーヒー", "positive"),
    ("ja", "もうコーヒーは好きではありません。", "feels_about:コーヒー", "negative"),
    ("ja", "コーヒーが嫌いです。", "feels_about:コーヒー", "negative"),
    ("zh", "我叫李娜。", "name", "李娜"),
    ("zh", "我住在北京。", "lives_in", "北京"),
    ("zh", "我搬到上海了。", "lives_in", "上海"),
    ("zh", "我在华为工作。", "works_at", "华为"),
    ("zh", "我今年32岁。", "age", "32"),
    ("zh", "我是一名医生。", "job_title", "医生"),
    ("zh", "我最喜欢的球员是梅西。", "favourite_球员", "梅西"),
    ("zh", "我是中国人。", "nationality", "中国人"),
    ("zh", "我喜欢咖啡。", "feels_about:咖啡", "positive"),
    ("zh", "我不喜欢咖啡了。", "feels_about:咖啡", "negative"),
    ("zh", "我討厭咖啡。", "feels_about:咖啡", "negative"),
]


@pytest.mark.parametrize("language, text, attribute, value", STATED)
def test_what_is_stated_of_oneself(language: str, text: str, attribute: str, value: str) -> None:
    assert slot_of(text, "Kim", language) == Slot("kim", attribute, value)
    assert slot_of(text, None, language) == Slot("user", attribute, value)


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "Do I live in Porto?"),
        ("en", "If I lived in Paris I would be happy."),
        ("en", "He said I live in Porto."),
        ("en", "Maybe I live in Porto."),
        ("en", "I don't live in Porto."),
        ("en", "I want to live in Porto."),
        ("en", "I used to work at Acme."),
        ("en", "I work at night."),
        ("en", "I visited Acme."),
        ("en", "I'm 32 weeks pregnant."),
        ("en", "I'm engaged in politics."),
        ("en", "One of my favourite books is Dune."),
        ("en", "I love it when you sing."),
        ("en", "I'd love coffee."),
        ("en", "I used to love coffee."),
        ("en", "I love stories that make me think."),
        ("en", "I love tea, coffee, and juice."),
        ("en", "Sounds like a plan!"),
        ("en", "She works at Acme."),
        ("en", "I was born in May."),
        ("en", "My job is boring."),
        ("en", "My job is killing me."),
        ("ja", "仕事は忙しいです。"),
        ("ja", "私の仕事は大変です。"),
        ("ja", "名前は「こむぎ」です。"),
        ("ja", "私は五階に住んでいます。"),
        ("ja", "友達の家で働いています。"),
        ("zh", "我住在五楼。"),
        ("zh", "我是一个人。"),
        ("zh", "我是普通人。"),
        ("zh", "我爱人是医生。"),
        ("zh", "汤姆说我住在巴黎。"),
        ("ja", "東京に住みたいです。"),
        ("ja", "東京に住んでいました。"),
        ("ja", "コーヒーが好きですか。"),
        ("ja", "家で働いています。"),
        ("ja", "息子は5歳です。"),
        ("zh", "我想住在上海。"),
        ("zh", "我在家工作。"),
        ("zh", "我喜欢咖啡吗？"),
        ("zh", "听说李娜在腾讯工作。"),
        ("zh", "如果我住在北京就好了。"),
    ],
)
def test_what_states_nothing_for_good(language: str, text: str) -> None:
    assert slot_of(text, "Kim", language) is None


def test_works_at_and_audits_share_nothing() -> None:
    assert slot_of("Ana works at Acme.", "Ben", "en") == Slot("ana", "works_at", "acme")
    assert slot_of("Ana audits Acme.", "Ben", "en") is None
    assert slot_of("田中さんはソニーで働いています。", "Ben", "ja") == Slot("田中", "works_at", "ソニー")
    assert slot_of("李娜在腾讯工作。", "Ben", "zh") == Slot("李娜", "works_at", "腾讯")


def test_kin_are_subjects_of_their_own() -> None:
    assert slot_of("My wife works at Acme.", "Ben", "en") == Slot("ben's wife", "works_at", "acme")


@pytest.mark.parametrize(
    "language, first, second",
    [
        ("en", "I love hiking.", "I hate hiking."),
        ("ja", "納豆が好きです。", "納豆が嫌いになりました。"),
        ("zh", "我喜欢跑步。", "我不喜欢跑步了。"),
    ],
)
def test_opposite_feelings_meet_in_one_slot(language: str, first: str, second: str) -> None:
    old, new = slot_of(first, None, language), slot_of(second, None, language)
    assert old is not None
    assert new is not None
    assert (old.subject, old.attribute) == (new.subject, new.attribute)
    assert old.value != new.value


@pytest.mark.parametrize(
    "language, text, value",
    [
        ("en", "Now it's Ronaldo.", "ronaldo"),
        ("en", "Not any more, it's Ronaldo.", "ronaldo"),
        ("en", "It's Ronaldo now.", "ronaldo"),
        ("ja", "今は大谷です。", "大谷"),
        ("zh", "现在是姆巴佩。", "姆巴佩"),
    ],
)
def test_a_correction_takes_the_previous_slot(language: str, text: str, value: str) -> None:
    previous = Slot("kim", "favourite_player", "messi")
    assert slot_of(text, "Kim", language, previous=previous) == Slot("kim", "favourite_player", value)
    assert slot_of(text, "Lee", language, previous=previous) is None
    assert slot_of(text, "Kim", language) is None


@pytest.mark.parametrize("text", ["Now it's raining.", "Now it's time to go.", "It's late now."])
def test_no_correction(text: str) -> None:
    assert slot_of(text, "Kim", "en", previous=Slot("kim", "favourite_player", "messi")) is None


@pytest.mark.parametrize(
    "language, text, attribute, value",
    [
        ("en", "I no longer work at Acme.", "works_at", "acme"),
        ("en", "I quit my job at Acme.", "works_at", "acme"),
        ("en", "I am not vegetarian any more.", "diet", "vegetarian"),
        ("en", "I don't live in Porto any more.", "lives_in", "porto"),
        ("ja", "もう東京に住んでいません。", "lives_in", "東京"),
        ("ja", "トヨタを退職しました。", "works_at", "トヨタ"),
        ("zh", "我不住在上海了。", "lives_in", "上海"),
        ("zh", "我从华为辞职了。", "works_at", "华为"),
    ],
)
def test_what_no_longer_holds_is_the_same_slot_denied(language: str, text: str, attribute: str, value: str) -> None:
    assert slot_of(text, None, language) == Slot("user", attribute, value)
    assert cues_of(text, language).negated


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "I want to move to Kobe."),
        ("en", "I moved to the next room."),
        ("en", "I moved on."),
        ("en", "I don't work at night any more."),
        ("ja", "東京に住んでいません。"),
        ("zh", "我不住在上海。"),
    ],
)
def test_what_was_never_stated_does_not_end(language: str, text: str) -> None:
    assert slot_of(text, None, language) is None


@pytest.mark.parametrize(
    "language, text, attribute, value",
    [
        ("en", "My name isn't Ana, it's Anna.", "name", "anna"),
        ("en", "My name is not Ana but Anna.", "name", "anna"),
        ("en", "I work at Globex, not Acme.", "works_at", "globex"),
        ("en", "I'm a nurse, not a doctor.", "job_title", "nurse"),
        ("en", "I quit my job at Acme to join Globex.", "works_at", "globex"),
        ("en", "I switched jobs from Acme to Globex.", "works_at", "globex"),
        ("en", "I started working for Globex.", "works_at", "globex"),
        ("ja", "私は医者ではなく看護師です。", "job_title", "看護師"),
        ("ja", "アクメを退職して、グローベックスに転職しました。", "works_at", "グローベックス"),
        ("zh", "我的名字不是王芳，是王方。", "name", "王方"),
        ("zh", "我不叫王芳，叫王方。", "name", "王方"),
        ("zh", "我离开腾讯，加入了阿里巴巴。", "works_at", "阿里巴巴"),
        ("zh", "我从腾讯跳槽到了阿里巴巴。", "works_at", "阿里巴巴"),
    ],
)
def test_what_is_set_right_or_left_for_another_is_not_denied(
    language: str, text: str, attribute: str, value: str
) -> None:
    assert slot_of(text, None, language) == Slot("user", attribute, value)
    assert not cues_of(text, language).negated


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "I quit Facebook and joined Mastodon."),
        ("en", "I left Berlin and joined a choir."),
        ("en", "It's Anna, not Eva."),
        ("zh", "我离开北京，去了上海。"),
        ("zh", "我加入了读书会。"),
    ],
)
def test_what_looks_like_a_change_of_employer_or_name(language: str, text: str) -> None:
    assert slot_of(text, None, language, previous=Slot("user", "name", "ana")) is None


@pytest.mark.parametrize("text", ["I'm not a doctor.", "I like it, not really.", "It is fine, not that I care."])
def test_what_is_only_denied_stays_denied(text: str) -> None:
    assert cues_of(text, "en").negated
