"""How an evaluation is run, whatever system it is of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MAX_TOKENS = 2500  # of a context


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: what does not change which system it is.

    `clock` "said" moves a clock with the sessions, so that notes fade and upkeep runs between them; "now" takes all in
    at once. `store` keeps the one store of all conversations there. `contexts` keeps the text of every context.
    """

    embedder: str = "minilm"
    cache: Path | None = None
    clock: Literal["now", "said"] = "now"
    max_tokens: int = MAX_TOKENS
    jobs: int = 1
    store: Path | None = None
    contexts: bool = False
