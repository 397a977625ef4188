"""Two prompts of a stage begin with the same text up to the data, so that providers find it in their prefix caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.scripts import sensible

from memstrata import Memory
from memstrata.llm import Profile, Request
from memstrata.llm.fakes import ScriptedLLM
from memstrata.llm.prompts import prompt

SAID = {
    "ana": ["I moved to Porto in May.", "My sister Lena bakes bread."],
    "綾子": ["五月に大阪へ引っ越しました。", "妹はパンを焼いています。"],
    "王芳": ["我五月搬到了上海。", "我妹妹会做面包。"],
}


@pytest.mark.parametrize("profile", ["full", "small"])
def test_what_changes_comes_last(tmp_path: Path, profile: Profile) -> None:
    llm = ScriptedLLM(sensible, profile=profile)
    with Memory(tmp_path / "m.db", embedder="hashing", worker=False, llm=llm) as memory:
        for user, texts in SAID.items():
            memory.add([{"role": "user", "name": user, "content": text} for text in texts], user_id=user)
            memory.end_session(user_id=user)
        memory.flush()
    pages: list[Request] = [request for request in llm.requests if request.stage == "page"]
    assert len(pages) == len(SAID)
    assert {request.instructions for request in pages} == {prompt("page", profile).text}
    assert len({str(request.schema) for request in pages}) == 1
    assert all(request.text.startswith("<turns>\n") for request in pages)
