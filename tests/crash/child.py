"""A process that is killed: it works on a store and prints each acknowledgement as a line of JSON.

    python child.py MODE PATH SEED [KILL_AFTER]

MODE is `add` (adds and recalls, the worker at work beside them), `remember`, `work` (only the queue), or a verb of
upkeep on a store that the parent prepared: `erase`, `maintain`, `reembed`, `reindex`, `import`.
With KILL_AFTER it kills itself just before its writer runs the statement of that number; BEGIN and COMMIT count too.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memstrata import Memory, Receipt, SetClock
from memstrata.embed.base import Vector
from memstrata.embed.hashing import HashingEmbedder

AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
SETTINGS = {"embedder": "hashing", "alpha": 0.5, "beta": 0.55}  # a page is due one tick after it was made
STATEMENTS = [
    "{name} moved to Town{n} last week.",
    "I adopted a cat called Miso{n}.",
    "My colleague {name} works at Company{n}.",
    "ok",
    "昨日、私は第{n}公園で{name}さんに会いました。",
    "我昨天在第{n}医院见了{name}。",
    "I am allergic to fruit number {n}.",
    "What do you think about that?",
]
UPKEEP = ("erase", "maintain", "reembed", "reindex", "import")
LATER = AT + timedelta(days=400)
NAMES = ("Ana", "Boris", "Chen", "Daiki")


class OtherEmbedder(HashingEmbedder):
    """Another model than the store's."""

    name = "hashing-mirrored"

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        return (await super().embed(texts, query=query))[:, ::-1].copy()


def statement(n: int, seed: int) -> str:
    """The n-th thing said by this child: no two are equal, but for small talk."""
    text = STATEMENTS[n % len(STATEMENTS)]
    return text.format(n=f"{seed}x{n}", name=NAMES[n // len(STATEMENTS) % len(NAMES)])


def say(kind: str, **what: Any) -> None:
    print(json.dumps({"kind": kind, **what}), flush=True)


def tell(receipt: Receipt, texts: list[str], session: str | None) -> None:
    """Print what a receipt acknowledges."""
    say(
        receipt.verb,
        operation=receipt.operation,
        session=session or "",
        turns=[[each.turn, each.position, text] for each, text in zip(receipt.messages, texts, strict=True)],
        outcomes=[[each.outcome, each.note] for each in receipt.candidates],
    )


def add(memory: Memory, seed: int) -> None:
    rng = random.Random(seed)
    said = 0
    for call in itertools.count():
        session = f"s{rng.randrange(2)}"
        texts = [statement(said + k, seed) for k in range(rng.choice((1, 2, 2, 4, 13)))]
        said += len(texts)
        # A call is stored whole or not at all: its turns name it.
        messages = [
            {"role": "user", "content": text, "metadata": {"call": f"{seed}/{call}", "of": len(texts)}}
            for text in texts
        ]
        tell(memory.add(messages, user_id="ana", session_id=session), texts, session)
        if call % 5 == 4:
            memory.recall(texts[0], user_id="ana", k=3)  # a touch: pages cool
        if call % 10 == 9:
            memory.end_session(user_id="ana", session_id=session)


def remember(memory: Memory, seed: int) -> None:
    for n in itertools.count():
        text = f"Person{seed}x{n} lives in Town{seed}x{n}."
        tell(memory.remember(text, user_id="ana", session_id=None), [text], None)


def work(memory: Memory, seed: int) -> None:
    """Seconds of queued work: the parent prepared it."""
    say("begun")
    memory.flush()
    say("done")


def upkeep(memory: Memory, mode: str) -> None:
    """One verb on the whole store, from beginning to end."""
    say("begun")
    if mode == "erase":
        memory.erase(user_id="ana")
    elif mode == "maintain":
        memory.maintain(now=LATER)
    elif mode == "reembed":
        memory.reembed(OtherEmbedder())
    elif mode == "reindex":
        memory.reindex()
    else:
        memory.import_(Path(memory._async._engine.store.path).with_suffix(".jsonl"))  # type: ignore[attr-defined]
    say("done")


def kill_before(memory: Memory, statements: int) -> Callable[[], int]:
    """Kill this process just before the writer's statement of this number. Returns what tells how many it ran."""
    ran = 0

    def watch(_: str) -> None:
        nonlocal ran
        ran += 1
        if ran >= statements:
            os.kill(os.getpid(), signal.SIGKILL)

    memory._async._engine.store._writer.set_trace_callback(watch)  # type: ignore[attr-defined]
    return lambda: ran


def main() -> None:
    mode, path, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    settings: dict[str, Any] = {**SETTINGS, "worker": mode in ("add", "remember")}
    if not settings["worker"]:
        settings["clock"] = SetClock(AT)
    memory = Memory(path, **settings)
    if len(sys.argv) > 4:
        kill_before(memory, int(sys.argv[4]))
    if mode in UPKEEP:
        upkeep(memory, mode)
    else:
        {"add": add, "remember": remember, "work": work}[mode](memory, seed)


if __name__ == "__main__":
    main()
