"""A service on a socket of this machine, in a thread; and callers with keys of several tenants and rights."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from memstrata.async_memory import AsyncMemory
from memstrata.server.access import Authenticator, KeyAuthenticator
from memstrata.server.app import Limits, Service, create_app
from memstrata.server.door import Auditor
from memstrata.server.keys import RIGHTS, AccessFile
from memstrata.server.metrics import Metrics
from memstrata.server.oidc import JwtAuthenticator, Provider
from memstrata.server.run import listen

SETTINGS: dict[str, Any] = {"embedder": "hashing", "alpha": 0.5, "beta": 0.4}


@dataclass(frozen=True)
class Serving:
    """A service that answers at `url`."""

    url: str
    app: Service
    keys: AccessFile
    store: Path
    clients: list[httpx.Client] = field(default_factory=list)

    def key(self, tenant: str = "default", *rights: str, **bound: Any) -> str:
        return self.keys.create(tenant, rights or RIGHTS, **bound)[0]

    def client(self, key: str | None = None, **more: Any) -> httpx.Client:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.clients.append(httpx.Client(base_url=self.url, headers=headers, timeout=30, **more))
        return self.clients[-1]


@contextmanager
def served(
    folder: Path,
    *,
    limits: Limits | None = None,
    provider: Provider | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> Iterator[Serving]:
    """Run a service over a new store in `folder`."""
    keys = AccessFile(folder / "keys")
    root = AsyncMemory(folder / "memory.db", **{**SETTINGS, **settings})
    authenticators: list[Authenticator] = [KeyAuthenticator(keys)]
    if provider is not None:
        authenticators.append(JwtAuthenticator(provider))
    app = create_app(
        root,
        authenticators,
        rules_of=keys.rules_of,
        auditor=Auditor(keys),
        limits=limits or Limits(requests_a_minute=10**6),
        metrics=metrics,
    )
    sock = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    thread = threading.Thread(target=lambda: server.run(sockets=[sock]), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        service = Serving(f"http://127.0.0.1:{sock.getsockname()[1]}", app, keys, folder / "memory.db")
        yield service
    finally:
        for client in service.clients:
            client.close()
        server.should_exit = True
        thread.join(20)
        keys.close()


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One service for a module's tests; each uses users, or a tenant, of its own."""
    with served(tmp_path_factory.mktemp("serving")) as service:
        yield service


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    """Starts services of a test's own, with limits and settings of their own."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda **how: stack.enter_context(served(tmp_path, **how))
