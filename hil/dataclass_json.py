"""Build dataclasses and models from untrusted JSON objects and TOML files, with a check of names and types."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter

T = TypeVar("T")
Model = TypeVar("Model", bound="BaseModel")


def rebuilt(kind: type[T], value: Any, place: str, cure: str) -> T:
    """Return a dataclass with the fields of a JSON object; `place` and `cure` are for messages.

    Raises:
        RigError: it is not an object, has an unknown field or lacks one, or a field has another type than annotated.
    """
    from pydantic import ValidationError  # imported here: takes a quarter of a second, and many commands do not need it

    if not isinstance(value, dict):
        raise RigError(f"{place} is damaged (it is not a JSON object): {cure}.")
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in value:
        if name not in known:
            raise RigError(
                f"{place} is damaged (it has no field {name[:40]!r}, {close_matches(name[:40], known)}): {cure}."
            )
    try:
        found: T = _adapter(kind).validate_python(value)  # type: ignore[arg-type]  # mypy: a class is not hashable
        return found
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(
            part if isinstance(part, str) and part.isidentifier() else repr(part)[:40] for part in first["loc"]
        )
        raise RigError(
            f"{place} is damaged ({where or 'it'}: {first['msg'][0].lower()}{first['msg'][1:]}): {cure}."
        ) from error


def read_specification(kind: type[Model], path: Path, docs: str) -> Model:
    """Return the model of the TOML file that --spec names; `docs` is the page that describes such files.

    Raises:
        RigError: the file cannot be read, or has a mistake.
    """
    try:
        _, keys = read_toml(path, SMALL_TEXT, f"give a TOML file as {docs} describes it")
    except RigError as error:
        raise RigError(f"--spec {error}") from error
    return validated_keys(kind, keys, f"--spec {path}", docs)


def validated_keys(kind: type[Model], keys: dict[str, Any], place: str, docs: str) -> Model:
    """Return the model with these keys; `place` is for the message.

    Raises:
        RigError: a key is unknown, or its value has a wrong type.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate(keys)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        raise RigError(f"{place}: {key or 'the file'}: {first['msg'].lower()}; {docs} has an example.") from error


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
