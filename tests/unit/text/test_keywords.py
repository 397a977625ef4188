"""Keywords."""

from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.keywords import keywords
from memstrata.text.names import names


def test_names_first_then_content_words() -> None:
    found = keywords("Yesterday Caroline took me to a pottery workshop, it was really good therapy.")
    assert found[0] == "Caroline"
    assert set(found[1:]) == {"pottery", "workshop", "therapy"}


def test_one_keyword_a_stem_and_at_most_the_limit() -> None:
    assert [word for word in keywords("The agency and other agencies help agencies") if "agenc" in word] == ["agency"]
    text = "Gardens, mountains, rivers, castles, markets, temples, islands, forests, valleys and harbours"
    assert len(keywords(text)) == 8
    assert keywords(text, limit=3) == keywords(text)[:3]


def test_start_of_sentence_is_in_small_letters() -> None:
    assert keywords("Pottery calms me") == ("pottery", "calms")


def test_japanese() -> None:
    found = keywords("昨日、田中さんと新しい仕事のストレスについて話した。猫が元気です。来月引っ越します。")
    assert found[0] == "田中さん"
    assert {"ストレス", "仕事", "猫"} <= set(found)
    assert not {"昨日", "来月", "元気"} & set(found)


def test_chinese() -> None:
    found = keywords("我昨天和李娜在一家咖啡馆见面。她喜欢摄影，打算明年学习人工智能。")
    assert found[0] == "李娜"
    assert set(found) == {"李娜", "咖啡馆", "摄影", "人工智能"}


def test_names_found_before_are_used() -> None:
    text = "Brindle sells pottery in Lisbon"
    assert keywords(text, named=names(text)) == keywords(text)
    assert keywords(text, named=("Brindle", "Lisbon"))[:2] == ("Brindle", "Lisbon")


@given(st.text(st.characters(), max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    found = keywords(text)
    assert len(set(found)) == len(found) <= 8
