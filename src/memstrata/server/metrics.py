"""Figures for Prometheus: requests, what the gate decided, queued work, the language model. Counts, of all tenants.

They are served on a port of their own, for the operator: no credential of a tenant leads there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from memstrata import trace
from memstrata.errors import SettingsError
from memstrata.store.base import Db

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)


class Metrics:
    """A registry with all figures of one service; `listen` fills in what the pipeline tells."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made: Mapping[str, Any] = {"registry": self.registry, "namespace": "memstrata"}
        self._requests = Counter("requests", "Requests answered.", ("verb", "status"), **made)
        self._seconds = Histogram("request_seconds", "How long they took.", ("verb",), buckets=SECONDS, **made)
        self._open = Gauge("requests_open", "Requests under way.", **made)
        self._jobs_waiting = Gauge("jobs_waiting", "Queued and failed work.", ("state",), **made)
        self._bytes = Gauge("store_bytes", "Bytes of the store.", **made)
        self._told = {
            "decisions": Counter("decisions", "What the gate decided: admission.", ("outcome",), **made),
            "jobs": Counter("jobs", "Work done; of kind distill: pages distilled.", ("kind", "outcome"), **made),
            "forgotten": Counter("notes_forgotten", "Notes that faded.", **made),
            "erased": Counter("owners_erased", "Users and agents erased since nothing came of them.", **made),
            "purged": Counter("notes_purged", "Notes that went for good.", **made),
            "folded": Counter("notes_folded", "Notes that were folded into others.", **made),
            "llm_calls": Counter("llm_calls", "Calls of the language model.", ("stage", "outcome"), **made),
            "llm_tokens": Counter("llm_tokens", "Its tokens.", ("stage", "direction"), **made),
            "llm_seconds": Counter("llm_seconds", "Its seconds.", ("stage",), **made),
        }

    def listen(self) -> Callable[[], None]:
        """Count what the pipeline does from now on; returns what ends that."""
        return trace.listen(self._hear)

    def _hear(self, name: str, amount: float, labels: Mapping[str, str]) -> None:
        counter = self._told[name]
        (counter.labels(**labels) if labels else counter).inc(amount)

    def begin(self) -> None:
        self._open.inc()

    def end(self, verb: str, status: int, seconds: float) -> None:
        self._open.dec()
        self._requests.labels(verb or "other", str(status)).inc()
        self._seconds.labels(verb or "other").observe(seconds)

    def set_store(self, jobs: Mapping[str, int], size: int) -> None:
        """What was counted in the store."""
        for state in ("queued", "failed"):
            self._jobs_waiting.labels(state).set(jobs.get(state, 0))
        self._bytes.set(size)

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Answer scrapes on a port, in a thread; returns what ends that. Raises SettingsError."""
        try:
            server, thread = start_http_server(port, addr=host, registry=self.registry)
        except OSError as error:
            raise SettingsError(f"{host}:{port} cannot be listened on: {error.strerror}") from error

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop


def jobs_by_state(db: Db) -> dict[str, int]:
    """How much work of all tenants waits."""
    return {row["state"]: row["n"] for row in db.all("SELECT state, count(*) AS n FROM jobs GROUP BY state")}
