"""Presets: the published systems as settings of the one pipeline. Which stages run, with which constants.

A preset gives defaults: what is set anywhere, as an argument, in the environment or in a file, wins over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

PresetName = Literal["memstrata", "memoryos", "a-mem", "a-mac"]
LegName = Literal["dense", "lexical", "neighbours", "speaker", "time", "names", "pages", "late", "notes", "transcript"]

LEGS: tuple[LegName, ...] = (
    "dense",
    "lexical",
    "neighbours",
    "speaker",
    "time",
    "names",
    "pages",
    "late",
    "notes",
    "transcript",
)

PRESETS: Mapping[PresetName, Mapping[str, Any]] = {
    "memstrata": {},
    # Three tiers, heat, forgetting and conflict merging, K 12, pages of 5, alpha .9, beta .3, gamma .6, theta .1; no
    # gate, no links. Pages and what is in them are found by similarity alone.
    "memoryos": {
        "policy": "open",
        "compression": False,
        "links": False,
        "evolution": False,
        "hops": 0,
        "forgetting_rate": 0.02,
        "fading": 1.0,
        "legs": ("dense", "pages", "notes", "transcript"),
        "late_interaction": False,
    },
    # Every turn becomes a note at once (no gate, no pages that stay), linked to its five nearest, which evolve; found
    # by the similarity of the notes, and one link on. Nothing is forgotten.
    "a-mem": {
        "policy": "open",
        "compression": False,
        "page_size": 1,
        "warm": False,
        "forgetting": False,
        "max_links": 5,
        "hops": 1,
        "legs": ("dense", "notes"),
        "late_interaction": False,
    },
    # The gate with its published weights before a flat memory that is searched by similarity.
    "a-mac": {
        "policy": "a-mac",
        "compression": False,
        "page_size": 1,
        "warm": False,
        "forgetting": False,
        "links": False,
        "evolution": False,
        "hops": 0,
        "legs": ("dense", "notes"),
        "late_interaction": False,
    },
}

CONTEXT_HITS: Mapping[str, int] = {"small": 15, "medium": 20, "large": 30}
"""k of a context by the size of the model that reads it: the papers put it near 30 for large, 10 to 20 for small."""
