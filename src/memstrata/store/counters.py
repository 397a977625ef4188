"""The counters of an owner: read once at the start of a transaction, written back at its end."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.store.base import Db

COLUMNS = (
    "seq",
    "changed",
    "notes_changed",
    "next_turn",
    "next_page",
    "next_note",
    "next_unit",
    "next_job",
    "epoch",
    "purged",
)


@dataclass(slots=True)
class Counters:
    """See the `owners` table for what each counts."""

    seq: int = 0
    changed: int = 0
    notes_changed: int = 0
    next_turn: int = 1
    next_page: int = 1
    next_note: int = 1
    next_unit: int = 1
    next_job: int = 1
    epoch: int = 0
    purged: int = 0


def load_counters(db: Db, tenant: str, owner: str) -> Counters:
    """The counters of an owner, who is created when new.

    An owner that comes again after an erasure starts at another epoch, so that no process takes what it still has in
    memory for this one's.
    """
    row = db.one(f"SELECT {', '.join(COLUMNS)} FROM owners WHERE tenant = ? AND owner = ?", (tenant, owner))
    if row is None:
        erased = db.one("SELECT count(*) AS n FROM erasures WHERE tenant = ?", (tenant,))
        counters = Counters(epoch=erased["n"] if erased else 0)
        db.run("INSERT INTO owners (tenant, owner, epoch) VALUES (?, ?, ?)", (tenant, owner, counters.epoch))
        return counters
    return Counters(*row)


def save_counters(db: Db, tenant: str, owner: str, counters: Counters) -> None:
    assignments = ", ".join(f"{name} = ?" for name in COLUMNS)
    values = [getattr(counters, name) for name in COLUMNS]
    db.run(f"UPDATE owners SET {assignments} WHERE tenant = ? AND owner = ?", (*values, tenant, owner))
