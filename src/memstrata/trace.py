"""Spans of OpenTelemetry around what takes time, and figures of what was done, for whoever listens.

Where the program has not loaded OpenTelemetry nothing is done. A span tells names of stages, counts and kinds: no text
of a memory, no id of a user, no message of an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache, partial
from typing import Any, TypeVar

from memstrata._version import __version__

T = TypeVar("T")
Listener = Callable[[str, float, Mapping[str, str]], None]
PARENT = "traceparent"  # the key under which a queued job remembers what it was queued by
_listeners: list[Listener] = []


@cache
def _tracer() -> Any:
    from opentelemetry import trace

    return trace.get_tracer("memstrata", __version__)


def is_set_up() -> bool:
    """Whether the program uses OpenTelemetry: it was set up, not merely imported by some library."""
    if "opentelemetry.trace" not in sys.modules:
        return False
    from opentelemetry import trace

    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def span(name: str, *, parent: str | None = None, server: bool = False, **attributes: Any) -> Iterator[Any]:
    """A span that lasts as long as the block; None where nobody traces.

    Args:
        parent: a `traceparent`, of work that was queued or of a request; otherwise the span around this one.
        server: it answers a request from elsewhere.
        attributes: of the span; None is left out.
    """
    if not is_set_up():
        yield None
        return
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = None if parent is None else TraceContextTextMapPropagator().extract({PARENT: parent})
    told = {f"memstrata.{name}": value for name, value in attributes.items() if value is not None}
    kind = trace.SpanKind.SERVER if server else trace.SpanKind.INTERNAL
    with _tracer().start_as_current_span(
        name, context=context, kind=kind, attributes=told, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise


def parent() -> str | None:
    """The `traceparent` of the span that is open here, None without one."""
    return headers().get(PARENT)


def headers() -> dict[str, str]:
    """The headers by which another service goes on with the trace."""
    if not is_set_up():
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier


def carried(work: Callable[..., T]) -> Callable[..., T]:
    """The function with the span that is open here, wherever it runs."""
    return partial(copy_context().run, work) if is_set_up() else work


# figures --------------------------------------------------------------------------------------------------------------


def listen(listener: Listener) -> Callable[[], None]:
    """Call `listener(name, amount, labels)` whenever something was done; returns what ends that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def tell(name: str, amount: float = 1, **labels: str) -> None:
    """Something was done so many times: decisions, jobs, llm_calls, llm_tokens, forgotten, purged, folded, erased."""
    for listener in _listeners:
        listener(name, amount, labels)
