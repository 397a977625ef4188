"""Which store an address means."""

from __future__ import annotations

from pathlib import Path

from memstrata.embed.base import require
from memstrata.store.addresses import is_server
from memstrata.store.base import Store
from memstrata.store.sqlite import SqliteStore


def open_store(address: str | Path) -> Store:
    """The store at an address: a path, ":memory:", or `postgresql://...`.

    Raises MissingExtraError where what it needs is not installed, StoreError where it cannot be opened.
    """
    if is_server(address):
        require("psycopg_pool", "a store in PostgreSQL", "postgres")
        from memstrata.store.postgres import PostgresStore

        return PostgresStore(str(address))
    return SqliteStore(address)
