"""`memstrata audit`: a table, JSON and a page of HTML; what was stored is shown as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENTRIES = [
    {"memory": "User lives in Porto and works as a nurse", "user_id": "ana"},
    {"memory": "谢谢！", "user_id": "ana"},
    {"memory": "<script>alert(1)</script> [bold]AIとして お手伝いできること[/bold]", "user_id": "ana"},
]


def test_audit(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": ENTRIES}), encoding="utf-8")
    table = run("audit", str(file), "--html", "page.html")
    assert table.code == 0, table.err
    assert "3 entries of 1 owners; 2 with a problem (66.7%)" in table.out
    assert "[bold]AIとして" in table.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    found = run("audit", str(file), "--json", "--examples", "1", "--now", "2026-06-01T00:00:00+00:00").json
    assert found["problems"]["junk"]["entries"] == 2
    assert len(found["problems"]["junk"]["examples"]) == 1
    assert found["at"] == "2026-06-01T00:00:00+00:00"


def test_audit_by_an_embedder(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    texts = ["User drinks green tea every morning", "User drinks green tea, every single morning", "User runs"]
    file.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    assert run("audit", str(file), "--near", "hashing", "--json").json["entries"] == 3


def test_mistakes_are_told(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("[1]", encoding="utf-8")
    assert (run("audit", str(file)).code, run("audit", "nowhere.json").code) == (1, 2)
    assert "item 1 is no object" in run("audit", str(file)).err
    file.write_text('["tea"]', encoding="utf-8")
    assert run("audit", str(file), "--now", "2026-06-01").code == 2
    assert run("audit", str(file), "--near", "whatever").code == 1
