import subprocess
import sys
import warnings

import pytest

from memstrata.recall.tokens import ENCODING, count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("東京", 1), ("a" * 80_000, 10_000)]
)
def test_known_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_counts_are_those_of_the_published_encoding() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the package's own way to read its data
        import bpe_openai

        encoding = bpe_openai.get_encoding(ENCODING)
    for text in ("I moved to Porto.", "東京は天気がいい。", "我喜欢上海。\n\n", "12345 'll \t\n", "👩‍👩‍👧 ไทย"):
        assert count_tokens(text) == len(encoding.encode_ordinary(text))


def test_nothing_is_loaded_before_the_first_count() -> None:
    code = (
        "import sys; from memstrata.recall import context, tokens; print(tokens.load_tokenizer.cache_info().currsize);"
        "print('bpe_openai' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["0", "False"]
