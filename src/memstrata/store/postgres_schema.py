"""The tables of a store in PostgreSQL: made in an empty schema, brought to the newest version in an older one."""

from __future__ import annotations

import psycopg
from psycopg import sql

from memstrata.errors import StoreFormatError
from memstrata.store import migrations
from memstrata.store.dialect import ALL_ROWS, ROWS, postgres_schema, postgres_statements
from memstrata.store.postgres_link import Connection, is_lost

SCHEMA_VERSION = 1
MARK = "memstrata schema "  # the schema's comment, which tells ours from another program's


def prepare(connection: Connection, schema: str, where: str) -> None:
    """Make the schema, or check that this one is ours, and bring it to the newest version.

    Of many processes one does the work and the others wait for it; whatever fails, the schema is as before. `where` is
    the database's name for messages.

    Raises StoreFormatError for what is another program's or newer, or a step that fails; psycopg.Error.
    """
    encoding = connection.execute("SHOW server_encoding").fetchone()[0]  # type: ignore[index]
    if encoding != "UTF8":
        raise StoreFormatError(
            f"{where} has the encoding {encoding}: create the database with ENCODING 'UTF8' TEMPLATE template0"
        )
    if _version(connection, schema, where) == SCHEMA_VERSION:
        return
    with connection.transaction():
        # Whoever comes second waits here and finds the schema made.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"memstrata/{schema}",))
        version = _version(connection, schema, where)
        if version == SCHEMA_VERSION:
            return
        name = sql.Identifier(schema)
        if version == 0:
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            for statement in postgres_schema():
                connection.execute(statement.encode())
        else:
            _upgrade(connection, version, where)
        connection.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(name, sql.Literal(f"{MARK}{SCHEMA_VERSION}")))


def _upgrade(connection: Connection, version: int, where: str) -> None:
    """Apply what is between a version and the newest, in the transaction that is open."""
    connection.execute("SELECT set_config(%s, %s, true)", (ROWS, ALL_ROWS))  # a step may change rows of every tenant
    try:
        for step in migrations.between(version, SCHEMA_VERSION):
            for statement in postgres_statements(step.script):
                connection.execute(statement.encode())
    except (psycopg.Error, LookupError) as error:
        if isinstance(error, psycopg.OperationalError) or is_lost(error):
            raise
        raise StoreFormatError(
            f"{where} could not be brought from schema {version} to {SCHEMA_VERSION} ({error}); it is as before. "
            "Go on with the memstrata that wrote it, and report this."
        ) from error


def _version(connection: Connection, schema: str, where: str) -> int:
    """The version of the schema; 0 when it is missing or empty."""
    row = connection.execute(
        "SELECT obj_description(n.oid, 'pg_namespace') AS mark,"
        " (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid) AS tables"
        " FROM pg_namespace n WHERE n.nspname = %s",
        (schema,),
    ).fetchone()
    if row is None or (row["mark"] is None and not row["tables"]):
        return 0
    mark = row["mark"] or ""
    if not mark.startswith(MARK) or not mark.removeprefix(MARK).isdigit():
        if not row["tables"]:
            return 0
        raise StoreFormatError(f"the schema {schema!r} of {where} is another program's; choose another: ?schema=NAME")
    version = int(mark.removeprefix(MARK))
    if version > SCHEMA_VERSION:
        raise StoreFormatError(
            f"{where} has schema {version}, this memstrata knows up to {SCHEMA_VERSION}: "
            "pip install --upgrade memstrata"
        )
    return version
