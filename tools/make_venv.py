"""Make a virtual environment, also on a Debian machine whose Python came without ensurepip."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path


def main() -> int:
    target = Path(sys.argv[1])
    if (target / "bin" / "pip").exists():
        return 0
    if sys.version_info < (3, 11):  # noqa: UP036 - the very check that tells a user of an older Python
        print(f"memstrata needs Python 3.11 or newer, this is {sys.version.split()[0]}: make PYTHON=python3.11 ...")
        return 1
    if importlib.util.find_spec("ensurepip") is not None:
        return subprocess.call([sys.executable, "-m", "venv", str(target)])
    if importlib.util.find_spec("virtualenv") is not None:
        return subprocess.call([sys.executable, "-m", "virtualenv", "--quiet", str(target)])
    print("This Python has no ensurepip. Install it (Debian: apt-get install python3-venv) and run make again.")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
