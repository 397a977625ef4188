"""Recall with a reranker and with a rewritten query: in their order, page by page, and on without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests import tiny
from tests.conftest import Bench

from memstrata.errors import LLMUnavailableError, RerankerError
from memstrata.llm.fakes import ScriptedLLM
from memstrata.llm.nli import Inference, OnnxNLI, ScriptedNLI
from memstrata.rerank.fakes import ScriptedReranker

SAID = [
    "I drink green tea every morning.",
    "My sister drinks coffee.",
    "The tea shop is in Porto.",
    "毎朝お茶を飲みます。",
    "我每天喝绿茶。",
    "I bought a red bicycle.",
]


def test_the_reranker_orders_the_hits(make_bench: Callable[..., Bench]) -> None:
    reranker = ScriptedReranker(lambda query, text: 0.9 if "bicycle" in text else 0.2 if "tea" in text else 0.1)
    bench = make_bench(reranker=reranker)
    bench.tell(*SAID)
    plain = bench.open(reranker=None)
    own = plain.recall("Where is the tea?", user_id="ana", k=3, touch=False)
    plain.close()
    found = bench.memory.recall("Where is the tea?", user_id="ana", k=3, touch=False)
    assert "bicycle" not in own[0].text
    assert "bicycle" in found[0].text
    assert found[0].score == 0.9
    assert (found[0].legs[0].name, found[0].legs[0].rank) == ("reranker", 1)
    assert found[0].reason.startswith("reranker 0.90 (rank 1)")
    assert found.without == ()


def test_pages_of_hits_have_each_hit_once(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(reranker=ScriptedReranker(lambda query, text: (hash(text) % 97) / 97), reranked=4)
    bench.tell(*SAID)
    whole = [hit.id for hit in bench.memory.recall("tea", user_id="ana", k=50, touch=False)]
    seen: list[str] = []
    cursor = None
    while True:
        page = bench.memory.recall("tea", user_id="ana", k=2, cursor=cursor, touch=False)
        seen += [hit.id for hit in page]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == whole
    assert len(set(seen)) == len(seen)


def test_min_score_is_that_of_the_reranker(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(reranker=ScriptedReranker(lambda query, text: 0.8 if "Porto" in text else 0.0))
    bench.tell(*SAID)
    found = bench.memory.recall("tea", user_id="ana", min_score=0.5, touch=False)
    assert ["Porto" in hit.text for hit in found] == [True]


def test_recall_goes_on_without_a_reranker_that_fails(make_bench: Callable[..., Bench]) -> None:
    def fail(query: str, text: str) -> float:
        raise RerankerError("out of order")

    bench = make_bench(reranker=ScriptedReranker(fail))
    bench.tell(*SAID)
    found = bench.memory.recall("green tea", user_id="ana", touch=False)
    assert "tea" in found[0].text
    assert found.without == ("reranker: out of order",)


def test_an_onnx_reranker_by_its_name(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    bench = make_bench(reranker=f"onnx:{tiny.reranker(tmp_path / 'tiny')}")
    bench.tell(*SAID)
    found = bench.memory.recall("绿茶", user_id="ana", k=1, touch=False)
    assert "绿茶" in found[0].text
    assert "绿茶" in bench.memory.context("绿茶", user_id="ana", session_id="later", max_tokens=60).text


def test_a_rewritten_query_finds_what_shares_no_word(make_bench: Callable[..., Bench]) -> None:
    llm = ScriptedLLM(lambda asked: {"words": ["bicycle", "bought"]})
    bench = make_bench()
    bench.tell(*SAID)
    bench.reopen(llm=llm, rewrite=True)
    found = bench.memory.recall("Which vehicle did I get?", user_id="ana", k=1, touch=False)
    assert "bicycle" in found[0].text
    assert found.query == "Which vehicle did I get?"
    assert [asked.stage for asked in llm.requests] == ["rewrite"]
    assert bench.memory.cost(by=["stage"]).lines[-1].group == ("rewrite",)


def test_recall_goes_on_without_a_model_that_fails(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench()
    bench.tell(*SAID)
    failing = bench.open(llm=ScriptedLLM([LLMUnavailableError("down")]), rewrite=True)
    found = failing.recall("green tea", user_id="ana", touch=False)
    failing.close()
    assert "tea" in found[0].text
    assert found.without == ("rewrite: LLMUnavailableError",)


async def test_inference_by_an_onnx_file(tmp_path: Path) -> None:
    model = OnnxNLI(tiny.nli(tmp_path / "nli"))
    against, apart = await model.judge([("I like tea.", "I do not like tea."), ("I like tea.", "I live in Porto.")])
    assert against.contradiction > 0.9
    assert apart.neutral > apart.contradiction
    assert sum((apart.entailment, apart.neutral, apart.contradiction)) == pytest.approx(1.0)


def test_the_model_is_asked_only_about_what_inference_finds_contradictory(make_bench: Callable[..., Bench]) -> None:
    """Without a slot, two statements about the same thing are a pair; inference says which are worth the asking."""
    asked: list[str] = []

    def script(request: object) -> dict[str, object]:
        text = getattr(request, "text", "")
        asked.append(text)
        return {"links": [], "evolved": [], "conflicts": []}

    neutral, against = Inference(0.0, 1.0, 0.0), Inference(0.0, 0.1, 0.9)
    for judged, pairs in ((neutral, 0), (against, 1)):
        asked.clear()
        nli = ScriptedNLI(lambda one, other, judged=judged: judged)
        bench = make_bench(llm=ScriptedLLM(script), nli=nli)
        bench.memory.remember("We meet on Mondays at the library.", user_id="ana")
        bench.memory.remember("We meet on Tuesdays at the library.", user_id="ana")
        assert nli.asked == [("We meet on Mondays at the library.", "We meet on Tuesdays at the library.")]
        assert sum(text.count("C1:") for text in asked) == pairs
