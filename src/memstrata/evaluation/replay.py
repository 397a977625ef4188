"""A replay in which questions are asked while the conversation goes on, so that accesses are real.

Every second scored question is asked, once, after the session in which the newest of its evidence was said, and counts
as an access; the others are asked at the end and scored. The clock moves with the sessions. Beside the memory as it is:
without accesses (the same questions asked without touching anything), without the heat of pages in the score, without
forgetting, and without both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memstrata.evaluation.benchmark import Benchmark
from memstrata.evaluation.compare import Difference, compare
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.options import Options
from memstrata.evaluation.run import CACHE, Evaluation, run_system
from memstrata.evaluation.systems import System
from memstrata.evaluation.table import slug
from memstrata.presets import LEGS

NO_PAGES = tuple(leg for leg in LEGS if leg != "pages")
ARMS = (
    System("accesses and tier scores", between="touch"),
    System("no accesses", between="look"),
    System("no heat", {"legs": NO_PAGES}, between="touch"),
    System("no forgetting", {"forgetting": False}, between="touch"),
    System("no tier scores", {"forgetting": False, "legs": NO_PAGES}, between="touch"),
)
SHOWN = ("frac@5", "frac@10", "frac@20", "mrr", "ndcg@10", "in_context")


@dataclass(frozen=True, slots=True)
class Replay:
    """The runs of the arms, in the order of ARMS, and by the name of each other arm what the first has more than it."""

    runs: tuple[Evaluation, ...]
    differences: tuple[tuple[str, Sequence[Difference]], ...]


def replay(data: Benchmark, options: Options, folder: Path, *, progress: bool = True, seed: int = 0) -> Replay:
    """Runs every arm below `folder` and compares them."""
    shared = replace(options, cache=options.cache or folder / CACHE, clock="said")
    runs = tuple(run_system(data, arm, shared, RunFolder(folder / slug(arm.name)), progress=progress) for arm in ARMS)
    differences = tuple(
        (arm.name, compare(run.answered, runs[0].answered, figures=SHOWN, seed=seed))
        for arm, run in zip(ARMS[1:], runs[1:], strict=True)
    )
    return Replay(runs, differences)
