"""Make entries of the record, and read them: what does not fit the model is refused in one sentence that says what is wrong, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from hil.errors import Blocked, RigError
from hil.record.inside import AGAIN
from hil.record.kinds import SHOWN

T = TypeVar("T")
MOST_ERRORS = 10_000  # of a hostile record that are looked through


def checked(kind: TypeAdapter[T], value: Any, file: str, place: str) -> T:
    """Return what the model makes of a value.

    Args:
        kind: of it.
        value: of JSON.
        file: or what else it comes from, for a sentence.
        place: of the value within it, such as `results.json`.

    Raises:
        RigError: it does not fit the model.
    """
    try:
        found = kind.validate_python(value)
    except ValidationError as error:
        raise RigError(f"{file} is damaged ({_mistake(error, value, place)}): {AGAIN}.") from None
    half = _half_character(value)
    if half is not None:
        raise RigError(f"{file} is damaged ({place} holds {shown(half)}, half of a character): {AGAIN}.")
    return found


def made(kind: Callable[..., T], **fields: Any) -> T:
    """Return an entry that is to be written.

    Args:
        kind: of the entry, a model.
        fields: of it.

    Raises:
        Blocked: a field does not fit the model, such as a figure that is no number: no reader would take the record.
    """
    try:
        return kind(**fields)
    except ValidationError as error:
        raise not_kept(error, fields, "the trial") from error


def not_kept(error: ValidationError, value: Any, place: str) -> Blocked:
    """Return the error for what is to be written and does not fit the model; `value` and `place` as for `checked`."""
    mistake = _mistake(error, value, place)
    return Blocked(
        "record", f"{place} cannot be recorded ({mistake}): this is a fault of trainrig, report it with this sentence."
    )


def _mistake(error: ValidationError, value: Any, place: str) -> str:
    """Return the first thing that is wrong as part of a sentence; where a value may be of several kinds, it is none of them."""
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
            return f"{where} is {shown(first['input'])}, which is not of its form"
        case "string_unicode":
            return f"{where} is {shown(first['input'])}, half of a character"
    alike = dict.fromkeys(each["msg"] for each in errors if _place(each["loc"], value, place) == where)
    wanted = " or ".join(message.removeprefix("Input should be ") for message in alike)
    return f"{where} is {shown(first['input'])}, not {wanted[0].lower()}{wanted[1:]}"


def _place(steps: tuple[int | str, ...], value: Any, place: str) -> str:
    """Return the place that pydantic names, such as `trials[2].sram.total`; names of kinds, which it puts between, are left out."""
    for step in steps:
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value, place = value[step], f"{place}[{step}]"
        elif isinstance(value, dict) and step in value:
            value, place = value[step], _within(place, str(step))
    return place


def _within(place: str, name: str) -> str:
    return f"{place}.{name}" if name.isidentifier() and len(name) <= SHOWN else f"{place}[{shown(name)}]"


def _half_character(value: Any) -> str | None:
    """Return a text with half of a character, which JSON can spell and no file can hold; also of what the model does not name."""
    left = [value]
    while left:  # no recursion: how deep a value is, its author decides
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
    """Return a value as a sentence shows it."""
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__} of {len(value)}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
