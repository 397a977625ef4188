"""Moving in: what was found in another system goes the way of everything, `add` and `remember`, through the gate."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from memstrata.engine import Engine
from memstrata.errors import ConflictError, InputError, TimeError
from memstrata.intake.add import accept, add, close_session, remember, remember_all
from memstrata.intake.scope import scope_of
from memstrata.intake.times import parse_time
from memstrata.ledger.reindex import report
from memstrata.moving.amem import read_amem
from memstrata.moving.found import Found, Place, Said, Statement, Unread
from memstrata.moving.mem0 import read_mem0
from memstrata.moving.memoryos import read_memoryos
from memstrata.types import Message, Progress, Scope

System = Literal["mem0", "a-mem", "memoryos"]
READERS: Final[Mapping[str, Callable[[Path], Found]]] = MappingProxyType(
    {"mem0": read_mem0, "a-mem": read_amem, "memoryos": read_memoryos}
)
MESSAGES: Final = 100  # that one `add` takes


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of another system's memories: outcomes by name, and a line for all that was not taken."""

    system: str
    statements: Mapping[str, int] = field(default_factory=dict)  # by the gate's outcome
    messages: Mapping[str, int] = field(default_factory=dict)  # stored, redacted, skipped
    unread: tuple[Unread, ...] = ()


async def move_in(
    engine: Engine,
    system: str,
    path: str | Path,
    scope: Scope | None,
    *,
    tz: str | None = None,
    progress: Progress | None = None,
) -> Moved:
    """See `AsyncMemory.import_from`."""
    if system not in READERS:
        raise InputError(f"unknown system {system!r}: one of {', '.join(READERS)}")
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    found = await asyncio.to_thread(READERS[system], path)
    mover = _Mover(engine, system, scope, tz or engine.settings.tz, found.unread)
    _check_places(found, scope)
    _check_zone(found, mover.tz)
    total = len(found.items)
    messages = await mover.messages(found.messages, total, progress)
    statements = await mover.statements(found.statements, total, progress)
    return Moved(system, dict(statements), dict(messages), tuple(found.unread))


def _check_places(found: Found, scope: Scope | None) -> None:
    """Whose something is, either the file tells or the caller."""
    places = [each.place for each in found.items]
    if scope is None and any(place.user is None and place.agent is None for place in places):
        raise InputError("these memories do not say whose they are: name a user_id or agent_id (--user, --agent)")


def _check_zone(found: Found, tz: str | None) -> None:
    """Times without a zone need one to be named; better told once, before anything is stored."""
    for at in (each.at for each in found.items if each.at is not None):
        try:
            parse_time(at, tz=tz)
        except TimeError as error:
            if tz is None and "no time zone" in str(error):
                raise InputError(
                    f"times such as {at!r} have no zone: name that of the machine which wrote them (tz=, --tz)"
                ) from error


@dataclass(slots=True)
class _Mover:
    """One move: where things go, and what could not go."""

    engine: Engine
    system: str
    scope: Scope | None
    tz: str | None
    unread: list[Unread]

    def _scope(self, place: Place) -> Scope:
        """The place that an item names, and what the caller named where it names none."""
        named, tenant = self.scope, self.engine.settings.tenant
        if named is not None and named.user is not None:  # a user was named: all of it is theirs
            return scope_of(tenant, named.user, place.agent or named.agent, place.session or named.session)
        agent = place.agent or (named.agent if named else None)
        return scope_of(tenant, place.user, agent, place.session or (named.session if named else None))

    def _at(self, at: str | None) -> datetime | None:
        return None if at is None else parse_time(at, tz=self.tz)

    async def messages(self, said: Sequence[Said], total: int, progress: Progress | None) -> Counter[str]:
        """Messages as turns, session by session; each session is ended."""
        counts: Counter[str] = Counter()
        done = 0
        for place, group in groupby(said, key=lambda each: each.place):
            try:
                scope, batch = self._scope(place), [self._message(each) for each in group]
            except InputError as error:
                self.unread.append(Unread(f"session {place.session}", str(error)))
                continue
            for start in range(0, len(batch), MESSAGES):
                part = batch[start : start + MESSAGES]
                try:
                    receipt = await add(self.engine, scope, part, metadata={"moved_from": self.system}, trust="import")
                except (InputError, ConflictError) as error:
                    self.unread.append(Unread(f"session {place.session}, from message {start + 1}", str(error)))
                    continue
                counts.update(outcome.outcome for outcome in receipt.messages)
                done += len(part)
                report(progress, "items", done, total)
            await close_session(self.engine, scope)
        return counts

    def _message(self, said: Said) -> dict[str, Any]:
        message = {"role": said.role, "content": said.text, "id": f"{self.system}:{said.id}", "at": self._at(said.at)}
        if said.name is not None:
            message["name"] = said.name
        return {name: value for name, value in message.items() if value is not None}

    async def statements(self, stated: Sequence[Statement], total: int, progress: Progress | None) -> Counter[str]:
        """Statements through the gate, oldest first, so that what was said later supersedes what was said before."""
        counts: Counter[str] = Counter()
        ordered: list[tuple[float, Statement]] = []
        for each in stated:
            try:
                at = self._at(each.at)
            except InputError as error:
                self.unread.append(Unread(f"{self.system} {each.id}", str(error)))
                continue
            ordered.append((at.timestamp() if at is not None else float("inf"), each))
        ordered.sort(key=lambda pair: pair[0])
        if self.engine.llm is not None:
            return await self._in_batches([each for _, each in ordered], total, progress)
        for n, (_, each) in enumerate(ordered, 1):
            try:
                receipt = await remember(
                    self.engine,
                    self._scope(each.place),
                    each.text,
                    at=self._at(each.at),
                    tags=each.tags,
                    metadata={**each.metadata, "moved_from": self.system, "source_id": each.id},
                    idempotency_key=self._key(each),
                    trust="import",
                )
            except InputError as error:
                self.unread.append(Unread(f"{self.system} {each.id}", str(error)))
                continue
            counts.update(candidate.outcome for candidate in receipt.candidates)
            report(progress, "items", total - len(ordered) + n, total)
        return counts

    async def _in_batches(self, ordered: Sequence[Statement], total: int, progress: Progress | None) -> Counter[str]:
        """With a model: as many statements at once as a page has turns, so that they share its call."""
        counts: Counter[str] = Counter()
        done = total - len(ordered)
        for place, group in groupby(ordered, key=lambda each: each.place):
            members = list(group)
            for start in range(0, len(members), self.engine.settings.page_size):
                part = members[start : start + self.engine.settings.page_size]
                done += len(part)
                taken = [(each, message) for each in part if (message := self._accepted(each)) is not None]
                if not taken:
                    continue
                key = hashlib.blake2b("".join(self._key(each) for each, _ in taken).encode(), digest_size=16)
                try:
                    receipt = await remember_all(
                        self.engine,
                        self._scope(place),
                        [(message, each.tags) for each, message in taken],
                        idempotency_key=f"moved/{self.system}/{key.hexdigest()}",
                        trust="import",
                    )
                except InputError as error:
                    self.unread.extend(Unread(f"{self.system} {each.id}", str(error)) for each, _ in taken)
                    continue
                counts.update(candidate.outcome for candidate in receipt.candidates)
                report(progress, "items", done, total)
        return counts

    def _accepted(self, each: Statement) -> Message | None:
        """A statement as a message that is checked and redacted; None, and told, where it cannot be taken."""
        metadata = {**each.metadata, "moved_from": self.system, "source_id": each.id}
        try:
            (message,) = accept(self.engine, {"role": "user", "content": each.text}, self._at(each.at), metadata)
        except InputError as error:
            self.unread.append(Unread(f"{self.system} {each.id}", str(error)))
            return None
        return message

    def _key(self, each: Statement) -> str:
        """The same for the same statement, so that a move that was cut can be repeated."""
        own = "\0".join((each.id, each.text, str(each.at), str(each.tags), str(sorted(each.metadata.items()))))
        return f"moved/{self.system}/{hashlib.blake2b(own.encode(), digest_size=16).hexdigest()}"
