"""memstrata: long-term memory for LLM agents that layers, gates and links what it keeps.

Names are loaded when first used, so that `import memstrata` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from memstrata._version import __version__

if TYPE_CHECKING:
    from memstrata.async_memory import AsyncMemory
    from memstrata.clock import Clock, SetClock, SystemClock
    from memstrata.embed import Embedder
    from memstrata.errors import MemstrataError
    from memstrata.ledger.cost import Costs
    from memstrata.memory import Memory
    from memstrata.recall.ask import Answer
    from memstrata.settings import Settings
    from memstrata.store.backup import restore_backup
    from memstrata.store.copying import Copied, copy_store
    from memstrata.types import (
        Backup,
        Context,
        Decision,
        Erasure,
        Evidence,
        Explanation,
        Hit,
        Link,
        Note,
        NotePage,
        Page,
        Preview,
        Profile,
        Recall,
        Receipt,
        Restored,
        Revision,
    )

_HOME = {
    "Answer": "recall.ask",
    "AsyncMemory": "async_memory",
    "Clock": "clock",
    "SetClock": "clock",
    "SystemClock": "clock",
    "Costs": "ledger.cost",
    "Embedder": "embed",
    "MemstrataError": "errors",
    "Memory": "memory",
    "Settings": "settings",
    "Backup": "store.backup",
    "Restored": "store.backup",
    "restore_backup": "store.backup",
    "Copied": "store.copying",
    "copy_store": "store.copying",
    **dict.fromkeys(
        (
            "Context",
            "Decision",
            "Erasure",
            "Evidence",
            "Explanation",
            "Hit",
            "Link",
            "Note",
            "NotePage",
            "Page",
            "Preview",
            "Profile",
            "Recall",
            "Receipt",
            "Revision",
        ),
        "types",
    ),
}

__all__ = [
    "Answer",
    "AsyncMemory",
    "Backup",
    "Clock",
    "Context",
    "Copied",
    "Costs",
    "Decision",
    "Embedder",
    "Erasure",
    "Evidence",
    "Explanation",
    "Hit",
    "Link",
    "Memory",
    "MemstrataError",
    "Note",
    "NotePage",
    "Page",
    "Preview",
    "Profile",
    "Recall",
    "Receipt",
    "Restored",
    "Revision",
    "SetClock",
    "Settings",
    "SystemClock",
    "__version__",
    "copy_store",
    "restore_backup",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'memstrata' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memstrata.{_HOME[name]}"), name)
    globals()[name] = value
    return value
