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


def reindex_mark(tenant: str) -> str:
    """The key in `meta` under which an unfinished reindex keeps the last owner it has done."""
    return f"reindex/{tenant}"
