"""Several processes that answer on one socket, for a machine with several cores.

Each is a whole service on the same store, which keeps them apart as it keeps any processes apart. One that ends by
itself is started again. Limits of requests, memory for indexes and figures are each process's own.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from memstrata.errors import SettingsError
from memstrata.server.run import Options, build, log_to_stderr, open_root, serve

log = logging.getLogger("memstrata.server")
STEADY_SECONDS = 5.0  # a process that ends sooner would end again


def prepare(options: Options) -> None:
    """Make the store, or bring it to this version, before several processes open it. Raises what that raises."""
    if str(options.store) == ":memory:":
        raise SettingsError("several processes cannot share a store in memory: name a file, or --processes 1")
    asyncio.run(open_root(options).close())


def serve_in(processes: int, options: Options, sock: socket.socket) -> bool:
    """Answer on this socket in so many processes until SIGTERM or SIGINT; requests under way are finished.

    Process n tells its figures on the n-th port from `metrics_port` on. Returns whether it was told to end; otherwise
    a process ended by itself as soon as it was started.
    """
    return _Fleet(options, sock).run(processes)


class _Fleet:
    def __init__(self, options: Options, sock: socket.socket) -> None:
        self._options, self._socket = options, sock
        self._running: dict[int, tuple[BaseProcess, float]] = {}
        self._ending = False

    def run(self, processes: int) -> bool:
        for told in (signal.SIGTERM, signal.SIGINT):
            signal.signal(told, lambda *_: self._end())
        for number in range(processes):
            self._start(number)
        steady = True
        while self._running:
            wait([process.sentinel for process, _ in self._running.values()])
            for number, (process, begun) in [*self._running.items()]:
                if process.exitcode is None:
                    continue
                del self._running[number]
                if self._ending:
                    continue
                if time.monotonic() - begun < STEADY_SECONDS:
                    steady = False
                    self._end()
                else:
                    log.warning("process %d ended with %s; another takes its place", number, process.exitcode)
                    self._start(number)
        return steady

    def _start(self, number: int) -> None:
        port = self._options.metrics_port
        options = self._options if port is None else replace(self._options, metrics_port=port + number)
        process = multiprocessing.get_context("spawn").Process(target=_one, args=(options, self._socket))
        process.start()
        self._running[number] = (process, time.monotonic())

    def _end(self) -> None:
        self._ending = True
        for process, _ in self._running.values():
            process.terminate()


def _one(options: Options, sock: socket.socket) -> None:
    """One process of them. It ends with the one that started it."""
    log_to_stderr()
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()
    serve(build(options), [sock])
