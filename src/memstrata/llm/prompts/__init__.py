"""The prompts: one file for each stage and profile, its first line the version.

A prompt's name, version and digest stand in every receipt. The instructions are static, so that every call of a stage
begins with the same tokens and finds them in the provider's prefix cache; what changes comes after.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files

from memstrata.llm.base import Profile


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions, and the name under which they are recorded: "page.full 1 0a1b2c3d"."""

    text: str
    version: str


@lru_cache
def prompt(stage: str, profile: Profile) -> Prompt:
    """The prompt of a stage: "page", "notes", "fold", "ask" or "rewrite"."""
    name = f"{stage}.{profile}"
    written = (files(__package__) / f"{name}.md").read_text("utf-8")
    head, _, text = written.partition("\n")
    digest = blake2b(written.encode(), digest_size=4).hexdigest()
    return Prompt(text.strip(), f"{name} {head.removeprefix('version:').strip()} {digest}")
