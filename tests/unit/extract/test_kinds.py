import pytest

from memstrata.extract.kinds import kind_of
from memstrata.extract.slots import slot_of


@pytest.mark.parametrize(
    "language, text, kind",
    [
        ("en", "This is an island.", "fact"),
        ("en", "I am a nurse.", "identity"),
        ("en", "I grew up in a small village.", "identity"),
        ("en", "I enjoy long walks.", "preference"),
        ("en", "My sister is a lawyer.", "relation"),
        ("en", "I have two kids.", "relation"),
        ("en", "I went to a concert.", "event"),
        ("en", "We visited the museum.", "event"),
        ("en", "I'm going to adopt a cat.", "plan"),
        ("en", "Make sure to soak the beans overnight.", "procedure"),
        ("en", "I feel tired right now.", "state"),
        ("en", "Talk to you soon!", "ephemeral"),
        ("en", "You always explain things so clearly.", "ephemeral"),
        ("ja", "私は東京で生まれました。", "identity"),
        ("ja", "ジャズが好きです。", "preference"),
        ("ja", "妻は医者です。", "relation"),
        ("ja", "京都へ行きました。", "event"),
        ("ja", "来年結婚する予定です。", "plan"),
        ("ja", "最近とても忙しい。", "state"),
        ("zh", "我在成都出生。", "identity"),
        ("zh", "我喜欢爵士乐。", "preference"),
        ("zh", "我妻子是医生。", "relation"),
        ("zh", "我去了京都。", "event"),
        ("zh", "我打算明年结婚。", "plan"),
        ("zh", "我最近很忙。", "state"),
    ],
)
def test_kind(language: str, text: str, kind: str) -> None:
    assert kind_of(text, language) == kind


@pytest.mark.parametrize(
    "text, kind",
    [("I live in Porto.", "identity"), ("My favourite dish is ramen.", "preference"), ("I'm married.", "relation"),
     ("My dog's name is Rex.", "relation"), ("I hate rain.", "preference")],
)  # fmt: skip
def test_a_slot_decides_the_kind(text: str, kind: str) -> None:
    slot = slot_of(text, None, "en")
    assert slot is not None
    assert kind_of(text, "en", slot=slot) == kind
