"""Language detection by script and function words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.language import detect


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I went to the market yesterday", "en"),
        ("Pizza", "en"),
        ("私はPythonが好きです", "ja"),
        ("東京駅", "ja"),
        ("我昨天去了北京", "zh"),
        ("我用 Python 和 Google Cloud 写程序", "zh"),
        ("I met 田中さん in Tokyo yesterday evening", "en"),
        ("저는 커피를 좋아해요", "ko"),
        ("ฉันชอบกินข้าว", "th"),
        ("Ich bin nicht müde und gehe nach Hause", "de"),
        ("Je ne suis pas dans la maison avec mon frère", "fr"),
        ("Me gusta mucho el café, pero no con leche", "es"),
        ("Я живу в Москве", "ru"),
        ("Я живу в Києві", "uk"),
        ("أنا أعيش في القاهرة", "ar"),
        ("मैं दिल्ली में रहता हूँ", "hi"),
        ("Tôi sống ở Hà Nội", "vi"),
        ("12:30 👍 …", "und"),
        ("", "und"),
        ("\ud800\x00", "und"),
    ],
)
def test_detect(text: str, language: str) -> None:
    assert detect(text) == language


@given(st.text(st.characters(), max_size=40))
def test_always_a_code(text: str) -> None:
    assert detect(text) == "und" or len(detect(text)) == 2
