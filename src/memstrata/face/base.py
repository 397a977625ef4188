"""What all methods of the face stand on: the engine, its worker, opening and closing."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from memstrata.clock import Clock, SystemClock
from memstrata.embed import Embedder, create_embedder
from memstrata.engine import Engine
from memstrata.errors import ClosedError, SettingsError
from memstrata.gate.policy import load_policy
from memstrata.hot.reading import HotTier
from memstrata.index.files import files_beside
from memstrata.intake.redact import Redactor
from memstrata.intake.scope import scope_of
from memstrata.llm import LLM, create_llm
from memstrata.llm.guard import Guard
from memstrata.llm.nli import NLI, create_nli
from memstrata.recall.context import hot_material
from memstrata.rerank import Reranker, create_reranker
from memstrata.settings import Settings, load_settings
from memstrata.store.base import Store
from memstrata.store.opening import open_store
from memstrata.tiers.touch import TouchBuffer
from memstrata.types import (
    Scope,
)
from memstrata.work.worker import Worker

OF_THE_STORE = (
    "embedder",
    "hot_url",
    "index_megabytes",
    "llm",
    "llm_base_url",
    "llm_profile",
    "nli",
    "reranker",
    "reranker_url",
)  # settings that all tenants of a store share


class MemoryBase:
    """Opens and closes a store, and knows whose memory a call is about."""

    def __new__(cls, path: str | Path = "memory.db", **settings: Any) -> Self:
        """The memory at a path; at the address of a service, that service's."""
        del settings
        if isinstance(path, str) and path.startswith(("http://", "https://")):
            from memstrata.remote import RemoteMemory

            return cast("Self", object.__new__(RemoteMemory))
        return object.__new__(cls)

    def __init__(
        self,
        path: str | Path = "memory.db",
        *,
        embedder: str | Embedder | None = None,
        clock: Clock | None = None,
        store: Store | None = None,
        llm: str | LLM | None = None,
        nli: str | NLI | None = None,
        reranker: str | Reranker | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(embedder, str):
            settings["embedder"] = embedder
        if isinstance(llm, str):
            settings["llm"] = llm
        if isinstance(nli, str):
            settings["nli"] = nli
        if isinstance(reranker, str):
            settings["reranker"] = reranker
        loaded = load_settings(**settings)
        made = create_embedder(loaded.embedder if embedder is None else embedder)
        self._engine = Engine(
            store=(store or open_store(path)).within(loaded.tenant),
            embedder=made,
            clock=clock or SystemClock(),
            settings=loaded,
            policy=load_policy(loaded.policy),
            redactor=Redactor(loaded.redact, loaded.redact_patterns),
            llm=_guarded(loaded.llm if llm is None else llm, loaded),
            nli=_nli(loaded.nli if nli is None else nli),
            reranker=_reranker(loaded.reranker if reranker is None else reranker, loaded),
            files=files_beside(str(path)) if store is None else None,
            hot=None if loaded.hot_url is None else HotTier(loaded.hot_url, hot_material),
        )
        self._worker = Worker(self._engine)
        self._touches = TouchBuffer(self._engine)
        self._closed = False
        self._shares = False

    def _for_tenant(self, tenant: str, **settings: Any) -> Self:
        """The memory of another tenant on the same store, models and indexes, which stay open when it is closed.

        For a service, which has one for each tenant. `settings` are the tenant's own; what they leave out is as here.
        Raises SettingsError.
        """
        ours = self._engine.settings
        loaded = ours.model_copy(update={"tenant": tenant})
        if settings:
            loaded = load_settings(**{**ours.model_dump(exclude=set(OF_THE_STORE)), **settings, "tenant": tenant})
            loaded = loaded.model_copy(update={name: getattr(ours, name) for name in OF_THE_STORE})
        made = object.__new__(type(self))
        made._engine = replace(
            self._engine,
            store=self._engine.store.within(tenant),
            settings=loaded,
            policy=load_policy(loaded.policy),
            redactor=Redactor(loaded.redact, loaded.redact_patterns),
        )
        made._worker = Worker(made._engine)
        made._touches = TouchBuffer(made._engine)
        made._closed, made._shares = False, True
        return made

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._engine.settings

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Finish the job in hand and close the store; what is queued goes on at the next opening."""
        if self._closed:
            return
        self._closed = True
        async with AsyncExitStack() as closing:  # each is closed, last first, whatever another raises
            if not self._shares:
                closing.push_async_callback(self._engine.embedder.close)
                closing.push_async_callback(self._engine.store.close)
                if self._engine.hot is not None:
                    closing.push_async_callback(self._engine.hot.close)
                for model in (self._engine.llm, self._engine.reranker):
                    if model is not None:
                        closing.push_async_callback(model.close)
            closing.push_async_callback(self._worker.stop)
            await self._touches.drain()

    def _scope(self, user_id: str | None, agent_id: str | None, session_id: str | None = None) -> Scope:
        if self._closed:
            raise ClosedError
        return scope_of(self._engine.settings.tenant, user_id, agent_id, session_id)

    def _poke(self) -> None:
        if self._engine.settings.worker and not self._engine.read_only:
            self._worker.poke()


def _guarded(llm: str | LLM | None, settings: Settings) -> Guard | None:
    """The language model, if one is set, behind its guard."""
    if llm is None:
        return None
    timeout = settings.llm_timeout_seconds
    if isinstance(llm, str):
        llm = create_llm(llm, base_url=settings.llm_base_url, profile=settings.llm_profile, timeout=timeout)
    guard = Guard(llm, settings.llm_concurrency, timeout)
    if settings.llm_batch_seconds is not None and guard.batches is None:
        raise SettingsError(f"{guard.name} has no batches: leave llm_batch_seconds unset")
    return guard


def _reranker(reranker: str | Reranker | None, settings: Settings) -> Reranker | None:
    """The reranker, if one is set."""
    return create_reranker(reranker, url=settings.reranker_url) if isinstance(reranker, str) else reranker


def _nli(nli: str | NLI | None) -> NLI | None:
    """The model for inference, if one is set."""
    return create_nli(nli) if isinstance(nli, str) else nli
