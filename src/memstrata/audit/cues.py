"""The phrases of `audit/data/cues.toml`, looked for in a text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files


def phrase_in(text: str, group: str) -> str | None:
    """The phrase of a group that stands first in the text, or None."""
    found = _patterns()[group].search(text.replace("’", "'").casefold())
    return None if found is None else found.group()


def has_phrase(text: str, group: str) -> bool:
    return phrase_in(text, group) is not None


@lru_cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """One pattern a group: Latin phrases as whole words, the others anywhere."""
    source = files("memstrata.audit") / "data" / "cues.toml"
    tables: dict[str, list[str]] = tomllib.loads(source.read_text(encoding="utf-8"))
    patterns = {}
    for name, phrases in tables.items():
        folded = sorted((phrase.casefold() for phrase in phrases), key=len, reverse=True)
        latin = "|".join(re.escape(phrase) for phrase in folded if phrase.isascii())
        other = "|".join(re.escape(phrase) for phrase in folded if not phrase.isascii())
        patterns[name] = re.compile(rf"(?<!\w)(?:{latin})(?!\w)|(?:{other})")
    return patterns
