"""API keys: hashed, of one tenant, with rights, perhaps of one user; made, rotated and revoked.

They lie in a file of the service's own, beside the store: an export or a copy of the memory holds no credential. A key
is `ms_ID_SECRET`. The secret has 256 random bits, so one round of SHA-256 is as good as a slow hash; only that is
stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import orjson

from memstrata.errors import ConflictError, InputError, NotFoundError, SettingsError, StoreError, StoreFormatError
from memstrata.face.base import OF_THE_STORE
from memstrata.intake.scope import scope_of
from memstrata.server.verbs import Right
from memstrata.settings import load_settings
from memstrata.store.connection import typed_errors

APPLICATION_ID = 0x6D73616B  # "msak"
SCHEMA_VERSION = 1
MARK = "ms"
NOT_OF_A_TENANT = (*OF_THE_STORE, "tenant", "preset", "worker")
RIGHTS: tuple[Right, ...] = get_args(Right)
SCHEMA = """
CREATE TABLE keys (
  id TEXT PRIMARY KEY, tenant TEXT NOT NULL, hash BLOB NOT NULL, rights TEXT NOT NULL, user TEXT, agent TEXT,
  name TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL, revoked_at REAL
);
CREATE TABLE tenants (tenant TEXT PRIMARY KEY, rules TEXT NOT NULL);
CREATE TABLE audit (
  at REAL NOT NULL, tenant TEXT NOT NULL, credential TEXT NOT NULL, verb TEXT NOT NULL, right TEXT NOT NULL,
  subject TEXT NOT NULL, status INTEGER NOT NULL, request TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (tenant, at);
CREATE TABLE service (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of an API key. `user` and `agent`, where set, are the only ones that it may name."""

    id: str
    tenant: str
    rights: tuple[Right, ...]
    user: str | None
    agent: str | None
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    @property
    def is_valid(self) -> bool:
        now = datetime.now(UTC)
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for one tenant: `settings` that differ from the service's, and quotas (None: those of the service)."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    requests_a_minute: int | None = None
    max_turns: int | None = None

    def check(self) -> None:
        """Raise SettingsError for settings that cannot be a tenant's own, InputError for quotas below 1."""
        if ours := [name for name in self.settings if name in NOT_OF_A_TENANT]:
            raise SettingsError(f"{', '.join(ours)} cannot be set for one tenant: it is the whole service's")
        load_settings(**self.settings)
        for name in ("requests_a_minute", "max_turns"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= 1):
                raise InputError(f"{name} must be a whole number of 1 or more, not {value!r}")


def no_rules(tenant: str) -> Rules:
    """Every tenant is as the service is."""
    del tenant
    return Rules()


@dataclass(frozen=True, slots=True)
class Access:
    """One line of the audit log: who called which verb about whose memory, and what came of it. No memory text.

    `subject` is a keyed hash of the user or agent, so that an erased name is nowhere in it; `AccessFile.subject_of`
    gives the hash of a name that is looked for.
    """

    at: datetime
    tenant: str
    credential: str
    verb: str
    right: str
    subject: str
    status: int
    request: str


class AccessFile:
    """The service's own file: keys, settings of tenants, the audit log. Shared by threads and processes.

    Raises StoreFormatError for a file that is another's, StoreError where it cannot be opened or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._guard = threading.Lock()
        try:
            if not Path(self.path).exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # its owner's only
        except OSError as error:
            raise StoreError(f"{path} cannot be made: {error.strerror}. Check the folder and its rights.") from error
        with typed_errors(self.path):
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
            self._db.row_factory = sqlite3.Row
            try:
                self._prepare()
            except (sqlite3.Error, StoreError):
                self._db.close()
                raise
        self._secret = self._service_secret()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA secure_delete = ON")
        self._db.execute("BEGIN IMMEDIATE")
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        tables = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if (application != APPLICATION_ID and (application or version or tables)) or version > SCHEMA_VERSION:
            self._db.execute("ROLLBACK")
            raise StoreFormatError(f"{self.path} is no access file of this memstrata; choose another with --access")
        if version == 0:
            for statement in SCHEMA.split(";"):
                if statement.strip():
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._db.execute("COMMIT")
        if version == 0:
            self._db.execute("PRAGMA journal_mode = WAL")

    def _service_secret(self) -> bytes:
        """The key of the hashes in the audit log, made once."""
        with self._guard:
            self._db.execute("INSERT OR IGNORE INTO service VALUES ('subjects', ?)", (secrets.token_bytes(32),))
            row = self._db.execute("SELECT value FROM service WHERE name = 'subjects'").fetchone()
        return bytes(row["value"])

    def close(self) -> None:
        with self._guard:
            self._db.close()

    def _run(self, sql: str, params: Iterable[object] = ()) -> list[sqlite3.Row]:
        with self._guard, typed_errors(self.path), closing(self._db.execute(sql, tuple(params))) as cursor:
            return cursor.fetchall()

    # keys -------------------------------------------------------------------------------------------------------------

    def create(
        self,
        tenant: str,
        rights: Iterable[str],
        *,
        user: str | None = None,
        agent: str | None = None,
        name: str = "",
        expires_at: datetime | None = None,
    ) -> tuple[str, Key]:
        """A new key: its text, which is told only here, and what is known of it. Raises InputError, ScopeError."""
        scope_of(tenant, user or "-", agent)  # the ids are checked as those of a call
        wanted = tuple(dict.fromkeys(rights))
        if not wanted or (unknown := [right for right in wanted if right not in RIGHTS]):
            raise InputError(f"rights are some of {', '.join(RIGHTS)}, not {(unknown if wanted else wanted)!r}")
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        until = None if expires_at is None else expires_at.timestamp()
        row = (key_id, tenant, _hash(secret), " ".join(wanted), user, agent, name, time.time(), until, None)
        self._run("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return f"{MARK}_{key_id}_{secret}", self.key(key_id)

    def key(self, key_id: str) -> Key:
        rows = self._run("SELECT * FROM keys WHERE id = ?", (key_id,))
        if not rows:
            raise NotFoundError(f"no key {key_id!r}; `memstrata keys list` shows all")
        return _key_of(rows[0])

    def keys(self, tenant: str | None = None) -> tuple[Key, ...]:
        where, params = ("", ()) if tenant is None else (" WHERE tenant = ?", (tenant,))
        return tuple(map(_key_of, self._run(f"SELECT * FROM keys{where} ORDER BY tenant, created_at, id", params)))

    def revoke(self, key_id: str) -> Key:
        """Refuse a key from now on."""
        self.key(key_id)
        self._run("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (time.time(), key_id))
        return self.key(key_id)

    def rotate(self, key_id: str, *, grace_seconds: float = 0.0) -> tuple[str, Key]:
        """A new key like an old one, which holds for `grace_seconds` more. Raises ConflictError for one not valid."""
        old = self.key(key_id)
        if not old.is_valid:
            raise ConflictError(f"key {key_id!r} is revoked or has expired: create a new one")
        made = self.create(
            old.tenant, old.rights, user=old.user, agent=old.agent, name=old.name, expires_at=old.expires_at
        )
        self._run(
            "UPDATE keys SET expires_at = min(coalesce(expires_at, 1e18), ?) WHERE id = ?",
            (time.time() + grace_seconds, key_id),
        )
        return made

    def check(self, text: str) -> Key | None:
        """The valid key that this text is, or None. Takes as long whether or not such a key is there."""
        mark, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        rows = self._run("SELECT * FROM keys WHERE id = ?", (key_id,))
        wanted = rows[0]["hash"] if rows else bytes(32)
        same = hmac.compare_digest(_hash(secret), wanted)
        if not (same and rows and mark == MARK):
            return None
        key = _key_of(rows[0])
        return key if key.is_valid else None

    # settings of tenants ----------------------------------------------------------------------------------------------

    def rules_of(self, tenant: str) -> Rules:
        """What is set for a tenant."""
        rows = self._run("SELECT rules FROM tenants WHERE tenant = ?", (tenant,))
        return Rules(**orjson.loads(rows[0]["rules"])) if rows else Rules()

    def set_rules(self, tenant: str, rules: Rules) -> Rules:
        """Set what holds for a tenant, in place of what was set. Raises SettingsError, InputError, ScopeError."""
        scope_of(tenant, "-")
        rules.check()
        self._run(
            "INSERT INTO tenants VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET rules = excluded.rules",
            (tenant, orjson.dumps(rules).decode()),
        )
        return rules

    # audit ------------------------------------------------------------------------------------------------------------

    def subject_of(self, owner: str) -> str:
        """The hash that stands for an owner ("u:NAME" or "a:NAME") in the audit log."""
        return hashlib.blake2b(owner.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=12).hexdigest()

    def write_audit(self, lines: Iterable[Access]) -> None:
        rows = [
            (
                line.at.timestamp(),
                line.tenant,
                line.credential,
                line.verb,
                line.right,
                line.subject,
                line.status,
                line.request,
            )
            for line in lines
        ]
        with self._guard, typed_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")

    def trim_audit(self, before: datetime) -> int:
        """Delete the lines of the audit log that are older; returns how many."""
        with self._guard, typed_errors(self.path):
            return self._db.execute("DELETE FROM audit WHERE at < ?", (before.timestamp(),)).rowcount

    def audit(self, *, tenant: str | None = None, owner: str | None = None, limit: int = 100) -> tuple[Access, ...]:
        """The newest lines of the audit log, newest first."""
        conditions: list[str] = ["1 = 1"]
        params: list[object] = []
        if tenant is not None:
            conditions, params = [*conditions, "tenant = ?"], [*params, tenant]
        if owner is not None:
            conditions, params = [*conditions, "subject = ?"], [*params, self.subject_of(owner)]
        rows = self._run(
            f"SELECT * FROM audit WHERE {' AND '.join(conditions)} ORDER BY at DESC, rowid DESC LIMIT ?",
            (*params, limit),
        )
        return tuple(Access(_time(row["at"]), *list(row)[1:]) for row in rows)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _time(value: float) -> datetime:
    return datetime.fromtimestamp(value, UTC)


def _key_of(row: sqlite3.Row) -> Key:
    expires, revoked = row["expires_at"], row["revoked_at"]
    return Key(
        row["id"],
        row["tenant"],
        tuple(row["rights"].split()),
        row["user"],
        row["agent"],
        row["name"],
        _time(row["created_at"]),
        None if expires is None else _time(expires),
        None if revoked is None else _time(revoked),
    )
