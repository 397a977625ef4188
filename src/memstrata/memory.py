"""The face of memstrata without `await`: `Memory`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from memstrata.sync.decisions import SyncDecisions
from memstrata.sync.intake import SyncIn
from memstrata.sync.log import SyncLog
from memstrata.sync.look import SyncLook
from memstrata.sync.model import SyncModel
from memstrata.sync.notes import SyncNotes
from memstrata.sync.recall import SyncOut
from memstrata.sync.upkeep import SyncUpkeep


class Memory(SyncIn, SyncModel, SyncOut, SyncNotes, SyncLog, SyncDecisions, SyncLook, SyncUpkeep):
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
