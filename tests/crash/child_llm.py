"""A process that works off a queue with a scripted model and is killed.

    python child_llm.py PATH LOG [statement N | call N]

It distils two pages and lets upkeep condense two notes. It writes a line to LOG for each call of the model, and kills
itself just before its writer runs statement N, or in the middle of call N. Without the last two it works to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.crash.child import kill_before
from tests.integration.scripts import folding, sensible

from memstrata import Memory, SetClock
from memstrata.llm import Request
from memstrata.llm.fakes import ScriptedLLM

AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
ALIKE = (
    "My daughter Mia plays the violin in the youth orchestra.",
    "My daughter Mia plays the violin and the viola in the youth orchestra.",
)
FOLDED = ALIKE[1]
SETTINGS: dict[str, Any] = {"embedder": "hashing", "alpha": 0.5, "beta": 0.55, "worker": False}


def main() -> None:
    path, log = Path(sys.argv[1]), Path(sys.argv[2])
    how, number = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 3 else ("", 0)
    made = 0

    def answer(request: Request) -> str:
        nonlocal made
        made += 1
        if how == "call" and made == number:
            os.kill(os.getpid(), signal.SIGKILL)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{request.stage}\n")
        return folding(FOLDED)(request) if request.stage == "fold" else sensible(request)

    memory = Memory(path, clock=SetClock(AT), llm=ScriptedLLM(answer), **SETTINGS)
    ran = kill_before(memory, number if how == "statement" else 1 << 30)
    memory.flush()
    memory.distil(user_id="mara")
    memory.flush()
    memory.maintain()
    path.with_suffix(".statements").write_text(str(ran()), encoding="utf-8")
    memory.close()


if __name__ == "__main__":
    main()
