"""From one schema to the next: numbered files of portable SQL, `0002_what_changes.sql` and so on.

A new store is made by `schema.sql`, which is the newest schema; a test holds that schema 1 and all migrations come to
the same. A file makes its own number of the one before. Both kinds of store read these files, apply what they lack in
one transaction and only then note the new version. What only SQLite understands stands behind `-- SQLite only`, as in
`schema.sql`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

NAME = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """What makes schema `version` of the one before; `script` is SQL."""

    version: int
    name: str
    script: str


def migrations() -> tuple[Migration, ...]:
    """All migrations, in order; the first makes schema 2."""
    found = []
    for file in files(__package__).iterdir():
        if match := NAME.fullmatch(file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text("utf-8")))
    return tuple(sorted(found, key=lambda each: each.version))


def between(version: int, wanted: int) -> tuple[Migration, ...]:
    """What makes schema `wanted` of schema `version`.

    Raises LookupError where a step is missing.
    """
    steps = tuple(each for each in migrations() if version < each.version <= wanted)
    if [each.version for each in steps] != list(range(version + 1, wanted + 1)):
        raise LookupError(f"there is no way from schema {version} to {wanted}")
    return steps
