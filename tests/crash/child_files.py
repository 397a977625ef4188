"""A process that is killed while it makes a file of a store: `python child_files.py MODE STORE OTHER [STEP]`.

MODE is `backup` or `copy` (of STORE to OTHER) or `restore` (of OTHER to STORE). With STEP it kills itself at the
progress call of that number. Without a kill it prints how many there were.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from memstrata import Memory, copy_store, restore_backup
from memstrata.store import backup, copying

SETTINGS = {"embedder": "hashing", "worker": False}


def main() -> None:
    mode, store, other = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    last = int(sys.argv[4]) if len(sys.argv) > 4 else None
    steps = 0

    def progress(what: str, done: int, total: int) -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    backup.PAGES, copying.ROWS = 4, 7
    print("begun", flush=True)
    if mode == "backup":
        with Memory(store, **SETTINGS) as memory:
            memory.backup(other, overwrite=True, progress=progress)
    elif mode == "copy":
        asyncio.run(copy_store(store, sys.argv[3], progress=progress))
    else:
        restore_backup(other, store, overwrite=True, progress=progress)
    print(steps)


if __name__ == "__main__":
    main()
