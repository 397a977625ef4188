"""The tables that hold rows of owners, by name: what an erasure empties, an export writes and a reindex makes anew.

A test compares these lists with the schema, so that a new table cannot be forgotten here.
"""

from __future__ import annotations

TRUTH = (
    "owners",
    "scopes",
    "sessions",
    "turns",
    "pages",
    "notes",
    "evidence",
    "links",
    "names",
    "decisions",
    "feedback",
    "operations",
    "changes",
    "jobs",
    "served",
)
DERIVED = ("units", "vectors", "next_vectors")
ACCOUNTS = ("calls",)  # what work cost here: erased with its owner, no part of an export
OWNED = TRUTH + DERIVED + ACCOUNTS

# What tells one row of a table from another, in the order of its index: reading goes on after such a key.
_OWN = {
    "owners": (),
    "scopes": ("agent",),
    "sessions": ("agent", "session"),
    "turns": ("no",),
    "pages": ("no",),
    "notes": ("no",),
    "evidence": ("note", "turn"),
    "links": ("source", "target", "type"),
    "names": ("name", "note"),
    "decisions": ("id",),
    "feedback": ("decision",),
    "operations": ("id",),
    "changes": ("op", "n"),
    "jobs": ("no",),
    "served": ("agent", "session", "note"),
    "units": ("no",),
    "vectors": ("unit", "chunk"),
    "next_vectors": ("model", "digest"),
    "calls": ("id",),
}
KEYS: dict[str, tuple[str, ...]] = {
    **{table: ("tenant", "owner", *own) for table, own in _OWN.items()},
    "erasures": ("tenant", "id"),
    "meta": ("key",),
}
COPYING = "copying"  # key in `meta` of a store that is the unfinished copy of another
STORE_ID = "store_id"  # key in `meta`: the name by which stores that share a hot tier are told apart
DATA = tuple(table for table in KEYS if table != "meta")  # all rows that are somebody's


def reindex_mark(tenant: str) -> str:
    """The key in `meta` under which an unfinished reindex keeps the last owner it has done."""
    return f"reindex/{tenant}"
