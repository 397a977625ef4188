"""What PostgreSQL says otherwise than the portable SQL of this package, and its schema, derived from `schema.sql`.

The rules, all there are:

* `/* FOR UPDATE SKIP LOCKED */`, a remark to SQLite with its one writer, is said to PostgreSQL.
* `?` is `%s`; `max(a, b)` and `min(a, b)` of two columns are `GREATEST` and `LEAST`.
* INTEGER is BIGINT, REAL is DOUBLE PRECISION, BLOB is BYTEA. TEXT has the collation "C", so that texts are compared and
  sorted byte by byte as in a file.
* `WITHOUT ROWID` goes; the first UNIQUE of a table without a primary key is its primary key. Every one begins with the
  tenant (but that of `meta`), so that the tables can be distributed by it.
* Every table of tenants has row-level security: a transaction sees the rows of the tenant that it says in the setting
  `memstrata.rows`, "all" for every tenant's, and none where it says nothing.
* `writers` is PostgreSQL's own.
* What follows the line `-- SQLite only` is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files

SKIP_LOCKED = "FOR UPDATE SKIP LOCKED"
SQLITE_ONLY = "-- SQLite only"
_LITERAL = re.compile(r"('(?:[^']|'')*')")
_OF_TWO = re.compile(r"\b(max|min)\(([\w.]+), ([\w.]+)\)")
_TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})\b")
_INSERT = re.compile(r"INSERT INTO (\w+) \(([\w, ]+)\) VALUES \((.*)\)")
_LITERAL_OR_MARK = re.compile(r"%s|'(?:[^']|'')*'|-?\d+|NULL")

ROWS = "memstrata.rows"  # the setting that says whose rows a transaction sees
ALL_ROWS = "all"
_WALL = (
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",  # for the tables' owner too
    f"CREATE POLICY wall ON {{table}} USING (current_setting('{ROWS}', true) IN ('{ALL_ROWS}', 'of ' || tenant))",
)
# The last commit of each open store, by which one whose connection broke finds out whether it was made. There is room
# for a row to change within its page, so that writers do not meet in the index.
_WRITERS = (
    'CREATE TABLE writers (writer TEXT COLLATE "C" PRIMARY KEY, number BIGINT NOT NULL, opened TIMESTAMPTZ NOT NULL)'
    " WITH (fillfactor = 10)"
)


@lru_cache(maxsize=4096)
def translated(sql: str) -> str:
    """A portable statement as psycopg takes it.

    >>> translated("SELECT max(a.x, b.y) FROM a WHERE c = ? AND d LIKE '%?'")
    "SELECT GREATEST(a.x, b.y) FROM a WHERE c = %s AND d LIKE '%%?'"
    """
    sql = sql.replace(f"/* {SKIP_LOCKED} */", SKIP_LOCKED)
    parts = _LITERAL.split(sql.replace("%", "%%"))
    parts[::2] = (_OF_TWO.sub(_greatest, part).replace("?", "%s") for part in parts[::2])
    return "".join(parts)


@lru_cache(maxsize=4096)
def tables_in(sql: str) -> frozenset[str]:
    """The tables that a statement may be about: the words in it that name one."""
    return frozenset(re.findall(r"\w+", sql)) & _columns().keys()


@lru_cache(maxsize=256)
def bulk_insert(sql: str) -> tuple[str, tuple[str, ...]] | None:
    """An insert of one row as one statement for many, each parameter the list of a column; None for other statements.

    With it, the type of each of these columns.

    >>> bulk_insert("INSERT INTO meta (key, value) VALUES (%s, %s)")[0]
    'INSERT INTO meta (key, value) SELECT c0, c1 FROM unnest(%s::TEXT[], %s::TEXT[]) AS given (c0, c1)'
    """
    found = _INSERT.fullmatch(sql)
    if found is None:
        return None
    table, columns, values = found[1], found[2].split(", "), _LITERAL_OR_MARK.findall(found[3])
    if len(values) != len(columns):
        return None
    marked = [_columns()[table][column] for column, value in zip(columns, values) if value == "%s"]
    places = iter(range(len(marked)))
    chosen = ", ".join(f"c{next(places)}" if value == "%s" else value for value in values)
    arrays = ", ".join(f"%s::{kind}[]" for kind in marked)
    names = ", ".join(f"c{place}" for place in range(len(marked)))
    query = f"INSERT INTO {table} ({found[2]}) SELECT {chosen} FROM unnest({arrays}) AS given ({names})"
    return query, tuple(marked)


@cache
def _columns() -> dict[str, dict[str, str]]:
    """The type of each column of each table."""
    tables = {}
    for statement in postgres_schema():
        if found := re.match(r"CREATE TABLE (\w+)", statement):
            tables[found[1]] = dict(re.findall(r"(\w+) (BIGINT|DOUBLE PRECISION|BYTEA|TEXT)\b", statement))
    return tables


def _greatest(found: re.Match[str]) -> str:
    name = "GREATEST" if found[1] == "max" else "LEAST"
    return f"{name}({found[2]}, {found[3]})"


def rows_of(tenant: str | None) -> str:
    """The value of the setting `memstrata.rows` for a tenant, or for all."""
    return ALL_ROWS if tenant is None else f"of {tenant}"


def schema_text() -> str:
    """The tables of every store, as SQLite takes them."""
    return files("memstrata.store").joinpath("schema.sql").read_text("utf-8")


def statements(script: str) -> Iterator[str]:
    """The statements of a script, without its comments."""
    code = "\n".join(line.split("--")[0] for line in script.splitlines())
    yield from (statement.strip() for statement in code.split(";") if statement.strip())


def postgres_schema() -> list[str]:
    """The statements that make the tables and indexes in PostgreSQL."""
    return [*postgres_statements(schema_text()), _WRITERS]


def postgres_statements(script: str) -> list[str]:
    """A portable script of tables, indexes and changes of them for PostgreSQL, with the walls of new tables."""
    portable = list(statements(script.partition(SQLITE_ONLY)[0]))
    tables = [statement.split()[2] for statement in portable if statement.startswith("CREATE TABLE")]
    walls = [wall.format(table=table) for table in tables if table != "meta" for wall in _WALL]
    return [*map(_for_postgres, portable), *walls]


def _for_postgres(statement: str) -> str:
    if statement.startswith("CREATE TABLE"):
        if "PRIMARY KEY" not in statement:
            statement = statement.replace("UNIQUE (", "PRIMARY KEY (", 1)
        return _TYPE.sub(lambda found: _TYPES[found[1]], statement.replace(" WITHOUT ROWID", ""))
    if statement.startswith("ALTER TABLE"):
        return _TYPE.sub(lambda found: _TYPES[found[1]], statement)
    return statement
