"""The run folder: everything that a run found out, written as it goes, so that a cut run goes on where it was.

run.json                  what was run: the file and its digest, system, settings, options, versions, times
conversations/0000.json   ingest figures and every question: ranking, gold, latency, tokens
notes/0000.npz            the notes as points, see `notes.NoteMap`
answers.jsonl             every answer of a model, where one was asked; `judgements.jsonl` what the judge said
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import blake2b
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from memstrata._version import __version__
from memstrata.errors import InputError
from memstrata.evaluation.benchmark import Benchmark
from memstrata.evaluation.notes import NoteMap, arrays_of, map_from
from memstrata.evaluation.options import Options
from memstrata.evaluation.outcome import Outcome
from memstrata.evaluation.systems import System
from memstrata.settings import load_settings

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "simsimd")
SAME = ("benchmark", "data", "system", "options", "settings")  # what must be equal for a run to go on in a folder


class RunFolder:
    """A folder with one run in it, or empty."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def name(self) -> str:
        return self.path.name

    def begin(self, data: Benchmark, system: System, options: Options) -> None:
        """Writes what will be run. Raises InputError when another run is here."""
        asked = {
            "benchmark": data.name,
            "data": digest_of(data),
            "system": system.as_dict(),
            "options": {"embedder": options.embedder, "clock": options.clock, "max_tokens": options.max_tokens},
            # Everything in force: what the environment or a file sets belongs to a run as well.
            "settings": load_settings(**system.settings).model_dump(mode="json") if system.retriever is None else None,
        }
        asked = json.loads(json.dumps(asked, default=str))
        file = self.path / "run.json"
        if file.exists():
            there = self.manifest()
            if changed := [name for name in SAME if there.get(name) != asked[name]]:
                raise InputError(f"{self.path}: holds a run with another {', '.join(changed)}; give a new folder")
            return
        if self.path.exists() and any(each.name != "cache" for each in self.path.iterdir()):
            raise InputError(f"{self.path}: is not empty and holds no run; give a new folder")
        asked |= {
            "categories": dict(data.categories),
            "adversarial": sorted(data.adversarial),
            "counts": data.counts(),
            "versions": versions(),
            "started": datetime.now(UTC).isoformat(),
        }
        self._write("run.json", json.dumps(asked, indent=1, ensure_ascii=False).encode())

    def finish(self) -> None:
        """Notes when the run was done."""
        manifest = self.manifest()
        if "finished" not in manifest:
            manifest["finished"] = datetime.now(UTC).isoformat()
            self._write("run.json", json.dumps(manifest, indent=1, ensure_ascii=False).encode())

    def manifest(self) -> dict[str, Any]:
        """What was run. Raises InputError when no run is here."""
        try:
            found: dict[str, Any] = json.loads((self.path / "run.json").read_bytes())
        except OSError as error:
            raise InputError(f"{self.path}: holds no run: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{self.path}/run.json: not JSON: {error}") from error
        return found

    def has(self, number: int) -> bool:
        """Whether this conversation is done."""
        return (self.path / _conversation(number)).exists()

    def put(self, number: int, outcome: Outcome, notes: NoteMap | None) -> None:
        """Writes what a conversation came to; the conversation counts as done from then on."""
        if notes is not None:
            archive = BytesIO()
            np.savez_compressed(archive, allow_pickle=False, **arrays_of(notes))
            self._write(f"notes/{number:04}.npz", archive.getvalue())
        self._write(_conversation(number), json.dumps(outcome.as_dict(), ensure_ascii=False).encode())

    def outcomes(self) -> list[Outcome]:
        """What every conversation that is done came to, in the order of the file."""
        files = sorted((self.path / "conversations").glob("*.json"))
        return [Outcome.from_dict(json.loads(file.read_bytes())) for file in files]

    def maps(self) -> Iterator[NoteMap]:
        """The notes of each conversation as points."""
        for file in sorted((self.path / "notes").glob("*.npz")):
            with np.load(file) as arrays:
                yield map_from(arrays)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The records in a JSON Lines file of the folder; a last line that was cut off is left out."""
        file = self.path / name
        if not file.exists():
            return []
        whole = file.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Adds a record to a JSON Lines file of the folder."""
        file = self.path / name
        kept = file.read_bytes().rpartition(b"\n")[0] if file.exists() else b""
        with file.open("r+b" if file.exists() else "wb") as stream:
            stream.seek(len(kept) + 1 if kept else 0)  # over what a crash left half written
            stream.truncate()
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")

    def _write(self, name: str, content: bytes) -> None:
        """The whole file or nothing of it."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_bytes(content)
        partial.replace(file)


def _conversation(number: int) -> str:
    return f"conversations/{number:04}.json"


def digest_of(data: Benchmark) -> str:
    """What tells whether two benchmarks hold the same conversations and questions."""
    content = json.dumps([asdict(each) for each in data.conversations], default=str, sort_keys=True)
    return blake2b(content.encode(), digest_size=16).hexdigest()


def versions() -> dict[str, str]:
    """The versions that a figure depends on."""
    found = {"memstrata": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
