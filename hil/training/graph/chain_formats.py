"""What chains.toml says of each format whose networks are chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_read import SMALL_TEXT, read_toml

FILE = Path(__file__).with_name("chains.toml")


@dataclass(frozen=True)
class ChainFormat:
    """A format of chains; chains.toml explains the fields."""

    operations: tuple[str, ...]
    weights: np.dtype
    largest_weight: float
    values: np.dtype
    exponents: tuple[int, int]
    input_exponent: int
    most_products: int


def chain_format(table: Mapping[str, Any]) -> ChainFormat:
    """Return what a table says, of chains.toml or of a plugin.

    Raises:
        KeyError, TypeError: a key is missing or unknown, or a value has another type.
    """
    kinds = {"operations": tuple, "weights": np.dtype, "values": np.dtype, "exponents": tuple}
    return ChainFormat(**{**table, **{field: kind(table[field]) for field, kind in kinds.items()}})


CHAIN_FORMATS = {
    name: chain_format(table) for name, table in read_toml(FILE, SMALL_TEXT, "install trainrig again")[1].items()
}
