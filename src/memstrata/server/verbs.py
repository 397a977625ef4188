"""Each verb of the face as it is called over HTTP: method, path, the right it takes, and the model of its arguments.

The models are made from the signatures of `AsyncMemory`, so that the two cannot differ. The service serves this table
and the client (`memstrata.remote`) calls by it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from memstrata.async_memory import AsyncMemory

Right = Literal["read", "write", "erase", "admin"]
PREFIX = "/v1"
IDEMPOTENCY_HEADER = "Idempotency-Key"
# A header, or what has no meaning at a distance.
NOT_IN_PAYLOAD = frozenset({"self", "idempotency_key", "progress"})


@dataclass(frozen=True, slots=True)
class Verb:
    """How one method of the face is called.

    `id_name` is the parameter that stands in the path. `hidden` are parameters that cannot be given over HTTP.
    """

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    right: Right
    tag: str
    status: int = 200
    hidden: frozenset[str] = field(default_factory=frozenset)

    @property
    def id_name(self) -> str | None:
        return self.path.partition("{")[2].partition("}")[0] or None

    @property
    def in_query(self) -> bool:
        """Whether arguments stand in the query string; otherwise they are a JSON body."""
        return self.method in ("GET", "DELETE")

    @property
    def takes_key(self) -> bool:
        """Whether an idempotency key can be sent with it."""
        return "idempotency_key" in self.signature.parameters

    @property
    def signature(self) -> inspect.Signature:
        return signature_of(self.name)

    @property
    def returns(self) -> Any:
        """The type of what the method returns."""
        return hints_of(self.name)["return"]

    @property
    def doc(self) -> str:
        return inspect.getdoc(getattr(AsyncMemory, self.name)) or ""


@cache
def signature_of(name: str) -> inspect.Signature:
    """The signature of a method of the face."""
    return inspect.signature(getattr(AsyncMemory, name))


@cache
def hints_of(name: str) -> dict[str, Any]:
    """The evaluated annotations of a method of the face."""
    return get_type_hints(getattr(AsyncMemory, name))


def _verb(
    name: str, method: Any, path: str, right: Right, tag: str, *, status: int = 200, hidden: Sequence[str] = ()
) -> Verb:
    return Verb(name, method, f"{PREFIX}{path}", right, tag, status, frozenset(hidden))


VERBS: tuple[Verb, ...] = (
    _verb("add", "POST", "/turns", "write", "In", status=201),
    _verb("remember", "POST", "/remember", "write", "In", status=201),
    _verb("preview", "POST", "/preview", "read", "In"),
    _verb("end_session", "POST", "/sessions/end", "write", "In"),
    _verb("recall", "POST", "/recall", "read", "Out"),
    _verb("context", "POST", "/context", "read", "Out"),
    _verb("ask", "POST", "/ask", "read", "Out"),
    _verb("profile", "GET", "/profile", "read", "Out"),
    _verb("list", "GET", "/notes", "read", "Notes"),
    _verb("get", "GET", "/notes/{note_id}", "read", "Notes"),
    _verb("update", "PATCH", "/notes/{note_id}", "write", "Notes", hidden=("revision",)),
    _verb("pin", "PUT", "/notes/{note_id}/pin", "write", "Notes"),
    _verb("forget", "POST", "/forget", "write", "Notes"),
    _verb("restore", "POST", "/notes/{note_id}/restore", "write", "Notes"),
    _verb("history", "GET", "/notes/{note_id}/history", "read", "Notes"),
    _verb("explain", "GET", "/explain/{id}", "read", "Reasons and ways back"),
    _verb("receipt", "GET", "/operations/{operation}", "read", "Reasons and ways back"),
    _verb("undo", "POST", "/operations/{operation}/undo", "write", "Reasons and ways back"),
    _verb("erase", "POST", "/erase", "erase", "Reasons and ways back"),
    _verb("feedback", "POST", "/decisions/{id}/feedback", "write", "The gate"),
    _verb("review", "GET", "/decisions/review", "read", "The gate"),
    _verb("labelled", "GET", "/decisions/labelled", "read", "The gate"),
    _verb("replay_decisions", "POST", "/decisions/replay", "read", "The gate"),
    _verb("owners", "GET", "/owners", "admin", "Looking around"),
    _verb("sessions", "GET", "/sessions", "read", "Looking around"),
    _verb("turns", "GET", "/turns", "read", "Looking around"),
    _verb("pages", "GET", "/pages", "read", "Looking around"),
    _verb("heat", "GET", "/heat", "read", "Looking around"),
    _verb("decisions", "GET", "/decisions", "read", "Looking around"),
    _verb("operations", "GET", "/operations", "read", "Looking around"),
    _verb("jobs", "GET", "/jobs", "read", "Looking around"),
    _verb("graph", "GET", "/graph", "read", "Looking around"),
    _verb("distil", "POST", "/distil", "write", "Upkeep"),
    _verb("stats", "GET", "/stats", "read", "Upkeep"),
    _verb("cost", "GET", "/cost", "read", "Upkeep"),
    _verb("flush", "POST", "/flush", "admin", "Upkeep"),
    _verb("maintain", "POST", "/maintain", "admin", "Upkeep", hidden=("now",)),
    _verb("retry_failed", "POST", "/jobs/retry", "admin", "Upkeep"),
    _verb("reindex", "POST", "/reindex", "admin", "Upkeep"),
)
# Whole files: their bodies are not JSON, and routes of their own serve them.
EXPORT = _verb("export", "POST", "/export", "read", "Out", hidden=("target",))
IMPORT = _verb("import_", "POST", "/import", "admin", "In", hidden=("source",))
BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}

Messages = str | dict[str, Any] | list[dict[str, Any]]
# What the signature leaves open, or opens wider than a caller at a distance may go (a policy can be a file's path).
NARROWER: Mapping[tuple[str, str], Any] = {
    ("add", "messages"): Messages,
    ("preview", "messages"): Messages,
    # Trust follows from the role. A payload may lower it, never raise it.
    ("add", "trust"): Literal["tool", "web"] | None,
    ("remember", "trust"): Literal["assistant", "tool", "web"] | None,
    ("replay_decisions", "policy"): Literal["memstrata", "strict", "a-mac", "open"],
}


@cache
def arguments_of(name: str) -> type[BaseModel]:
    """The model of a verb's arguments, but for the one in the path: a JSON body, or the query string.

    In a query string a mapping (`filters`) is a JSON text.
    """
    verb, hints = BY_NAME[name], hints_of(name)
    fields: dict[str, Any] = {}
    for parameter in verb.signature.parameters.values():
        if parameter.name in NOT_IN_PAYLOAD | verb.hidden | {verb.id_name}:
            continue
        kind = NARROWER.get((name, parameter.name)) or as_json_type(hints[parameter.name], in_query=verb.in_query)
        fields[parameter.name] = (kind, ... if parameter.default is parameter.empty else _default(parameter.default))
    config = ConfigDict(extra="forbid", strict=not verb.in_query)
    model: type[BaseModel] = create_model(f"{name.title().replace('_', '')}Arguments", __config__=config, **fields)
    return model


def _default(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def as_json_type(hint: Any, *, in_query: bool) -> Any:
    """A parameter's type as it comes out of JSON: sequences are lists, mappings objects, times and paths texts."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        parts = dict.fromkeys(as_json_type(each, in_query=in_query) for each in inner)
        return Union[tuple(parts)]  # noqa: UP007 - built at run time
    if origin is Sequence:
        return list[as_json_type(inner[0], in_query=in_query)]  # type: ignore[misc]
    if origin is Mapping:
        return str if in_query else dict[str, Any]
    return str if hint in (datetime, Path) else hint
