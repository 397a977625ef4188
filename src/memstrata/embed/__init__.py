"""Embedders: texts to vectors, behind one seam."""

from memstrata.embed.base import Embedder, create_embedder

__all__ = ["Embedder", "create_embedder"]
