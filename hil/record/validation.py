"""Validate entries of the record: a value that does not fit the model is one sentence that names its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from hil.errors import Blocked, RigError
from hil.record.field_types import SHOWN
from hil.record.safe_paths import RERUN

T = TypeVar("T")
MOST_ERRORS = 10_000  # a hostile record may have millions, and pydantic takes long to list them


def validated(kind: TypeAdapter[T], value: Any, file: str, place: str) -> T:
    """Return a value that was read, as the model has it; `place` names it in messages, such as `results.json`.

    Raises:
        RigError: the value does not fit the model.
    """
    try:
        found = kind.validate_python(value)
    except ValidationError as error:
        raise RigError(f"{file} is damaged ({_problem(error, value, place)}): {RERUN}.") from None
    lone = _lone_surrogate(value)
    if lone is not None:
        raise RigError(f"{file} is damaged ({place} holds {shown(lone)}, half of a character): {RERUN}.")
    return found


def new_entry(kind: Callable[..., T], **fields: Any) -> T:
    """Return a new entry of the record.

    Raises:
        Blocked: a field does not fit the model, for example NaN where a finite number belongs: no reader would
            accept the record.
    """
    try:
        return kind(**fields)
    except ValidationError as error:
        raise unrecordable(error, fields, "the trial") from error


def unrecordable(error: ValidationError, value: Any, place: str) -> Blocked:
    """Return the error for a new value that does not fit the model; `value` and `place` as for `validated`."""
    problem = _problem(error, value, place)
    return Blocked("record", f"{place} cannot be recorded ({problem}): this is a bug in trainrig, please report it.")


def _problem(error: ValidationError, value: Any, place: str) -> str:
    """Return the first error as a clause. Of a union, all members that the value is not are named."""
    if error.error_count() > MOST_ERRORS:
        return f"{place} has {error.error_count():,} mistakes"
    errors = error.errors(include_url=False)
    first = errors[0]
    where = _place(first["loc"], value, place)
    match first["type"]:
        case "missing":
            return f"{where} has no {first['loc'][-1]}"
        case "clause":
            return f"{where} {first['msg']}"
        case "too_long":
            return f"{where} has {len(first['input']):,} entries, more than {first['ctx']['max_length']:,}"
        case "string_pattern_mismatch" | "string_too_short":
            return f"{where} is {shown(first['input'])}, which has the wrong form"
        case "string_unicode":
            return f"{where} is {shown(first['input'])}, half of a character"
    alike = dict.fromkeys(each["msg"] for each in errors if _place(each["loc"], value, place) == where)
    wanted = " or ".join(message.removeprefix("Input should be ") for message in alike)
    return f"{where} is {shown(first['input'])}, not {wanted[0].lower()}{wanted[1:]}"


def _place(steps: tuple[int | str, ...], value: Any, place: str) -> str:
    """Return the path of an error, such as `trials[2].sram.total`, without the type names that pydantic inserts."""
    for step in steps:
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value, place = value[step], f"{place}[{step}]"
        elif isinstance(value, dict) and step in value:
            value, place = value[step], _member(place, str(step))
    return place


def _member(place: str, name: str) -> str:
    return f"{place}.{name}" if name.isidentifier() and len(name) <= SHOWN else f"{place}[{shown(name)}]"


def _lone_surrogate(value: Any) -> str | None:
    """Return a string with a lone surrogate, which JSON can spell and UTF-8 cannot; unknown fields are searched too."""
    left = [value]
    while left:  # no recursion: a hostile record may be nested deeply
        item = left.pop()
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= each <= "\udfff" for each in item):
                return item
        elif isinstance(item, dict):
            left += item.keys()
            left += item.values()
        elif isinstance(item, list):
            left += item
    return None


def shown(value: Any) -> str:
    """Return a value for a message, in at most SHOWN characters."""
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__} of {len(value)}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
