"""Lets the tests import what the killed child says and is set to."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

spec = importlib.util.spec_from_file_location("tests_crash_child", Path(__file__).with_name("child.py"))
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
sys.modules["tests_crash_child"] = module
spec.loader.exec_module(module)
