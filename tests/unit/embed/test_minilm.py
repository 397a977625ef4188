import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memstrata.embed import minilm
from memstrata.embed.minilm import MiniLMEmbedder
from memstrata.errors import EmbedderError

NO_SOCKET = """
import asyncio, sys

def refuse(event, args):
    if event.startswith("socket."):
        raise RuntimeError(event)

async def main():
    # The event loop's own wake-up pair is made before this line.
    sys.addaudithook(refuse)
    from memstrata.embed import create_embedder
    embedder = create_embedder("minilm")
    vectors = await embedder.embed(["I moved to Lisbon.", "京都"])
    await embedder.close()
    print(vectors.shape)

asyncio.run(main())
"""


def test_opens_no_socket_and_says_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", NO_SOCKET], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "(2, 384)", "")


async def test_threads_do_not_change_a_vector() -> None:
    one, two = MiniLMEmbedder(threads=1), MiniLMEmbedder(threads=2)
    texts = ["I moved to Lisbon.", "The invoice for the harbour trip is three weeks overdue."]
    np.testing.assert_array_equal(await one.embed(texts), await two.embed(texts))
    await one.close()
    await two.close()


async def test_only_the_first_256_tokens_count() -> None:
    embedder = MiniLMEmbedder()
    base = "boat " * 254  # and two special tokens
    full, longer, shorter = await embedder.embed([base, base + "violin", "boat " * 253 + "violin"])
    np.testing.assert_array_equal(full, longer)
    assert not np.array_equal(full, shorter)
    await embedder.close()


async def test_known_vector() -> None:
    """Published for the float32 model: cos("That is a happy person", "That is a very happy person") = .943."""
    embedder = MiniLMEmbedder()
    a, b = await embedder.embed(["That is a happy person", "That is a very happy person"])
    assert float(a @ b) == pytest.approx(0.943, abs=0.01)
    await embedder.close()


@pytest.mark.parametrize("which", ["TOKENIZER_SHA256", "MODEL_SHA256"])
async def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    monkeypatch.setattr(minilm, which, "0" * 64)
    embedder = MiniLMEmbedder()
    with pytest.raises(EmbedderError, match=r"released with .* reinstall it: pip install"):
        await embedder.embed(["text"])
    await embedder.close()


async def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(minilm, "TOKENIZER", tmp_path / "gone.json")
    embedder = MiniLMEmbedder()
    with pytest.raises(EmbedderError, match=r"gone\.json.*reinstall it: pip install memstrata"):
        await embedder.embed(["text"])
    await embedder.close()
