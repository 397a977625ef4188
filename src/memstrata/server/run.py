"""The process of the service: opens the store, listens, drains on SIGTERM."""

from __future__ import annotations

import ipaddress
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.middleware.trustedhost import TrustedHostMiddleware

from memstrata.async_memory import AsyncMemory
from memstrata.errors import SettingsError
from memstrata.server.access import Authenticator, KeyAuthenticator, NoAuthentication
from memstrata.server.app import Limits, Service, create_app
from memstrata.server.door import Auditor
from memstrata.server.keys import RIGHTS, AccessFile, Rules, no_rules
from memstrata.server.metrics import Metrics
from memstrata.server.oidc import LOCAL_HOSTS, JwtAuthenticator, Provider
from memstrata.settings import load_settings
from memstrata.store.addresses import access_beside

DRAIN_SECONDS = 30  # how long requests under way may take after SIGTERM


@dataclass(frozen=True, slots=True)
class Options:
    """How the service is run. `access` is the file of keys and the audit log; None: beside the store."""

    store: Path | str
    access: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8321
    auth: bool = True
    provider: Provider | None = None
    limits: Limits = field(default_factory=Limits)
    upkeep_seconds: float = 300.0
    audit_days: float | None = None
    hsts: bool = False
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def access_path(self) -> Path:
        return access_beside(self.store) if self.access is None else self.access


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def first_key(options: Options) -> str | None:
    """The key that this start makes, where there is none yet."""
    if not options.auth:
        return None
    keys = AccessFile(options.access_path)
    try:
        return None if keys.keys() else keys.create(load_settings(**options.settings).tenant, RIGHTS, name="first")[0]
    finally:
        keys.close()


def open_root(options: Options) -> AsyncMemory:
    """The memory that a service is opened with.

    Raises SettingsError for a service without authentication that others could reach.
    """
    if not options.auth and not is_loopback(options.host):
        raise SettingsError(f"without authentication only this machine may call: --host 127.0.0.1, not {options.host}")
    return AsyncMemory(options.store, **options.settings)


def build(options: Options) -> Service:
    """The application. Raises what `open_root` raises."""
    root = open_root(options)
    authenticators: list[Authenticator] = []
    auditor: Auditor | None = None
    rules_of: Callable[[str], Rules] = no_rules
    if options.auth:
        keys = AccessFile(options.access_path)
        authenticators.append(KeyAuthenticator(keys))
        if options.provider is not None:
            authenticators.append(JwtAuthenticator(options.provider))
        auditor, rules_of = Auditor(keys, options.audit_days), keys.rules_of
    else:
        authenticators.append(NoAuthentication(root.settings.tenant))
    metrics = None
    if options.metrics_port is not None:
        metrics = Metrics()
        metrics.serve(options.metrics_host, options.metrics_port)
    app = create_app(
        root,
        authenticators,
        rules_of=rules_of,
        auditor=auditor,
        limits=options.limits,
        upkeep_seconds=options.upkeep_seconds,
        hsts=options.hsts,
        metrics=metrics,
    )
    if not options.auth:  # a page in a browser could call under a name that leads here
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(LOCAL_HOSTS))
    return app


class Server(uvicorn.Server):
    """uvicorn that tells the application when it is about to end."""

    def __init__(self, config: uvicorn.Config, app: Service) -> None:
        super().__init__(config)
        self._service = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.draining = True
        super().handle_exit(sig, frame)


def serve(app: Service, sockets: list[socket.socket]) -> None:
    """Answer on these sockets until SIGTERM or SIGINT; requests under way are finished."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # it would hold ids of users; the door writes its own
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        lifespan="on",
    )
    Server(config, app).run(sockets=sockets)


def log_to_stderr() -> None:
    """Log as a service does: one line each, on standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("mcp").setLevel(logging.WARNING)  # at INFO it tells what arguments were refused


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, so that its address is known before the first request."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise SettingsError(f"{host}:{port} cannot be listened on: {error.strerror}") from error
