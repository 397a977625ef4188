"""Language models: the seam, the providers behind it, and what guards the store from their answers."""

from memstrata.llm.base import LLM, Completion, Profile, Request, Usage
from memstrata.llm.registry import create_llm

__all__ = ["LLM", "Completion", "Profile", "Request", "Usage", "create_llm"]
