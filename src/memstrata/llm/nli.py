"""Whether two statements contradict each other, by a model for natural language inference: asked before an LLM is.

None is shipped, for none that fits installs from a package; the adapter takes any of its kind as an ONNX file.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from memstrata.embed.pairs import PairModel
from memstrata.errors import SettingsError

LABELS: Final = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, slots=True)
class Inference:
    """What a statement means for another: chances that sum to 1."""

    entailment: float
    neutral: float
    contradiction: float


class NLI(Protocol):
    """A model that says what a first statement means for a second one."""

    @property
    def name(self) -> str: ...

    async def judge(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Inference]:
        """What the first of each pair means for the second. Raises ModelFileError when the model fails."""
        ...


class OnnxNLI:
    """Implements `NLI`: a folder with model.onnx, tokenizer.json, and config.json, whose id2label names the columns.

    Raises SettingsError where a file is missing or the labels are not entailment, neutral and contradiction.
    """

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        self._model = PairModel(folder, threads=threads)
        self.name = f"onnx:{self._model.folder.name}"
        config = self._model.folder / "config.json"
        try:
            labels = json.loads(config.read_text("utf-8"))["id2label"]
            named = [str(labels[str(n)]).casefold() for n in range(len(LABELS))]
            self._columns = [named.index(label) for label in LABELS]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(f"{config}: id2label must name {', '.join(LABELS)} ({error})") from error

    async def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Inference]:
        """See `NLI.judge`."""
        if not pairs:
            return []
        logits = (await asyncio.to_thread(self._model.logits, pairs)).astype(np.float64)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return [Inference(*row) for row in shares[:, self._columns].tolist()]


class ScriptedNLI:
    """A fake for tests: judges by a function of the two statements."""

    name = "fake:nli"

    def __init__(self, script: Callable[[str, str], Inference]) -> None:
        self.asked: list[tuple[str, str]] = []
        self._script = script

    async def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Inference]:
        """See `NLI.judge`."""
        self.asked.extend(pairs)
        return [self._script(*pair) for pair in pairs]


def create_nli(spec: str) -> NLI:
    """The model named `spec`: "onnx:FOLDER". Raises SettingsError for another kind, or where a file is missing."""
    kind, _, folder = spec.partition(":")
    if kind != "onnx" or not folder:
        raise SettingsError(f"unknown model for inference {spec!r}; there is onnx:FOLDER")
    return OnnxNLI(folder)
