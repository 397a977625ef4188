"""Scores of answers, each variant under the name of the program that uses it: they differ by up to six points.

Token F1: `locomo_f1` (the official one), `memoryos_f1`, `amem_f1` (A-MEM, mem0, SimpleMem), `memos_f1`. Overlap:
`bleu1`, `rouge1`, `rouge2`, `rougel`, `meteor`. Meaning: `sbert_similarities`. Category 5 of LoCoMo has no answer: it
is scored by `abstains`, never against the answer its question fishes for.

The scorers stand on the field's packages, nltk and rouge-score, which the extra `memstrata[eval]` brings.
"""

from __future__ import annotations

import importlib
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Any

import numpy as np

from memstrata.embed.base import Embedder, require
from memstrata.errors import InputError

MULTI_HOP, OPEN_DOMAIN, ADVERSARIAL = "1", "3", "5"  # categories of LoCoMo that are scored in a way of their own
ABSTENTIONS = ("no information available", "not mentioned")

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_WORD = re.compile(r"\b\w+\b")
_AMEM_STOPS = str.maketrans(".,!?", "    ")

Scorer = Callable[[str, str], float]


def locomo_f1(prediction: str, gold: str, category: str) -> float:
    """The official F1 of LoCoMo: Porter stems, multisets; `category` is "1" to "5".

    Category 1: both sides are split at commas; each gold part has its best F1 over the predicted parts, and the mean
    counts. Category 3: the gold answer ends before ";". Category 5: 1 when the prediction abstains.
    """
    if category == ADVERSARIAL:
        return float(abstains(prediction))
    if category == MULTI_HOP:
        parts = [part.strip() for part in prediction.split(",")]
        return fmean(max(_stemmed_f1(part, wanted.strip()) for part in parts) for wanted in gold.split(","))
    if category == OPEN_DOMAIN:
        gold = gold.split(";")[0].strip()
    return _stemmed_f1(prediction, gold)


def abstains(prediction: str) -> bool:
    """Whether an answer says that there is none, in one of the two phrases that LoCoMo's scorer knows."""
    lowered = prediction.lower()
    return any(phrase in lowered for phrase in ABSTENTIONS)


def memoryos_f1(prediction: str, gold: str) -> float:
    r"""The F1 of MemoryOS: sets of `\b\w+\b` of the lower-cased texts.

    >>> round(memoryos_f1("a red boat", "the red boat"), 3)
    0.667
    """
    return _set_f1(_WORD.findall(prediction.lower()), _WORD.findall(gold.lower()))


def amem_f1(prediction: str, gold: str) -> float:
    """The F1 of A-MEM, mem0 and SimpleMem: sets of the lower-cased words, `.,!?` read as spaces, no stemming."""
    return _set_f1(_amem_words(prediction), _amem_words(gold))


def memos_f1(prediction: str, gold: str) -> float:
    """The F1 of MemOS: sets of nltk's word tokens of the lower-cased texts."""
    return _set_f1(_tokens(prediction), _tokens(gold))


def bleu1(prediction: str, gold: str) -> float:
    """BLEU of single words: nltk's sentence_bleu, weights (1, 0, 0, 0), smoothing method 1, lower-cased tokens."""
    bleu = _nltk("nltk.translate.bleu_score")
    smoothing = bleu.SmoothingFunction().method1
    value: float = bleu.sentence_bleu(
        [_tokens(gold)], _tokens(prediction), weights=(1, 0, 0, 0), smoothing_function=smoothing
    )
    return value


def rouge1(prediction: str, gold: str) -> float:
    """ROUGE-1 F with the stemmer. LoCoMo's program prints this figure under the name "rougeL"."""
    return _rouge("rouge1", prediction, gold)


def rouge2(prediction: str, gold: str) -> float:
    """ROUGE-2 F with the stemmer."""
    return _rouge("rouge2", prediction, gold)


def rougel(prediction: str, gold: str) -> float:
    """ROUGE-L F with the stemmer."""
    return _rouge("rougeL", prediction, gold)


def meteor(prediction: str, gold: str) -> float:
    """METEOR as nltk computes it, over lower-cased tokens.

    Its synonyms come from WordNet, which nltk does not bring; InputError says how to get it. Without it there is
    `meteor_without_synonyms`, a figure of its own.
    """
    try:
        _nltk("nltk.corpus").wordnet.ensure_loaded()
    except LookupError as error:
        raise InputError("METEOR needs WordNet: python -m nltk.downloader wordnet") from error
    return _meteor(prediction, gold, _nltk("nltk.corpus").wordnet)


def meteor_without_synonyms(prediction: str, gold: str) -> float:
    """METEOR with its exact and stem matches only."""
    return _meteor(prediction, gold, _NoSynonyms())


METRICS: Mapping[str, Scorer] = {
    "memoryos_f1": memoryos_f1,
    "amem_f1": amem_f1,
    "memos_f1": memos_f1,
    "bleu1": bleu1,
    "rouge1": rouge1,
    "rouge2": rouge2,
    "rougel": rougel,
    "meteor": meteor,
    "meteor_without_synonyms": meteor_without_synonyms,
}
"""The scorers that do not look at the category; `locomo_f1` comes before them in every table."""


def score_answer(prediction: str, gold: str, category: str, metrics: Collection[str]) -> dict[str, float]:
    """`locomo_f1` and the named metrics of one answer; of one that should abstain, whether it does, in all of them."""
    if category == ADVERSARIAL:
        return dict.fromkeys(("locomo_f1", *metrics), float(abstains(prediction)))
    return {
        "locomo_f1": locomo_f1(prediction, gold, category),
        **{name: METRICS[name](prediction, gold) for name in metrics},
    }


async def sbert_similarities(predictions: Sequence[str], golds: Sequence[str], embedder: Embedder) -> list[float]:
    """Cosine of each prediction with its gold answer. The published figures are those of all-MiniLM-L6-v2."""
    one, other = await embedder.embed(predictions), await embedder.embed(golds)
    return [float(value) for value in np.einsum("nd,nd->n", one, other)]


def _stemmed_f1(prediction: str, gold: str) -> float:
    found, wanted = _stems(prediction), _stems(gold)
    common = sum((Counter(found) & Counter(wanted)).values())
    return _f1(common, len(found), len(wanted))


def _stems(text: str) -> list[str]:
    words = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
    return [_stem(word) for word in words]


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    stem: str = _stemmer().stem(word)
    return stem


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return _nltk("nltk.stem").PorterStemmer()


def _amem_words(text: str) -> list[str]:
    return text.lower().translate(_AMEM_STOPS).split()


def _tokens(text: str) -> list[str]:
    # One line is one sentence: splitting it further would need a trained model that nltk does not bring.
    tokens: list[str] = _nltk("nltk.tokenize").word_tokenize(text.lower(), preserve_line=True)
    return tokens


def _set_f1(found: Collection[str], wanted: Collection[str]) -> float:
    one, other = set(found), set(wanted)
    return _f1(len(one & other), len(one), len(other))


def _f1(common: int, found: int, wanted: int) -> float:
    return 2 * common / (found + wanted) if common else 0.0


def _rouge(kind: str, prediction: str, gold: str) -> float:
    value: float = _rouge_scorer().score(gold, prediction)[kind].fmeasure
    return value


@lru_cache(maxsize=1)
def _rouge_scorer() -> Any:
    require("rouge_score", "ROUGE", "eval")
    return importlib.import_module("rouge_score.rouge_scorer").RougeScorer(
        ["rouge1", "rouge2", "rougeL"], use_stemmer=True
    )


def _meteor(prediction: str, gold: str, wordnet: Any) -> float:
    score = _nltk("nltk.translate.meteor_score").meteor_score
    value: float = score([_tokens(gold)], _tokens(prediction), wordnet=wordnet)
    return value


class _NoSynonyms:
    """Stands where nltk's METEOR looks for WordNet, and knows no word."""

    def synsets(self, _word: str) -> list[Any]:
        return []


def _nltk(module: str) -> Any:
    require("nltk", "this metric", "eval")
    return importlib.import_module(module)
