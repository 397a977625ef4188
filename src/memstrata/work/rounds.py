"""A round of an owner's ordered jobs: prepared one after another, written in one commit."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.distil.stages import Step, Then, Work, page_step, run_distill, run_page, run_remember
from memstrata.engine import Engine
from memstrata.store.base import Db
from memstrata.trace import PARENT, span

STAGES = {"page": run_page, "distill": run_distill, "remember": run_remember}


async def run_round(engine: Engine, works: Sequence[Work], then: Then) -> list[Work]:
    """Some pages and one more job of any kind, as `journal.jobs.next_round` gives them; returns what follows.

    All are committed together or none is: each as the operation it would be alone, in the same order.
    """
    *pages, last = works
    steps: list[Step] = []
    for work in pages:
        with span("memstrata.page", parent=work.job.payload.get(PARENT)):
            steps.append(await page_step(engine, work))

    def before(db: Db) -> None:
        for step in steps:
            step(db)

    with span(f"memstrata.{last.job.kind}", parent=last.job.payload.get(PARENT)):
        return await STAGES[last.job.kind](engine, last, then, before)
