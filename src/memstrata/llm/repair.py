"""From the raw text of a model to an answer, or to one typed error. Small models send JSON in many disguises.

Read are: fences, thoughts, prose around the JSON, trailing commas, single quotes, comments, a list where an object was
asked for, an object inside another, and what was cut in the middle (without the item in hand). Refused are: prose, the
schema itself, and answers of which nothing is left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from memstrata.embed.base import require
from memstrata.errors import LLMUnreadableError
from memstrata.text.tokens import statement_key

A = TypeVar("A", bound=BaseModel)

LONGEST = 200_000  # characters of an answer that are read
MOST_ITEMS = 50  # of a list

_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"[{\[]")
_SCHEMA_KEYS = frozenset({"type", "properties", "$schema", "$defs", "required", "additionalProperties"})


@dataclass(frozen=True, slots=True)
class Answer(Generic[A]):
    """What was read: `value`; the items that could not be taken, by why; and whether the text had to be mended."""

    value: A
    dropped: dict[str, int] = field(default_factory=dict)
    mended: bool = False


def read_answer(text: str, shape: type[A], *, complete: bool = True, instructions: str = "") -> Answer[A]:
    """The answer in `text`, of `shape`.

    `complete` is False when the model was cut: the last item of the last list is left out then, as it is when brackets
    stay open. Items that repeat an example of the `instructions` are dropped.

    Raises:
        LLMUnreadableError: there is none, or none of its items can be taken.
    """
    if not text.strip():
        raise LLMUnreadableError("the model answered nothing")
    told = _without_thoughts(text[:LONGEST])
    best: Answer[A] | None = None
    for value, mended, cut in _values(told):
        found = _shaped(value, shape, mended=mended, cut=cut or (mended and not complete), instructions=instructions)
        if found is not None and (best is None or _weight(found) >= _weight(best)):
            best = found
    if best is None:
        raise LLMUnreadableError(f"the model's answer is no {shape.__name__}: it begins with {_beginning(told)!r}")
    if best.dropped and not _items(best.value) and _lists(shape):
        what = ", ".join(f"{count} {why}" for why, count in sorted(best.dropped.items()))
        raise LLMUnreadableError(f"nothing in the model's {shape.__name__} can be taken ({what})")
    return best


def _without_thoughts(text: str) -> str:
    text = _THOUGHTS.sub(" ", text)
    text = _END_OF_THOUGHT.sub("", text)
    return _OPEN_THOUGHT.sub("", text).strip().lstrip("\ufeff")


def _values(text: str) -> Iterator[tuple[Any, bool, bool]]:
    """The JSON values in a text: (value, whether it was mended, whether it was cut), good ones first."""
    bodies = [body for found in _FENCE.finditer(text) if (body := found.group(1).strip())] or [text]
    good = [value for body in bodies for value in _good_values(body)]
    if good:
        yield from ((value, False, False) for value in good)
        return
    for body in bodies if _START.search("".join(bodies)) else [text]:
        start = _START.search(body)
        if start is not None:
            yield _mended(body[start.start() :]), True, _is_cut(body[start.start() :])


def _good_values(text: str) -> list[Any]:
    """Every whole JSON object or list in a text, outermost ones only; none when a broken one comes first."""
    decoder = json.JSONDecoder(strict=False)
    found: list[Any] = []
    place = 0
    while (start := _START.search(text, place)) is not None:
        try:
            value, place = decoder.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            if '"' in text[start.start() : start.start() + 40] or "'" in text[start.start() : start.start() + 40]:
                return found
            place = start.end()  # a bracket of the prose
            continue
        if value and (isinstance(value, dict) or any(isinstance(item, dict) for item in value)):
            found.append(value)
    return found


def _mended(text: str) -> Any:
    require("json_repair", "reading a model's broken JSON", "llm")
    from json_repair import repair_json

    try:
        return repair_json(text, return_objects=True, skip_json_loads=True)
    except (RecursionError, ValueError) as error:
        raise LLMUnreadableError("the model's answer is nested too deeply to be read") from error


def _is_cut(text: str) -> bool:
    """Whether the model was cut within an item: brackets stay open, and not right after an item's end."""
    depth, inside, escaped = 0, False, False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
        elif not inside and character in "{[":
            depth += 1
        elif not inside and character in "}]":
            depth -= 1
            if depth == 0:
                return False
    return depth > 0 and not text.rstrip(" \r\n\t,").endswith("}")


def _shaped(value: Any, shape: type[A], *, mended: bool, cut: bool, instructions: str) -> Answer[A] | None:
    """The value as an answer of `shape`, its items checked one by one; None when it is none."""
    data = _object_of(value, shape)
    if data is None:
        return None
    dropped: dict[str, int] = {}
    lists = _lists(shape)
    if cut and lists and not lists.keys() & data.keys():
        return None  # cut before it came to what matters
    last = _last_list(data, lists) if cut else None
    for name, model in lists.items():
        items = data.get(name)
        if isinstance(items, dict):
            items = [items]
        if not isinstance(items, list):
            items = []
        if name == last and items:
            items = items[:-1]
            dropped["cut"] = 1
        data[name] = _taken(items, model, dropped, instructions)
    try:
        answer = Answer(shape.model_validate(data), dropped, mended)
    except ValidationError:
        return None
    return answer if _says_something(answer.value) or dropped else None


def _says_something(value: BaseModel) -> bool:
    """Whether an answer without items has at least a word; a shape without texts may be empty."""
    texts = [text for text in dict(value).values() if isinstance(text, str)]
    return not texts or _items(value) > 0 or not _lists(type(value)) or any(map(str.isalnum, "".join(texts)))


def _object_of(value: Any, shape: type[BaseModel]) -> dict[str, Any] | None:
    """The object that has a field of `shape`: the value, its only list, or an object inside it; never a schema."""
    names = {info.alias or name for name, info in shape.model_fields.items()}
    lists = _lists(shape)
    if isinstance(value, list):
        whole = next((item for item in value if isinstance(item, dict) and names & item.keys()), None)
        if whole is not None and not _fits_item(whole, lists):
            return _object_of(whole, shape)
        return {next(iter(lists)): value} if lists and any(isinstance(item, dict) for item in value) else None
    if not isinstance(value, dict):
        return None
    if _is_schema(value):
        inner = value.get("properties")
        given = inner if isinstance(inner, dict) and names & inner.keys() and not _are_types(inner) else None
        return dict(given) if given is not None else None
    if names & value.keys():
        return dict(value)
    if lists and _fits_item(value, lists):
        return {next(iter(lists)): [value]}
    inside = [item for item in value.values() if isinstance(item, dict) and names & item.keys()]
    return _object_of(inside[0], shape) if len(inside) == 1 else None


def _is_schema(value: dict[str, Any]) -> bool:
    return "properties" in value and len(_SCHEMA_KEYS & value.keys()) >= 2


def _are_types(properties: dict[str, Any]) -> bool:
    return all(isinstance(item, dict) and ("type" in item or "$ref" in item) for item in properties.values())


def _fits_item(value: dict[str, Any], lists: dict[str, type[BaseModel]]) -> bool:
    """Whether an object is one item of the first list rather than the whole answer."""
    model = lists[next(iter(lists))]
    needed = {info.alias or name for name, info in model.model_fields.items() if info.is_required()}
    return needed <= value.keys()


def _taken(items: list[Any], model: type[BaseModel], dropped: dict[str, int], instructions: str) -> list[BaseModel]:
    """The items that are what they should be; the others are counted."""
    taken: list[BaseModel] = []
    seen: set[str] = set()
    for item in items:
        why = None
        if len(taken) >= MOST_ITEMS:
            why = "over_limit"
        else:
            try:
                made = model.model_validate(item)
            except ValidationError:
                why = "malformed"
            else:
                key = made.model_dump_json()
                why = "repeated" if key in seen else "example" if _is_example(made, instructions) else None
                seen.add(key)
        if why is None:
            taken.append(made)
        else:
            dropped[why] = dropped.get(why, 0) + 1
    return taken


def _is_example(item: BaseModel, instructions: str) -> bool:
    """Whether the content of a note stands in the instructions, or is nothing but dots."""
    content = getattr(item, "content", None)
    if not isinstance(content, str):
        return False
    key = statement_key(content)
    return not any(map(str.isalnum, key)) or (len(key.split()) >= 3 and key in _instructions_key(instructions))


@lru_cache(maxsize=16)
def _instructions_key(instructions: str) -> str:
    return statement_key(instructions)


def _lists(shape: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The fields of a shape that are lists of objects, with the model of their items."""
    found: dict[str, type[BaseModel]] = {}
    for name, info in shape.model_fields.items():
        arguments = get_args(info.annotation)
        if (
            get_origin(info.annotation) is list
            and isinstance(arguments[0], type)
            and issubclass(arguments[0], BaseModel)
        ):
            found[name] = arguments[0]
    return found


def _last_list(data: dict[str, Any], lists: dict[str, type[BaseModel]]) -> str | None:
    """The list that the model was writing when it was cut: the last field that came, if it is one."""
    last = next(reversed(data), None)
    return last if last in lists else None


def _items(value: BaseModel) -> int:
    return sum(len(getattr(value, name)) for name in _lists(type(value)))


def _weight(answer: Answer[Any]) -> tuple[int, int]:
    """How much an answer says: its items, then its fields that came."""
    return _items(answer.value), len(answer.value.model_fields_set)


def _beginning(text: str) -> str:
    return " ".join(text.split())[:40]
