"""Offline distillation beside what people wrote: the statement drafted of a turn and its human sentence.

For each turn that people made a sentence of, the drafted candidate that comes closest to it, by ROUGE-L (stemmed F1)
and by the cosine of the embedder; by language of the sentence. Turns without a draft count as 0.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from memstrata.evaluation.admission.candidates import Embed, drafts_of
from memstrata.evaluation.admission.data import Labelled
from memstrata.evaluation.answers import rougel
from memstrata.text.language import detect


def against_statements(data: Labelled, embed: Embed) -> dict[str, dict[str, float]]:
    """By language: `statements`, share with a draft (`drafted`), `rouge_l` and `similarity` of the best draft, and the
    same two of the whole turn as it was said (`turn_rouge_l`, `turn_similarity`). Empty for data without statements."""
    rows: defaultdict[str, list[tuple[float, ...]]] = defaultdict(list)
    for conversation in data.conversations:
        if not conversation.statements:
            continue
        drafts: defaultdict[int, list[str]] = defaultdict(list)
        for candidate in drafts_of(conversation).candidates:
            if candidate.rule is None:
                drafts[candidate.evidence[0]].append(candidate.text)
        said = {turn.no: turn.indexed_text for turn in conversation.turns}
        for no, wanted in conversation.statements.items():
            texts = [wanted, said[no], *drafts[no]]
            vectors = embed(texts)
            cosines = vectors[1:] @ vectors[0]
            rouges = [rougel(text, wanted) for text in texts[1:]]
            rows[detect(wanted)].append(
                (
                    float(bool(drafts[no])),
                    max(rouges[1:], default=0.0),
                    float(max(cosines[1:], default=0.0)),
                    rouges[0],
                    float(cosines[0]),
                )
            )
    names = ("drafted", "rouge_l", "similarity", "turn_rouge_l", "turn_similarity")
    return {
        language: {
            "statements": float(len(found)),
            **dict(zip(names, map(float, np.mean(found, axis=0)), strict=True)),
        }
        for language, found in rows.items()
    }
