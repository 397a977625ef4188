"""What PostgreSQL says otherwise than the portable SQL of this package, and its schema, derived from `schema.sql`.

The rules, all there are:

* `?` is `%s`; `max(a, b)` and `min(a, b)` of two columns are `GREATEST` and `LEAST`.
* INTEGER is BIGINT, REAL is DOUBLE PRECISION, BLOB is BYTEA. TEXT has the collation "C", so that texts are compared and
  sorted byte by byte as in a file.
* `WITHOUT ROWID` goes; the first UNIQUE of a table without a primary key is its primary key. Every one begins with the
  tenant (but that of `meta`), so that the tables can be distributed by it.
* What follows the line `-- SQLite only` is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

SQLITE_ONLY = "-- SQLite only"
_LITERAL = re.compile(r"('(?:[^']|'')*')")
_OF_TWO = re.compile(r"\b(max|min)\(([\w.]+), ([\w.]+)\)")
_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})\b")


@lru_cache(maxsize=4096)
def translated(sql: str) -> str:
    """A portable statement as psycopg takes it.

    >>> translated("SELECT max(a.x, b.y) FROM a WHERE c = ? AND d LIKE '%?'")
    "SELECT GREATEST(a.x, b.y) FROM a WHERE c = %s AND d LIKE '%%?'"
    """
    parts = _LITERAL.split(sql.replace("%", "%%"))
    parts[::2] = (_OF_TWO.sub(_greatest, part).replace("?", "%s") for part in parts[::2])
    return "".join(parts)


def _greatest(found: re.Match[str]) -> str:
    name = "GREATEST" if found[1] == "max" else "LEAST"
    return f"{name}({found[2]}, {found[3]})"


def schema_text() -> str:
    """The tables of every store, as SQLite takes them."""
    return files("memstrata.store").joinpath("schema.sql").read_text("utf-8")


def statements(script: str) -> Iterator[str]:
    """The statements of a script, without its comments."""
    code = "\n".join(line.split("--")[0] for line in script.splitlines())
    yield from (statement.strip() for statement in code.split(";") if statement.strip())


def postgres_schema() -> list[str]:
    """The statements that make the tables and indexes in PostgreSQL."""
    return [_for_postgres(statement) for statement in statements(schema_text().partition(SQLITE_ONLY)[0])]


def _for_postgres(statement: str) -> str:
    if statement.startswith("CREATE TABLE"):
        if "PRIMARY KEY" not in statement:
            statement = statement.replace("UNIQUE (", "PRIMARY KEY (", 1)
        statement = _TYPE.sub(lambda found: _TYPES[found[1]], statement.replace(" WITHOUT ROWID", ""))
    return statement
