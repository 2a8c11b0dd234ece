"""What all entries of a record have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from hil.errors import close_matches

SHOWN = 40  # characters of a name or a value in a sentence


class Entry(BaseModel):
    """An entry of `tests` or `trials`: it has the fields that it names and no others."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, said: Any) -> Any:
        """Refuse a field that is none, with those that it may have been meant to be."""
        unknown = next((name for name in said if name not in cls.model_fields), None) if isinstance(said, dict) else None
        if unknown is not None:
            name = str(unknown)[:SHOWN]
            raise PydanticCustomError("unknown_field", "{text}", {"text": f"has no field {name!r}, {close_matches(name, list(cls.model_fields))}"})
        return said
