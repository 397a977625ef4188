"""The face of memstrata: `AsyncMemory`. `Memory` (memory.py) has the same methods without `await`.

Each method checks its arguments, hands them to the stage that does the work, and lets the worker go on.
"""

from __future__ import annotations

from memstrata.face.decisions import MemoryDecisions
from memstrata.face.intake import MemoryIn
from memstrata.face.log import MemoryLog
from memstrata.face.look import MemoryLook
from memstrata.face.model import MemoryModel
from memstrata.face.notes import MemoryNotes
from memstrata.face.recall import MemoryOut
from memstrata.face.upkeep import MemoryUpkeep


class AsyncMemory(MemoryIn, MemoryModel, MemoryOut, MemoryNotes, MemoryLog, MemoryDecisions, MemoryLook, MemoryUpkeep):
    """Long-term memory in one file.

    Args:
        path: the store: a file, created when missing, or ":memory:". `Path` or string. The address of a service
            ("https://...", with `api_key=`) gives the memory that this service keeps: see `memstrata.remote`.
        embedder, clock, store, llm, nli, reranker: other implementations of these seams; all models may also be named.
            Without a language model everything works offline.
        settings: see `memstrata.settings.Settings`; arguments go before `MEMSTRATA_*` variables, those before the
            TOML file that `MEMSTRATA_CONFIG` names.

    Every method names whose memory it is about: `user_id`, `agent_id` or both. `session_id` is where things were said.

    Raises:
        SettingsError: settings that contradict each other or are unknown.
        StoreFormatError: the file is not a memstrata store, is damaged, or comes from a newer version.
    """
