"""Load a service of many tenants: fill a store, then ask it as fast as it answers, then mix reads and writes.

    python tools/load_service.py [--tenants 1000] [--seconds 60] [--minutes 10] [--clients 16] [--processes 1]
        [--store FILE]

Every tenant has a key of its own and one user; half of them have 20 turns, one in fifty has 800. The service runs as
`memstrata serve` does, in a process of its own, with the embedder "hashing", so that no encoder is measured; the
callers run here and share the machine with it. Printed are recalls a second with p50 and p95, the service's CPU of
each, then for the mix its errors, calls by verb, and the service's memory minute by minute. With --store a filled
store is used again.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import psutil
from rich.progress import track

from memstrata import AsyncMemory
from memstrata.bench.talk import questions, sessions
from memstrata.server.keys import AccessFile
from memstrata.store.addresses import access_beside
from memstrata.store.base import Db
from memstrata.store.tables import OWNED

ASKING = 4  # callers of the first part
SIZES = {800: 0.02, 200: 0.13, 60: 0.35, 20: 0.5}  # turns of a tenant: share of the tenants
MIX = (("recall", 70), ("add", 20), ("context", 5), ("list", 5))


async def fill(store: Path, tenants: int) -> int:
    """A store of so many tenants, all work done; returns how many notes it has.

    A conversation of each size goes the whole way; its rows are then given to all tenants of that size.
    """
    root = AsyncMemory(store, embedder="hashing", worker=False)
    places = random.Random(0).sample(range(tenants), tenants)
    for size, share in track(SIZES.items(), "filling"):
        chosen = [f"tenant-{places.pop()}" for _ in range(max(1, round(share * tenants))) if places]
        if not chosen:
            break
        memory, left = root._for_tenant(chosen[0]), size
        for session in sessions(seed=size):
            await memory.add(session.messages[:left], user_id="ana", session_id=session.id)
            await memory.end_session(user_id="ana", session_id=session.id)
            left -= len(session.messages)
            if left <= 0:
                break
        await memory.flush()
        await memory.distil(user_id="ana")
        await memory.close()
        for tenant in chosen[1:]:
            await root._engine.store.write(lambda db: copy_tenant(db, chosen[0], tenant))  # noqa: B023
    row = await root._engine.store.read(lambda db: db.one("SELECT count(*) AS n FROM notes WHERE state = 'current'"))
    await root.close()
    return int(row["n"]) if row else 0


def copy_tenant(db: Db, source: str, target: str) -> None:
    """Give one tenant all rows that another has: every key begins with the tenant."""
    for table in OWNED:
        columns = [row["name"] for row in db.all(f"PRAGMA table_info({table})") if row["name"] != "tenant"]
        names = ", ".join(columns)
        db.run(
            f"INSERT INTO {table} (tenant, {names}) SELECT ?, {names} FROM {table} WHERE tenant = ?", (target, source)
        )


class Service:
    """`memstrata serve` in a process of its own."""

    def __init__(self, store: Path, processes: int) -> None:
        command = [sys.executable, "-c", "from memstrata.cli import main; main()", "serve", "--store", str(store)]
        command += ["--embedder", "hashing", "--port", "0", "--requests-a-minute", "100000000"]
        command += ["--processes", str(processes)]
        begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        Caller(self.port, [""]).call("GET", "/readyz", None, "")
        self.started = time.perf_counter() - begun

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._processes())

    def memory(self) -> float:
        """MB of memory of its own: what is mapped from files is the system's to take back."""
        found = [Path(f"/proc/{process.pid}/status").read_text() for process in self._processes()]
        return sum(int(status.split("RssAnon:")[1].split()[0]) for status in found) / 1024

    def _processes(self) -> list[psutil.Process]:
        first = psutil.Process(self.process.pid)
        return [first, *first.children(recursive=True)]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@dataclass
class Caller:
    """One connection, and what came of its calls."""

    port: int
    keys: list[str]
    seconds: list[float] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def call(self, method: str, path: str, body: object, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        begun = time.perf_counter()
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except OSError as error:
            self.errors.append(f"{path}: {error}")
            self.connection.close()
            return
        self.seconds.append(time.perf_counter() - begun)
        if answer.status >= 400:
            self.errors.append(f"{path}: {answer.status} {text[:200]!r}")

    def ask(self, chance: random.Random, asked: list[str], *, touch: bool) -> None:
        body = {"query": chance.choice(asked), "user_id": "ana", "touch": touch}
        self.call("POST", "/v1/recall", body, chance.choice(self.keys))

    def mix(self, chance: random.Random, asked: list[str], said: list[str]) -> None:
        verb = chance.choices([name for name, _ in MIX], [share for _, share in MIX])[0]
        self.done[verb] += 1
        key = chance.choice(self.keys)
        if verb == "recall":
            self.ask(chance, asked, touch=True)
        elif verb == "add":
            body = {"messages": chance.choice(said), "user_id": "ana", "session_id": f"s{chance.randrange(3)}"}
            self.call("POST", "/v1/turns", body, key)
        elif verb == "context":
            body = {"query": chance.choice(asked), "user_id": "ana", "session_id": "s0", "max_tokens": 1000}
            self.call("POST", "/v1/context", body, key)
        else:
            self.call("GET", "/v1/notes?user_id=ana&limit=20", None, key)


def together(callers: list[Caller], seconds: float, each: object) -> float:
    """Let callers work for so long; returns how long it took."""
    begun = time.perf_counter()

    def work(number: int) -> None:
        chance = random.Random(number)
        while time.perf_counter() - begun < seconds:
            each(callers[number], chance)  # type: ignore[operator]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(callers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="of recalls alone")
    parser.add_argument("--minutes", type=float, default=10, help="of the mix")
    parser.add_argument("--processes", type=int, default=1, help="of the service")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--store", type=Path, help="kept, and used again when it is there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memstrata-load-") as scratch:
        store = given.store or Path(scratch) / "memory.db"
        if not store.exists():
            print(f"{asyncio.run(fill(store, given.tenants))} notes of {given.tenants} tenants")
        access = AccessFile(access_beside(store))
        keys = [access.create(f"tenant-{n}", ["read", "write"])[0] for n in track(range(given.tenants), "keys")]
        access.close()
        measure(Service(store, given.processes), keys, given)


def measure(service: Service, keys: list[str], given: argparse.Namespace) -> None:
    asked = list(dict.fromkeys(questions(200)))
    said = [str(message["content"]) for session in islice(sessions(), 20) for message in session.messages]
    print(f"ready after {service.started:.2f} s, {service.memory():.0f} MB")
    warm = [Caller(service.port, keys) for _ in range(ASKING)]
    together(warm, min(30.0, given.seconds), lambda caller, chance: caller.ask(chance, asked, touch=False))
    callers, spent = [Caller(service.port, keys) for _ in range(ASKING)], service.cpu()
    took = together(callers, given.seconds, lambda caller, chance: caller.ask(chance, asked, touch=False))
    seconds = [each for caller in callers for each in caller.seconds]
    spent = service.cpu() - spent
    print(
        f"{len(seconds) / took:.0f} recalls/s by {ASKING} callers, p50 {statistics.median(seconds) * 1e3:.1f} ms,"
        f" p95 {statistics.quantiles(seconds, n=20)[18] * 1e3:.1f} ms, {spent / len(seconds) * 1e3:.2f} ms of CPU each,"
        f" {service.memory():.0f} MB"
    )
    mixed = [Caller(service.port, keys) for _ in range(given.clients)]
    length = 60 * min(1.0, given.minutes)
    for minute in range(max(1, round(given.minutes))):
        together(mixed, length, lambda one, chance: one.mix(chance, asked, said))
        calls = sum(sum(each.done.values()) for each in mixed)
        print(f"minute {minute + 1}: {calls} calls, {service.memory():.0f} MB", flush=True)
    done: Counter[str] = sum((each.done for each in mixed), Counter())
    errors = [error for each in [*warm, *callers, *mixed] for error in each.errors]
    print(f"{given.clients} clients: {dict(done)}; {len(errors)} errors {errors[:3]}")
    begun = time.perf_counter()
    service.stop()
    print(f"ended after {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main()
