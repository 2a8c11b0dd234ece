"""Whether a record has the shape that schema.json gives it: the types, names and limits that its readers rely on.

A reader asks for less than the schema promises: what it does not know may be there (`additionalProperties: false`), and rules that bind
fields to each other (`allOf`, `if`) are for who writes.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from hil.record.trial_record import schema

CHECKED = {
    "type", "enum", "const", "pattern", "minLength", "minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems", "items", "properties", "required",
    "additionalProperties", "$ref",
}  # fmt: skip
LEFT_OUT = {"$schema", "$defs", "title", "description", "allOf", "if", "then", "else"}
TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
SHOWN = 40  # characters of a name or a value in a sentence


@cache
def schema_for_reading() -> dict[str, Any]:
    """Return the schema without the fields that every trial and every test must have: those without a default, TrialRecord and AskedTest ask for."""
    whole = copy.deepcopy(schema())
    for part in ("tests", "trials"):
        del whole["properties"][part]["items"]["required"]
    return whole


def trial_schema() -> dict[str, Any]:
    """Return the part of it for one trial."""
    found: dict[str, Any] = schema_for_reading()["properties"]["trials"]["items"]
    return found


def mistake(value: Any, wanted: Mapping[str, Any], place: str) -> str | None:
    """Return what is wrong first, with its place, as a part of a sentence; None where the shape is right.

    Args:
        value: of JSON.
        wanted: a schema, or a part of it.
        place: of the value, such as `trials[2].sram`.
    """
    return next(_mistakes(value, wanted, place), None)


def _mistakes(value: Any, wanted: Mapping[str, Any], place: str) -> Iterator[str]:
    if "$ref" in wanted:
        yield from _mistakes(value, schema()["$defs"][wanted["$ref"].removeprefix("#/$defs/")], place)
    types = wanted.get("type", list(TYPES))
    types = [types] if isinstance(types, str) else types
    if not any(TYPES[name](value) for name in types):
        yield f"{place} is {_shown(value)}, not {' or '.join(types)}"
        return
    if ("enum" in wanted and not any(_equal(value, one) for one in wanted["enum"])) or ("const" in wanted and not _equal(value, wanted["const"])):
        yield f"{place} is {_shown(value)}, which is none of its words"
    if isinstance(value, str):
        yield from _of_text(value, wanted, place)
    elif isinstance(value, dict):
        yield from _of_object(value, wanted, place)
    elif isinstance(value, list):
        if not wanted.get("minItems", 0) <= len(value) <= wanted.get("maxItems", len(value)):
            yield f"{place} has {len(value)} entries"
        for number, item in enumerate(value):
            yield from _mistakes(item, wanted.get("items", {}), f"{place}[{number}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        least, most, above = (wanted.get(name) for name in ("minimum", "maximum", "exclusiveMinimum"))
        if (least is not None and value < least) or (most is not None and value > most) or (above is not None and value <= above):
            yield f"{place} is {_shown(value)}, which is out of its range"


def _of_text(value: str, wanted: Mapping[str, Any], place: str) -> Iterator[str]:
    if len(value) < wanted.get("minLength", 0) or not re.search(wanted.get("pattern", ""), value):
        yield f"{place} is {_shown(value)}, which is not of its form"
    if any("\ud800" <= each <= "\udfff" for each in value):
        yield f"{place} is {_shown(value)}, half of a character"


def _of_object(value: dict[str, Any], wanted: Mapping[str, Any], place: str) -> Iterator[str]:
    for name in wanted.get("required", ()):
        if name not in value:
            yield f"{place} has no {name}"
    known, others = wanted.get("properties", {}), wanted.get("additionalProperties")
    for name, item in value.items():
        at = f"{place}.{name}" if name.isidentifier() and len(name) <= SHOWN else f"{place}[{_shown(name)}]"
        yield from _of_text(name, {}, at)
        if name in known:
            yield from _mistakes(item, known[name], at)
        else:
            yield from _mistakes(item, others if isinstance(others, dict) else {}, at)


def _equal(value: Any, word: Any) -> bool:
    return isinstance(value, bool) == isinstance(word, bool) and bool(value == word)


def _shown(value: Any) -> str:
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__} of {len(value)}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
