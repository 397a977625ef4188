"""The operation log: every write goes through a `Recorder`, so that each is explained, undoable and replayable.

A recorder belongs to one operation of one owner inside one transaction. It inserts and updates rows, writes what
changed to `changes`, marks what must be searched anew, and at the end stores the operation with its receipt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memstrata import trace
from memstrata.store.base import Db, Row
from memstrata.store.counters import Counters, load_counters, save_counters
from memstrata.store.kinds import NOTE, PAGE, TURN
from memstrata.store.rows import dump, insert, to_us
from memstrata.types import Scope

# The key columns of each table that an operation can change; `changes.ref` joins them.
KEYS: Mapping[str, tuple[str, ...]] = {
    "turns": ("no",),
    "pages": ("no",),
    "notes": ("no",),
    "links": ("source", "target", "type"),
    "evidence": ("note", "turn"),
    "feedback": ("decision",),
}
UNLOGGED = frozenset({"drafts"})  # made again from the turns when an undo needs them
UNIT_KIND: Mapping[str, int] = {"notes": NOTE, "pages": PAGE, "turns": TURN}


def child_id(prefix: str, operation: str, n: int) -> str:
    """The id of the n-th thing an operation makes: derived, so that a replay gives the same ids."""
    digest = hashlib.blake2b(f"{operation}/{prefix}/{n}".encode(), digest_size=10).hexdigest()
    return f"{prefix}_{digest}"


@dataclass(slots=True)
class Recorder:
    """Writes of one operation, inside one transaction.

    `resume=True` goes on with an operation that is stored already: `remember` commits its decision under the
    operation that stored its turn.
    """

    db: Db
    scope: Scope
    operation: str
    verb: str
    now: datetime
    resume: bool = False
    counter: Counters = field(init=False)
    notes_touched: bool = field(default=False, init=False)
    _changes: list[tuple[str, str, str | None, str | None]] = field(default_factory=list, init=False)
    _units: set[tuple[int, int]] = field(default_factory=set, init=False)
    _first_change: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.counter = load_counters(self.db, *self.key)
        self.counter.changed += 1
        if not self.resume:
            self.counter.seq += 1
            return
        row = self.db.one(
            "SELECT count(*) AS n FROM changes WHERE tenant = ? AND owner = ? AND op = ?", (*self.key, self.operation)
        )
        self._first_change = row["n"] if row else 0

    @property
    def key(self) -> tuple[str, str]:
        return (self.scope.tenant, self.scope.owner)

    @property
    def agent(self) -> str:
        return self.scope.agent or ""

    # rows -------------------------------------------------------------------------------------------------------------

    def insert(self, table: str, row: Mapping[str, object]) -> None:
        insert(self.db, table, *self.key, row)
        ref = "/".join(str(row[name]) for name in KEYS[table])
        self._changes.append((table, ref, None, None))
        if table == "notes":
            self.notes_touched = True

    def select(self, table: str, key: Sequence[object]) -> Row | None:
        where = " AND ".join(f"{name} = ?" for name in KEYS[table])
        return self.db.one(f"SELECT * FROM {table} WHERE tenant = ? AND owner = ? AND {where}", (*self.key, *key))

    def update(self, table: str, key: Sequence[object], values: Mapping[str, object]) -> bool:
        """Change columns of one row and log old and new values; False when nothing differs."""
        columns = ", ".join((*KEYS[table], *values, *(("revision",) if table == "notes" else ())))
        where = " AND ".join(f"{name} = ?" for name in KEYS[table])
        sql = f"SELECT {columns} FROM {table} WHERE tenant = ? AND owner = ? AND {where}"
        row = self.db.one(sql, (*self.key, *key))
        if row is None:
            return False
        new = {name: value for name, value in values.items() if row[name] != value}
        if not new:
            return False
        before = {name: row[name] for name in new}
        if table == "notes":
            self.notes_touched = True
            new["revision"] = row["revision"] + 1
        assignments = ", ".join(f"{name} = ?" for name in new)
        self.db.run(
            f"UPDATE {table} SET {assignments} WHERE tenant = ? AND owner = ? AND {where}",
            (*new.values(), *self.key, *key),
        )
        before = {name: value for name, value in before.items() if name not in UNLOGGED}
        after = {name: new[name] for name in before}
        self._changes.append((table, "/".join(map(str, key)), dump(before), dump(after)))
        if table in UNIT_KIND:
            self.mark(table, int(str(key[0])))
        return True

    def overwrite(self, table: str, no: int, values: Mapping[str, object]) -> None:
        """Change columns of a note or page as a new revision that the log does not tell: for what goes for good."""
        if table == "notes":
            self.notes_touched = True
        revision = ", revision = revision + 1" if table == "notes" else ""
        assignments = ", ".join(f"{name} = ?" for name in values)
        self.db.run(
            f"UPDATE {table} SET {assignments}{revision} WHERE tenant = ? AND owner = ? AND no = ?",
            (*values.values(), *self.key, no),
        )
        self.mark(table, no)

    def update_alike(
        self, table: str, numbers: Sequence[int], before: Mapping[str, object], after: Mapping[str, object]
    ) -> None:
        """The same change of several rows of turns or pages, all of which have the values `before`."""
        assignments = ", ".join(f"{name} = ?" for name in after)
        self.db.many(
            f"UPDATE {table} SET {assignments} WHERE tenant = ? AND owner = ? AND no = ?",
            [(*after.values(), *self.key, no) for no in numbers],
        )
        old, new = dump(before), dump(after)
        for no in numbers:
            self._changes.append((table, str(no), old, new))
            self.mark(table, no)

    def delete(self, table: str, key: Sequence[object]) -> bool:
        """Remove a link or an evidence row; its old columns stay in the log."""
        row = self.select(table, key)
        if row is None:
            return False
        where = " AND ".join(f"{name} = ?" for name in KEYS[table])
        self.db.run(f"DELETE FROM {table} WHERE tenant = ? AND owner = ? AND {where}", (*self.key, *key))
        before = {name: row[name] for name in row.keys() if name not in ("tenant", "owner")}  # noqa: SIM118
        self._changes.append((table, "/".join(map(str, key)), dump(before), None))
        return True

    def mark(self, table: str, no: int) -> None:
        """What is searched of this row changed: readers refresh it."""
        self._units.add((UNIT_KIND[table], no))

    # work -------------------------------------------------------------------------------------------------------------

    def enqueue(self, kind: str, payload: Mapping[str, Any], *, agent: str | None = None) -> None:
        if (parent := trace.parent()) is not None:
            payload = {**payload, trace.PARENT: parent}
        self.db.run(
            "INSERT INTO jobs (tenant, owner, no, kind, agent, payload, op, state, run_after)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?)",
            (
                *self.key,
                self.counter.next_job,
                kind,
                self.agent if agent is None else agent,
                dump(payload),
                self.operation,
                to_us(self.now),
            ),
        )
        self.counter.next_job += 1

    def finish(
        self,
        payload: Mapping[str, Any],
        receipt: Any,
        *,
        idempotency_key: str | None = None,
        digest: str | None = None,
    ) -> None:
        """Store the operation, its changes and its receipt, and the counters."""
        counter = self.counter
        if self.notes_touched:
            counter.notes_changed += 1
        self.db.many(
            "UPDATE units SET changed = ? WHERE tenant = ? AND owner = ? AND kind = ? AND ref = ?",
            [(counter.changed, *self.key, kind, ref) for kind, ref in sorted(self._units)],
        )
        self.db.many(
            "INSERT INTO changes (tenant, owner, op, n, tbl, ref, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(*self.key, self.operation, n, *change) for n, change in enumerate(self._changes, self._first_change)],
        )
        save_counters(self.db, *self.key, counter)
        if self.resume:
            self.db.run(
                "UPDATE operations SET receipt = ? WHERE tenant = ? AND owner = ? AND id = ?",
                (dump(receipt), *self.key, self.operation),
            )
            return
        self.db.run(
            "INSERT INTO operations (tenant, owner, id, seq, verb, agent, session, at, payload, receipt,"
            " idempotency_key, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *self.key,
                self.operation,
                counter.seq,
                self.verb,
                self.agent,
                self.scope.session or "",
                to_us(self.now),
                dump(payload),
                dump(receipt),
                idempotency_key,
                digest,
            ),
        )
