"""Export: the truth of one owner, or of a tenant, as JSON Lines in one order: the same store gives the same bytes.

Units, terms and vectors are left out: they are derived, and import makes them anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from memstrata.engine import Engine
from memstrata.errors import NotFoundError, StoreError
from memstrata.ledger.records import HEADER, RECORDS, Record, owner_line, to_line
from memstrata.store.base import Db
from memstrata.types import Scope


async def export(engine: Engine, target: str | Path | IO[Any], scope: Scope | None) -> dict[str, int]:
    """Write an export; see `AsyncMemory.export`. Returns how many lines of each type were written.

    Each owner is read on one snapshot. A file is complete or not there: it is written beside its place and moved in.
    """
    owners = await engine.store.read(lambda db: _owners(db, engine.settings.tenant, scope))
    counts: Counter[str] = Counter()
    with opened(target) as stream:
        await asyncio.to_thread(write_lines, stream, to_line(HEADER))
        for owner in owners:
            lines = await engine.store.read(lambda db: owner_lines(db, engine.settings.tenant, owner))  # noqa: B023
            await asyncio.to_thread(write_lines, stream, b"".join(line for _, line in lines))
            counts.update(kind for kind, _ in lines)
        await asyncio.to_thread(write_lines, stream, to_line({"type": "end", "lines": counts.total()}))
    return dict(counts)


def _owners(db: Db, tenant: str, scope: Scope | None) -> list[str]:
    rows = db.all("SELECT owner FROM owners WHERE tenant = ?", (tenant,))
    owners = sorted(row["owner"] for row in rows)
    if scope is None:
        return owners
    if scope.owner not in owners:
        raise NotFoundError(f"nothing is stored of {'user' if scope.user is not None else 'agent'} {scope.owner[2:]!r}")
    return [scope.owner]


def owner_lines(db: Db, tenant: str, owner: str) -> list[tuple[str, bytes]]:
    """The lines of one owner with their types; none when it was erased meanwhile."""
    row = db.one("SELECT * FROM owners WHERE tenant = ? AND owner = ?", (tenant, owner))
    if row is None:
        return []
    lines = [("owner", owner_line(owner, row))]
    for record in RECORDS:
        lines += [(record.type, line) for line in _lines(db, record, tenant, owner)]
    return lines


def _lines(db: Db, record: Record, tenant: str, owner: str) -> Iterator[bytes]:
    rows = db.all(f"SELECT * FROM {record.table} WHERE tenant = ? AND owner = ?", (tenant, owner))
    # Sorted here and not by the database: collations differ.
    for row in sorted(rows, key=lambda row: tuple(row[name] for name in record.order)):
        yield record.line(row)


def write_lines(stream: Any, data: bytes) -> None:
    """Write to a stream of bytes or of text."""
    stream.write(data.decode() if isinstance(stream, io.TextIOBase) else data)


@contextlib.contextmanager
def opened(target: str | Path | IO[Any]) -> Iterator[IO[Any]]:
    """The stream itself, or a file that takes its place when all went well; only its owner may read it."""
    if not isinstance(target, str | Path):
        yield target
        return
    path = Path(target)
    partial = path.with_name(f"{path.name}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
