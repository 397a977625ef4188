"""The turns of tests/data/injections.json over the service, by REST and by MCP, before a model that obeys them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.integration.scripts import sensible
from tests.integration.test_injections import INJECTIONS, SECRET, obedient
from tests.integration.test_llm_stages import TOLD

from memstrata.llm import Request
from memstrata.llm.fakes import ScriptedLLM

from .conftest import Serving
from .test_mcp import called, over_http

SEEN = ("content", "context", "tags", "state", "kind", "slot", "valid_to", "pinned")


class Turncoat:
    """A model that is sensible until it is told to obey."""

    def __init__(self) -> None:
        self.script: Callable[[Request], Any] = sensible
        self.llm = ScriptedLLM(lambda request: self.script(request))


def notes_of(client: httpx.Client, user: str) -> dict[str, dict[str, Any]]:
    every = {"user_id": user, "include_superseded": True, "include_forgotten": True, "limit": 200}
    return {note["id"]: note for note in client.get("/v1/notes", params=every).json()["notes"]}


def kept(client: httpx.Client, user: str) -> dict[str, list[Any]]:
    return {id: [note[name] for name in SEEN] for id, note in notes_of(client, user).items()}


def tell(client: httpx.Client, user: str, texts: list[str], session: str) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    client.post("/v1/turns", json={"messages": messages, "user_id": user, "session_id": session})
    client.post("/v1/sessions/end", json={"user_id": user, "session_id": session})
    settle(client, user)


def settle(client: httpx.Client, user: str) -> None:
    client.post("/v1/flush", json={})
    client.post("/v1/distil", json={"user_id": user})
    assert client.post("/v1/flush", json={}).json()["failed"] == 0


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])  # all of them take a quarter of a minute
def test_no_injected_turn_changes_a_note_outside_the_gate(serve: Callable[..., Serving], step: int) -> None:
    model = Turncoat()
    service = serve(llm=model.llm, page_size=5, hot_capacity=5)
    client = service.client(service.key())
    client.post("/v1/remember", json={"text": SECRET, "user_id": "ben"})
    others = kept(client, "ben")
    assert others
    for number, case in enumerate(INJECTIONS[::step]):
        user, model.script = f"mara-{number}", sensible
        tell(client, user, TOLD, "one")
        mine = kept(client, user)
        assert mine
        model.script = obedient(case["claim"])
        tell(client, user, [case["turn"], "Okay.", "Right.", "Fine.", "Hm."], "two")
        after = notes_of(client, user)
        assert {id: [after[id][name] for name in SEEN] for id in mine} == mine
        new = [note for id, note in after.items() if id not in mine]
        assert all(note["decision"] and note["evidence"][0]["text"] == case["turn"] for note in new)
        assert [note for note in new if case["claim"] in note["content"] or "blue box" in note["content"]] == []
        rules = {each["rule"] for each in client.get("/v1/decisions", params={"user_id": user}).json()["decisions"]}
        assert rules & {"instruction", "unsupported"}
    assert kept(client, "ben") == others


@pytest.mark.parametrize("role", ["tool", "web"])
async def test_what_a_client_read_elsewhere_is_quarantined(serve: Callable[..., Serving], role: str) -> None:
    service = serve()
    rest = service.client(service.key())
    async with over_http(service, service.key("default", "read", "write", user="u")) as client:
        kept_here = await called(client, "remember", text=TOLD[0])
        assert kept_here["outcomes"][0]["outcome"] == "admitted"
        mine = kept(rest, "u")
        for case in INJECTIONS:
            for text in (case["turn"], case["claim"]):
                outcomes = (await called(client, "remember", text=text, said_by=role))["outcomes"]
                assert {each["outcome"] for each in outcomes} <= {"rejected"}, outcomes
    assert kept(rest, "u") == mine
