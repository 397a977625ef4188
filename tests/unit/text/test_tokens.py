"""Units of text: terms, words, keys and numbers, in English, Japanese, Chinese and others."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.tokens import content_words, normalise, numbers, query_terms, statement_key, stem, terms, words

any_text = st.text(st.characters(), max_size=60)  # lone surrogates and control characters too
cjk = st.text(st.sampled_from("猫が好きですコーヒー東京北京上海去了我们大学図書館ラ・。 "), min_size=2, max_size=20)


@given(any_text)
def test_normalise_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_normalise_folds_width_case_and_space() -> None:
    assert normalise(" Ｈｅｌｌｏ　\n ＷＯＲＬＤ\u200b ｶﾞ Straße") == "hello world ガ strasse"


@given(any_text)
def test_no_text_breaks_any_function(text: str) -> None:
    for function in (terms, query_terms, words, content_words, statement_key, numbers):
        function(text)
    assert set(query_terms(text)) <= set(terms(text))
    assert set(content_words(text)) <= set(words(text))


@given(any_text)
def test_terms_do_not_depend_on_case_or_width(text: str) -> None:
    assert terms(text) == terms(normalise(text))


@given(cjk, st.integers(0, 18), st.integers(2, 6))
def test_any_part_of_two_characters_or_more_is_found(text: str, start: int, length: int) -> None:
    part = normalise(text[start : start + length])
    runs = part.replace("・", " ").replace("。", " ").split()
    for run in runs:
        if len(run) >= 2:
            assert set(terms(run)) <= set(terms(text))
            assert set(query_terms(run)) <= set(terms(text))


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("図書館", "昨日は図書館で本を借りました"),
        ("猫", "妹は猫が好きです"),
        ("咖啡", "她每天早上喝咖啡"),
        ("书", "我在看书。"),
        ("ข้าวผัด", "ฉันชอบกินข้าวผัดมาก"),
        ("커피", "저는 커피를 마셨어요"),
        ("책", "책을 읽었어요"),
        ("ﾗｰﾒﾝ", "昨日ラーメンを食べた"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
        ("Москва", "МОСКВА — столица"),
        ("cafe", "the Café on the corner"),
        ("child", "she has three children"),
        ("go", "we went there"),
        ("paintings", "I painted it"),
        ("15", "on the 15th of May"),
        ("1200", "it cost 1,200 dollars"),
        ("O’Brien", "I met O'Brien's sister"),
        ("C++", "I write C++, not C#"),
    ],
)
def test_term_is_found(term: str, text: str) -> None:
    assert set(terms(term)) <= set(terms(text))


def test_terms_keep_order_and_repeats() -> None:
    assert terms("Dogs like dogs. 犬が、3.5") == ["dog", "like", "dog", "犬が", "犬", "3.5"]


def test_languages_with_signs_stay_apart() -> None:
    assert terms("C++") != terms("C#") != terms("C")


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("When did Caroline go to the museum?", {"carolin", "go", "museum"}),
        ("What doesn't Bob like?", {"bob", "like"}),
        ("what is it", {"what", "is", "it"}),
    ],
)
def test_query_terms_leave_function_words_out(question: str, kept: set[str]) -> None:
    assert set(query_terms(question)) == kept


def test_query_terms_of_japanese_and_chinese_questions() -> None:
    japanese = query_terms("目的は何ですか")
    assert {"目的", "目"} <= set(japanese)
    assert not {"何", "です", "何で"} & set(japanese)
    chinese = query_terms("她什么时候去北京？")
    assert {"北京", "去北"} <= set(chinese)
    assert not {"什么", "时候", "她"} & set(chinese)
    assert query_terms("何ですか") == terms("何ですか")


def test_words_are_surface_units() -> None:
    assert words("She's seen Bob’s 2 dogs, isn't it? 東京へ") == [
        *("she", "seen", "bob", "2", "dogs", "isn't", "it"),
        *"東京へ",
    ]
    assert content_words("She isn't in Rome") == ["isn't", "rome"]
    assert content_words("私は東京に行きました")[:3] == ["東", "京", "行"]
    assert content_words("我在北京") == ["北", "京"]


@given(st.lists(st.sampled_from(["Café", "東京", "dog", "5", "Ｘ", "3.5", "北京"]), min_size=1, max_size=6))
def test_statement_key_ignores_case_width_and_punctuation(parts: list[str]) -> None:
    plain = " ".join(parts)
    assert statement_key(plain) == statement_key(plain.upper() + "!!")
    assert statement_key(plain) == statement_key("“" + ", ".join(parts) + "”…")
    assert statement_key(statement_key(plain)) == statement_key(plain)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("I don't like tea.", "i DONT like tea", True),
        ("私は、猫が好き。", "私は猫が好き！", True),
        ("他住在 北京。", "他住在北京", True),
        ("ＡＢＣ　１２３", "abc 123", True),
        ("It cost 1,200", "it cost 1200", True),
        ("It is 3.5 km", "It is 35 km", False),
        ("It is -5 outside", "It is 5 outside", False),
        ("I write C++", "I write C#", False),
        ("👍", "👎", False),
        ("नमस्ते", "नमस्ता", False),
        ("I love it", "I hate it", False),
    ],
)
def test_statement_key_equality(first: str, second: str, same: bool) -> None:
    assert (statement_key(first) == statement_key(second)) is same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have twenty-three cats and two dogs, one of them big", {"23", "2"}),
        ("two hundred and five thousand, a dozen, a million", {"200", "5000", "12", "1000000"}),
        ("one two three; thirty forty", {"2", "3", "30", "40"}),
        ("1,200.50 on the 08th, v1.2.3, 5.0, iPhone15, 0", {"1200.5", "8", "1.2.3", "5", "15", "0"}),
        ("二十三歳で、猫が三匹。一番。二〇二三年", {"23", "3", "2023"}),
        ("我有两只猫，三万五千元，一个人", {"2", "35000"}),
        ("３匹", {"3"}),
        ("none at all", set()),
    ],
)
def test_numbers(text: str, expected: set[str]) -> None:
    assert numbers(text) == expected


def test_long_encoded_data_is_one_short_term() -> None:
    assert [len(term) for term in terms("x" * 100_000)] == [64]


def test_stemming_is_safe_in_threads() -> None:
    listed = [f"relation{chr(97 + i % 26)}{chr(97 + i // 26)}ships" for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stem, listed)) == [word[:-1] for word in listed]
