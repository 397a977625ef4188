"""The two faces: the sync one is made from the async one, and the package exports what it says."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import memstrata
from memstrata.async_memory import AsyncMemory
from memstrata.memory import Memory

ROOT = Path(__file__).parents[2]


def test_sync_face_is_made_from_the_async_one() -> None:
    made = subprocess.run([sys.executable, ROOT / "tools/make_sync.py", "--check"], check=False)
    assert made.returncode == 0, "run tools/make_sync.py"


def test_faces_have_the_same_methods_and_parameters() -> None:
    for name, method in inspect.getmembers(AsyncMemory, inspect.iscoroutinefunction):
        if not name.startswith("_"):
            assert inspect.signature(method) == inspect.signature(getattr(Memory, name)), name


def test_every_exported_name_is_there() -> None:
    assert sorted(memstrata.__all__) == memstrata.__all__
    for name in memstrata.__all__:
        assert getattr(memstrata, name) is not None


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("numpy", "onnxruntime", "pydantic", "typer")
    code = f"import sys, memstrata; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_every_module_imports_alone() -> None:
    for path in sorted((ROOT / "src/memstrata").rglob("*.py")):
        if path.name != "__main__.py":
            name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
            importlib.import_module(name)
