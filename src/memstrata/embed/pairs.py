"""A model that reads two texts together, as an ONNX file: what a reranker and a check for contradictions stand on."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import ModelFileError, SettingsError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 16  # pairs a call of the model
MAX_TOKENS = 512  # of a pair


class PairModel:
    """A sequence classifier in a folder: model.onnx (or onnx/model.onnx) and tokenizer.json, as model hubs lay them.

    Loaded at first use, in the thread that uses it; used by one thread at a time.

    Raises SettingsError where the folder or one of its files is missing.
    """

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        self.folder = Path(folder)
        models = [self.folder / "model.onnx", self.folder / "onnx" / "model.onnx"]
        found = next((path for path in models if path.is_file()), None)
        tokens = self.folder / "tokenizer.json"
        if found is None or not tokens.is_file():
            raise SettingsError(f"{self.folder}: a cross-encoder's folder holds model.onnx and tokenizer.json")
        self._paths, self._threads = (found, tokens), threads
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Tokenizer] | None = None

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """What the model says of each pair, one row each: as many columns as it has labels.

        Raises ModelFileError when the files are no such model, or the model fails.
        """
        with self._lock:
            session, tokenizer = self._loaded = self._loaded or self._load()
            rows = [self._run(session, tokenizer, pairs[n : n + BATCH]) for n in range(0, len(pairs), BATCH)]
        return np.concatenate(rows) if rows else np.zeros((0, 1), np.float32)

    def _load(self) -> tuple[Any, Tokenizer]:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime 1.32 reports home otherwise, from its import on
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        try:
            tokenizer = Tokenizer.from_file(str(self._paths[1]))
            session = onnxruntime.InferenceSession(str(self._paths[0]), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ModelFileError(f"{self.folder} holds no model that can be loaded: {error}") from error
        tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
        tokenizer.enable_padding()
        return session, tokenizer

    def _run(self, session: Any, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        encodings = tokenizer.encode_batch([*pairs])
        given = {
            "input_ids": np.array([each.ids for each in encodings], np.int64),
            "attention_mask": np.array([each.attention_mask for each in encodings], np.int64),
            "token_type_ids": np.array([each.type_ids for each in encodings], np.int64),
        }
        wanted = {each.name for each in session.get_inputs()}
        try:
            found: NDArray[np.float32] = session.run(None, {k: v for k, v in given.items() if k in wanted})[0]
        except Exception as error:
            raise ModelFileError(f"{self.folder}: the model failed on {len(pairs)} pairs: {error}") from error
        if found.ndim != 2 or len(found) != len(pairs):
            raise ModelFileError(f"{self.folder}: a classifier gives one row a pair, not an output of {found.shape}")
        return found.astype(np.float32, copy=False)
