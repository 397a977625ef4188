"""Embedders: texts to vectors, behind one seam."""

from memstrata.embed.base import Embedder
from memstrata.embed.registry import create_embedder

__all__ = ["Embedder", "create_embedder"]
