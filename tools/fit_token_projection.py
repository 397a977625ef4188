"""Fit the projection of the default embedder's token vectors: their mean and first 96 principal axes.

    python tools/fit_token_projection.py valid.jsonl.gz [--write]

The file is Multi-Session Chat; some 1,500 turns of it are encoded (on data of its own: no benchmark of recall is looked
at), and their content tokens, each scaled to length 1, are what the axes are fitted to. Prints what share of the
variance they keep. The data stays where it is.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from memstrata.embed.minilm import PROJECTION, TOKEN_DIM, MiniLMEmbedder, content_tokens
from memstrata.evaluation.msc import load_msc

TURNS = 1_500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--write", action="store_true", help="ship the projection")
    arguments = parser.parse_args()
    chains = load_msc(arguments.path).conversations
    texts = sorted({turn.text for chain in chains for session in chain.sessions for turn in session.turns})
    random.Random(0).shuffle(texts)
    states = token_states(texts[:TURNS])
    centre = states.mean(axis=0)
    _, lengths, axes = np.linalg.svd(states - centre, full_matrices=False)
    kept = float((lengths[:TOKEN_DIM] ** 2).sum() / (lengths**2).sum())
    print(f"{len(states)} tokens; {TOKEN_DIM} of {states.shape[1]} axes keep {kept:.3f} of the variance")
    if arguments.write:
        np.save(PROJECTION, np.vstack([centre, axes[:TOKEN_DIM]]).astype(np.float16))


def token_states(texts: list[str]) -> np.ndarray:
    """The last hidden states of the content tokens of texts, each of length 1."""
    embedder = MiniLMEmbedder()
    session, tokenizer = embedder.load_encoder()
    content = content_tokens(tokenizer)
    found = []
    for text in texts:
        encoding = tokenizer.encode(text)
        rows = embedder.states(session, encoding)[content[np.array(encoding.ids)]]
        found.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return np.concatenate(found)


if __name__ == "__main__":
    main()
