"""What a model may answer, stage by stage: the schemas it is held to, and what of an answer is taken.

Limits are generous on reading and cut afterwards: an answer is not thrown away because a context has a word too many.
Every reference is a short alias ("N1", "M2", "[3]") that the request offered; what it stands for is looked up later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from memstrata.llm.base import Profile
from memstrata.types import KINDS, Kind

Attribute = Literal[
    "name",
    "age",
    "birthday",
    "birthplace",
    "lives_in",
    "home_town",
    "works_at",
    "job_title",
    "school",
    "marital_status",
    "nationality",
    "native_language",
    "diet",
]
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)
"""The single-valued attributes that a model may name: those that `extract.slots` reads, too."""


_DIGITS = re.compile(r"\d{1,6}")


def _text(value: Any) -> Any:
    """Texts without spaces at their ends; null is no text."""
    return "" if value is None else " ".join(value.split()) if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """A list of texts, whatever came: null, one text with commas, numbers among them."""
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, list):
        return [text for item in value if isinstance(item, (str, int, float)) and (text := str(item).strip())]
    return value


def _numbers(value: Any) -> Any:
    """A list of whole numbers from 1, "[1]", "turns 1 and 2" or a list of such."""
    found: list[int] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, float):
            item = int(item) if item.is_integer() else None
        if isinstance(item, (str, int)) and not isinstance(item, bool):
            found.extend(int(digits) for digits in _DIGITS.findall(str(item)))
    return found


def _share(value: Any) -> Any:
    """A utility in [0, 1]; what is no number, or far from it, is none. 7 and 70 are read as .7."""
    try:
        share = float(value)
    except (TypeError, ValueError):
        return None
    while share > 1.0 and share <= 100.0:
        share /= 10.0
    return share if 0.0 <= share <= 1.0 else None


def _kind(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) and value.strip().lower() in KINDS else None


def _truth(value: Any) -> Any:
    return value.strip().lower() in ("true", "yes", "1") if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
KindOf = Annotated[Kind | None, BeforeValidator(_kind), WithJsonSchema({"type": "string", "enum": list(KINDS)})]
Share = Annotated[float | None, BeforeValidator(_share), WithJsonSchema({"type": "number"})]
Alias = Annotated[str, BeforeValidator(lambda value: _text(value).upper() if isinstance(value, str) else value)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, str_max_length=4000)


class SlotAnswer(_Answer):
    """The one value that somebody has of something."""

    subject: Text
    attribute: Attribute
    value: Text


def _slot(value: Any) -> Any:
    return value if isinstance(value, dict) and value.get("attribute") in ATTRIBUTES else None


class SmallNote(_Answer):
    """A candidate, as small models give it."""

    content: Annotated[Text, Field(min_length=1)]
    evidence: Annotated[list[int], BeforeValidator(_numbers), Field(min_length=1)]
    kind: KindOf = None


class FullNote(SmallNote):
    """A candidate."""

    context: Text = ""
    keywords: Texts = []
    tags: Texts = []
    utility: Share = None
    when: Annotated[str | None, BeforeValidator(lambda value: value if isinstance(value, str) else None)] = None
    slot: Annotated[SlotAnswer | None, BeforeValidator(_slot)] = None


class SmallPage(_Answer):
    """The answer of the first call."""

    summary: Text = ""
    notes: list[SmallNote] = []


class FullPage(_Answer):
    """The answer of the first call."""

    summary: Text = ""
    notes: list[FullNote] = []


class SmallLink(_Answer):
    """A link between two notes, as small models give it."""

    source: Annotated[Alias, Field(alias="from")]
    target: Annotated[Alias, Field(alias="to")]
    type: Literal["related", "same_entity", "continues", "causes"] = "related"


class FullLink(SmallLink):
    """A link between two notes."""

    reason: Text = ""


class Evolved(_Answer):
    """The new context and tags of a note that was there."""

    note: Alias
    context: Text = ""
    tags: Texts = []


class SmallConflict(_Answer):
    """What becomes of a pair, as small models give it."""

    pair: Alias
    decision: Literal["keep", "supersede"]


class FullConflict(_Answer):
    """What becomes of a pair."""

    pair: Alias
    decision: Literal["keep", "merge", "supersede"]
    text: Text = ""
    reason: Text = ""


class SmallNotes(_Answer):
    """The answer of the second call."""

    links: list[SmallLink] = []
    conflicts: list[SmallConflict] = []


class FullNotes(_Answer):
    """The answer of the second call."""

    links: list[FullLink] = []
    evolved: list[Evolved] = []
    conflicts: list[FullConflict] = []


Aliases = Annotated[list[Alias], BeforeValidator(_texts)]


class Fold(_Answer):
    """Notes that become one, and its text."""

    notes: Aliases
    text: Text = ""


class FoldAnswer(_Answer):
    """What may be folded."""

    folds: list[Fold] = []


class AskAnswer(_Answer):
    """The answer to a question."""

    found: Annotated[bool, BeforeValidator(_truth)]
    answer: Text = ""
    citations: Texts = []


class RewriteAnswer(_Answer):
    """Words that are looked for beside those of a query."""

    words: Texts = []


PageAnswer = FullPage | SmallPage
NotesAnswer = FullNotes | SmallNotes
SHAPES: dict[tuple[str, Profile], type[BaseModel]] = {
    ("page", "full"): FullPage,
    ("page", "small"): SmallPage,
    ("notes", "full"): FullNotes,
    ("notes", "small"): SmallNotes,
    ("fold", "full"): FoldAnswer,
    ("fold", "small"): FoldAnswer,
    ("ask", "full"): AskAnswer,
    ("ask", "small"): AskAnswer,
    ("rewrite", "full"): RewriteAnswer,
    ("rewrite", "small"): RewriteAnswer,
}


_LEFT_OUT = frozenset({"$defs", "title", "description", "default", "minLength", "maxLength", "minItems"})


@lru_cache
def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer as providers take it: no references, every field required, none besides."""
    schema = shape.model_json_schema(by_alias=True)
    plain: dict[str, Any] = _plain(schema, schema.get("$defs", {}))
    return plain


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    kept = {name: _plain(value, definitions) for name, value in node.items() if name not in _LEFT_OUT}
    if "properties" in node:  # its keys are names of fields, not words of the schema language
        kept["properties"] = {name: _plain(value, definitions) for name, value in node["properties"].items()}
    if kept.get("type") == "object":
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept
