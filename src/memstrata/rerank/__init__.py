"""The Reranker seam: a second look at the best hits by a model that reads query and text together."""

from memstrata.rerank.base import Reranker
from memstrata.rerank.registry import create_reranker

__all__ = ["Reranker", "create_reranker"]
