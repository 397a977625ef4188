import pytest

from memstrata.extract.cues import confirms, cues_of, is_question, points_back


@pytest.mark.parametrize(
    "language, text, asks",
    [
        ("en", "Where do you live?", True),
        ("en", "what's your name", True),
        ("en", "do you like tea", True),
        ("en", "What I like is tea.", False),
        ("en", "When I was young I lived in Porto.", False),
        ("en", "Have a great time!", False),
        ("en", "How cool!", False),
        ("ja", "どこに住んでいますか。", True),
        ("ja", "お元気ですか", True),
        ("ja", "静かな町です。", False),
        ("ja", "いつか行きたい。", False),
        ("zh", "你住在哪里？", True),
        ("zh", "你喜欢茶吗", True),
        ("zh", "你呢", True),
        ("zh", "他们现在还在公司里开会呢。", False),
    ],
)
def test_a_question_is_told_with_and_without_its_mark(language: str, text: str, asks: bool) -> None:
    assert is_question(text, language) is asks


@pytest.mark.parametrize(
    "language, text, cue",
    [
        ("en", "I do not eat meat.", "negated"),
        ("en", "Maybe we will move.", "hedged"),
        ("en", "Apparently Ana moved.", "hearsay"),
        ("en", "I'm going to move next month.", "future"),
        ("en", "If I lived in Porto I would swim.", "hypothetical"),
        ("ja", "肉は食べません。", "negated"),
        ("ja", "たぶん引っ越します。", "hedged"),
        ("ja", "田中さんは引っ越したらしい。", "hearsay"),
        ("ja", "来月引っ越す予定です。", "future"),
        ("ja", "もし東京に住んでいたら。", "hypothetical"),
        ("zh", "我不吃肉。", "negated"),
        ("zh", "我可能会搬家。", "hedged"),
        ("zh", "听说她搬家了。", "hearsay"),
        ("zh", "我打算下个月搬家。", "future"),
        ("zh", "如果我住在北京。", "hypothetical"),
    ],
)
def test_each_cue_in_each_language(language: str, text: str, cue: str) -> None:
    assert getattr(cues_of(text, language), cue)


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "I can't wait to see it."),
        ("en", "Notable knots are nothingness."),
        ("ja", "すみません、窓があります。"),
        ("zh", "这家店不错。"),
    ],
)
def test_negation_needs_a_denying_word(language: str, text: str) -> None:
    assert not cues_of(text, language).negated


def test_cues_match_whole_words_only() -> None:
    assert not cues_of("The mighty shifty islands thrive.", "en").hedged


@pytest.mark.parametrize(
    "language, text, confirmed",
    [
        ("en", "Yes, that's right.", True),
        ("en", "Yes, but on Friday.", False),
        ("en", "Right now I am busy.", False),
        ("en", "Yes?", False),
        ("ja", "はい、その通りです。", True),
        ("ja", "いいえ、違います。", False),
        ("zh", "没错。", True),
        ("zh", "对不起，我忘了。", False),
    ],
)
def test_confirmation(language: str, text: str, confirmed: bool) -> None:
    assert confirms(text, language) is confirmed


@pytest.mark.parametrize(
    "language, text, back",
    [
        ("en", "It was great.", True),
        ("en", "Italy was great.", False),
        ("ja", "それは楽しかった。", True),
        ("zh", "它很可爱。", True),
    ],
)
def test_what_points_back(language: str, text: str, back: bool) -> None:
    assert points_back(text, language) is back
