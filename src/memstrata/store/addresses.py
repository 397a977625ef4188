"""What the address of a store says: a file's path, or a database server's."""

from __future__ import annotations

from pathlib import Path

SERVERS = ("postgresql://", "postgres://")


def is_server(address: str | Path) -> bool:
    """Whether an address means a database server, not a file."""
    return isinstance(address, str) and address.startswith(SERVERS)


def is_there(address: str | Path) -> bool:
    """Whether a store can be there: of a server, only opening it tells."""
    return is_server(address) or Path(address).exists()


def access_beside(address: str | Path) -> Path:
    """The file of a service's keys where none is named: beside the store's, or in this folder for a server's."""
    path = Path("memory.db" if is_server(address) else address)
    return path.with_name(f"{path.name}.access")
