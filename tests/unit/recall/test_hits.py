"""What hits bring along, and that the index in memory keeps up with accesses."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import Bench

from memstrata.recall.recall import MAX_EVIDENCE
from memstrata.types import Scope

TIMES = 23


def test_a_statement_made_very_often_brings_its_first_and_last_turns(bench: Bench) -> None:
    said = [
        ("user", "My favourite colour is teal."),
        ("user", "私の好きな色は青緑です。"),
        ("user", "我最喜欢的颜色是青色。"),
    ]
    for n in range(TIMES):
        for no, text in enumerate(said):
            message = {"role": "user", "content": text, "id": f"m{no}-{n:02d}"}
            bench.memory.add([message], user_id="ana", session_id=f"s{n}")
    bench.distil(user_id="ana")
    for no, query in enumerate(("Which colour is my favourite?", "好きな色は何ですか", "我最喜欢的颜色是什么")):
        hits = bench.memory.recall(query, user_id="ana", touch=False).hits
        hit = next(hit for hit in hits if hit.kind == "note" and hit.evidence[0].id.startswith(f"m{no}-"))
        whole = bench.memory.get(hit.id, user_id="ana").evidence
        assert len(whole) > MAX_EVIDENCE
        assert hit.evidence == (*whole[: MAX_EVIDENCE // 2], *whole[-MAX_EVIDENCE // 2 :])
        assert hit.more_evidence == len(whole) - MAX_EVIDENCE
        assert hit.note is not None
        assert hit.note.evidence == hit.evidence


def test_a_hit_that_stands_on_few_turns_has_all_of_them(bench: Bench) -> None:
    bench.memory.add("I moved to Porto last week.", user_id="ana", session_id="s")
    bench.distil(user_id="ana")
    for hit in bench.memory.recall("Where did I move?", user_id="ana", touch=False).hits:
        assert hit.more_evidence == 0
        assert hit.evidence


@pytest.mark.parametrize(
    ("text", "other", "query"),
    [
        ("The deploy key is in the vault.", "The deploy key is in the safe.", "Where is the deploy key?"),
        ("鍵は金庫にあります。", "鍵は机にあります。", "鍵はどこですか"),
        ("钥匙在保险箱里。", "钥匙在抽屉里。", "钥匙在哪里"),
    ],
)
def test_what_was_said_again_word_for_word_is_one_hit(bench: Bench, text: str, other: str, query: str) -> None:
    for n, said in enumerate((text, text, other, f" {text} ")):
        bench.memory.add({"role": "user", "content": said, "id": f"m{n}"}, user_id="ana", session_id=f"s{n}")
    bench.memory.add({"role": "assistant", "content": text, "id": "a"}, user_id="ana", session_id="s9")
    bench.memory.flush()
    hits = bench.memory.recall(query, user_id="ana", touch=False).hits
    assert sorted(sorted(turn.id for turn in hit.evidence) for hit in hits) == [["a"], ["m0", "m1", "m3"], ["m2"]]
    first = bench.memory.recall(query, user_id="ana", touch=False, k=1)
    rest = bench.memory.recall(query, user_id="ana", touch=False, k=9, cursor=first.cursor)
    assert [hit.id for hit in (*first.hits, *rest.hits)] == [hit.id for hit in hits]


def test_what_was_said_very_often_in_turns_brings_some_of_them(bench: Bench) -> None:
    for n in range(TIMES):
        bench.memory.add({"role": "user", "content": "Same as ever.", "id": f"m{n}"}, user_id="ana", session_id=f"s{n}")
    bench.memory.flush()
    (hit,) = bench.memory.recall("Same as ever?", user_id="ana", touch=False).hits
    assert len(hit.evidence) == MAX_EVIDENCE
    assert hit.more_evidence == TIMES - MAX_EVIDENCE
    assert hit.evidence[0].id == hit.id


def test_the_index_after_an_access_is_what_a_new_one_reads(bench: Bench) -> None:
    for n, text in enumerate(("I moved to Porto.", "姉は看護師です。", "我搬到了北京。", "I moved to Porto.")):
        bench.memory.add(text, user_id="ana", session_id=f"s{n}")
    bench.distil(user_id="ana")
    engine, scope = bench.memory._async._engine, Scope("default", "ana")
    for _ in range(2):
        bench.memory.recall("Porto", user_id="ana")
        bench.memory.flush()
    bench.memory.recall("Porto", user_id="ana", touch=False)
    kept = engine.index(scope)
    pairs, order = sorted(zip(*map(np.ndarray.tolist, kept.evidence_pairs()), strict=True)), kept.turn_order()
    bench.memory._run(engine.drop_index(scope))
    bench.memory.recall("Porto", user_id="ana", touch=False)
    fresh = engine.index(scope)
    assert fresh is not kept
    assert pairs == sorted(zip(*map(np.ndarray.tolist, fresh.evidence_pairs()), strict=True))
    assert order.units.tolist() == fresh.turn_order().units.tolist()
    assert len(pairs) >= 4
