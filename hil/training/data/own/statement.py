"""What the user states about own data, in a file card.toml beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches, printable, shown
from hil.training.data.card import NOT_STATED

FILE = "card.toml"
DOCS = "docs/data.md has an example"
TEXTS = {"name": 100, "licence": 1000, "source": 1000}  # most characters
WHOLE = {"split_seed": (0, 2**32 - 1), "test_percent": (1, 99)}
RANGES = ("training", "network")


@dataclass(frozen=True)
class Statement:
    """The keys of card.toml, all optional.

    Attributes:
        name: title of the set; empty for the name of its file.
        licence, source: in the user's words.
        split_seed, test_percent: of the rule that splits a set that is not split (hil/training/data/own/split.py).
        range: whether numbers become bytes by the range of the `training` part, or as the `network` reads bytes.
    """

    name: str = ""
    licence: str = NOT_STATED
    source: str = NOT_STATED
    split_seed: int = 0
    test_percent: int = 20
    range: str = RANGES[0]


def read_statement(data: Path) -> Statement:
    """Return what card.toml states, in a folder of images or beside a file; the defaults if there is none.

    Raises:
        RigError: it cannot be read, or has an unknown key or a wrong value.
    """
    path = (data if data.is_dir() else data.parent) / FILE
    if not path.exists():
        return Statement()
    _, keys = read_toml(path, SMALL_TEXT, f"correct it or remove it; {DOCS}")
    known = Statement.__dataclass_fields__
    for key, value in keys.items():
        if key not in known:
            raise RigError(f"{path} has an unknown key {key[:40]!r}: {close_matches(key[:40], known)}")
        if wanted := _wanted(key, value):
            raise RigError(f"{path}: {key} is {shown(value)}: give {wanted}.")
    fields: dict[str, Any] = {key: printable(value) if isinstance(value, str) else value for key, value in keys.items()}
    return Statement(**fields)


def _wanted(key: str, value: Any) -> str:
    """Return what a key must have; empty if its value is right."""
    if key in WHOLE:
        low, high = WHOLE[key]
        right = type(value) is int and low <= value <= high
        return "" if right else f"a whole number in {low:,}..{high:,}"
    if key == "range":
        return "" if value in RANGES else " or ".join(map(repr, RANGES))
    right = isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= TEXTS[key]
    return "" if right else f"text of 1 to {TEXTS[key]:,} characters"
