"""Workers of many processes and machines are woken by LISTEN and NOTIFY when somebody queues a job.

A notification is sent after the commit, in a statement of its own: within the transaction, the server would make every
such commit wait for the one before it. One that is lost costs time, nothing else: the job is in the table.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable

import psycopg
from psycopg import sql

from memstrata.store.postgres_link import Connection


def channel(schema: str) -> sql.Identifier:
    """The channel of a store. A name in PostgreSQL has at most 63 bytes."""
    return sql.Identifier(f"memstrata_{hashlib.sha256(schema.encode()).hexdigest()[:32]}")


def tell(connection: Connection, schema: str) -> None:
    """Wake whoever waits. What goes wrong here is no error: the connection's next statement will say it."""
    with contextlib.suppress(psycopg.Error):
        connection.execute(sql.SQL("NOTIFY {}").format(channel(schema)))


class Listener:
    """Waits for jobs, on a connection of its own that is opened at the first wait. For one thread at a time."""

    def __init__(self, connect: Callable[[], Connection], schema: str) -> None:
        self._connect, self._schema = connect, schema
        self._connection: Connection | None = None

    def wait(self, seconds: float) -> bool:
        """Wait until a job was queued, or so long; True when one may have been, also while nobody listened."""
        until = time.monotonic() + seconds
        try:
            if self._connection is None:
                self._connection = self._connect()
                self._connection.execute(sql.SQL("LISTEN {}").format(channel(self._schema)))
                return True
            return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))
        except psycopg.Error:
            self.close()
            time.sleep(max(0.0, until - time.monotonic()))
            return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
