"""The Reranker seam: what every reranker promises, on every one that runs here without a network."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests import tiny

from memstrata.errors import ClosedError, RerankerError, SettingsError
from memstrata.rerank import Reranker, create_reranker
from memstrata.rerank.fakes import ScriptedReranker, word_overlap

KEY = "rk-test-0123456789"
TEA = ["I like green tea.", "I live in Porto.", "お茶が好き。犬もいる。", "我喜欢绿茶"]


@dataclass
class RerankServer:
    """An endpoint on loopback. `shape` is that of its answers; `status` other than 200 refuses."""

    url: str = ""
    shape: str = "cohere"
    status: int = 200
    seen: list[tuple[dict[str, Any], str | None]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> Any:
        scores = [word_overlap(body["query"], text) for text in body["documents"]]
        order = sorted(range(len(scores)), key=lambda n: -scores[n])
        if self.shape == "tei":
            return [{"index": n, "score": scores[n]} for n in order]
        if self.shape == "voyage":
            return {"data": [{"index": n, "relevance_score": scores[n]} for n in order]}
        if self.shape == "cut":
            return {"results": [{"index": n, "relevance_score": scores[n]} for n in order[:-1]]}
        if self.shape == "wild":
            return {"results": [{"index": n, "relevance_score": 7.5} for n in order]}
        return {"results": [{"index": n, "relevance_score": scores[n]} for n in order]}


@contextmanager
def rerank_server() -> Iterator[RerankServer]:
    told = RerankServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told.seen.append((body, self.headers.get("authorization")))
            sent = b"no JSON" if told.shape == "garbage" else json.dumps(told.answer(body)).encode()
            self.send_response(told.status)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}/v1/rerank"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RerankServer]:
    monkeypatch.setenv("RERANKER_API_KEY", KEY)
    with rerank_server() as made:
        yield made


@pytest.fixture(params=["scripted", "onnx", "api"])
async def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reranker]:
    made: Reranker
    if request.param == "onnx":
        made = create_reranker(f"onnx:{tiny.reranker(tmp_path / 'tiny')}")
    elif request.param == "api":
        made = create_reranker("api:tiny", url=request.getfixturevalue("server").url)
    else:
        made = ScriptedReranker()
    yield made
    await made.close()


async def test_scores_in_the_order_of_the_texts(reranker: Reranker) -> None:
    scores = await reranker.score("Who likes green tea?", TEA)
    assert len(scores) == len(TEA)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert max(range(len(TEA)), key=scores.__getitem__) == 0


@pytest.mark.parametrize(("query", "best"), [("お茶", 2), ("绿茶", 3)])
async def test_other_languages(reranker: Reranker, query: str, best: int) -> None:
    scores = await reranker.score(query, TEA)
    assert scores[best] == max(scores)
    assert scores[best] > min(scores)


async def test_no_texts_have_no_scores(reranker: Reranker) -> None:
    assert list(await reranker.score("tea", [])) == []


async def test_the_same_again(reranker: Reranker) -> None:
    texts = TEA * 12  # more than one batch
    assert list(await reranker.score("green tea", texts)) == list(await reranker.score("green tea", texts))


async def test_closed(reranker: Reranker) -> None:
    await reranker.close()
    await reranker.close()
    with pytest.raises(ClosedError):
        await reranker.score("tea", TEA)


def test_it_has_a_name(reranker: Reranker) -> None:
    assert reranker.name


@pytest.mark.parametrize("shape", ["cohere", "tei", "voyage"])
async def test_the_shapes_of_apis(server: RerankServer, shape: str) -> None:
    server.shape = shape
    made = create_reranker("api:tiny", url=server.url)
    scores = await made.score("green tea", TEA)
    await made.close()
    assert scores[0] == 1.0
    [(body, authorization)] = server.seen
    assert (body["model"], body["query"], len(body["documents"])) == ("tiny", "green tea", len(TEA))
    assert authorization == f"Bearer {KEY}"


@pytest.mark.parametrize(("shape", "status"), [("cohere", 500), ("cut", 200), ("wild", 200), ("garbage", 200)])
async def test_an_api_that_fails_is_one_typed_error(server: RerankServer, shape: str, status: int) -> None:
    server.shape, server.status = shape, status
    made = create_reranker("api:tiny", url=server.url)
    with pytest.raises(RerankerError) as told:
        await made.score("tea", TEA)
    assert KEY not in str(told.value)
    await made.close()


async def test_an_api_that_is_not_there() -> None:
    made = create_reranker("api:tiny", url="http://127.0.0.1:9/rerank")
    with pytest.raises(RerankerError):
        await made.score("tea", TEA)
    await made.close()


@pytest.mark.parametrize(
    ("spec", "url"), [("bm25", None), ("onnx:", None), ("api:x", None), ("onnx:/nowhere", None), ("onnx:x", "http://y")]
)
def test_what_cannot_be_made(spec: str, url: str | None) -> None:
    with pytest.raises(SettingsError):
        create_reranker(spec, url=url)


async def test_a_broken_file(tmp_path: Path) -> None:
    folder = tiny.reranker(tmp_path / "tiny")
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(RerankerError, match="can be loaded"):
        await create_reranker(f"onnx:{folder}").score("tea", TEA)
