"""What chains.toml says of each format whose networks are chains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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


def _formats() -> dict[str, ChainFormat]:
    _, tables = read_toml(FILE, SMALL_TEXT, "install trainrig again")
    kinds = {"operations": tuple, "weights": np.dtype, "values": np.dtype, "exponents": tuple}
    return {
        name: ChainFormat(**table | {field: kind(table[field]) for field, kind in kinds.items()})
        for name, table in tables.items()
    }


CHAIN_FORMATS = _formats()
