"""Operations and number formats: their numbers in the network file, and what each format has (docs/network.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_read import SMALL_TEXT, read_toml

FILE = Path(__file__).with_name("chains.toml")
Shape = tuple[int, int, int]  # height, width, channels


class Op(IntEnum):
    """The operation of a node, numbered as in the network file."""

    CONV2D = 1
    FULLY_CONNECTED = 2
    RELU = 3
    MAX_POOL = 4
    DEPTHWISE = 5
    POINTWISE = 6
    AVERAGE_POOL = 7
    ADD = 8
    CAST = 9
    HARD_SWISH = 10
    MULTIPLY = 11
    TABLE = 12
    MEAN = 13


class Format(IntEnum):
    """How values and weights are stored and rounded, numbered as in the network file."""

    TFLITE8 = 1
    BFP8 = 2
    FLOAT32 = 3
    W16A8 = 4
    AFFINE8 = 5

    @classmethod
    def _missing_(cls, value: object) -> Format | None:
        """Return the format of a plugin, whose networks are chains, by its number."""
        from hil.training.graph.format_plugins import of_number

        found = of_number(value)
        if found is None:
            return None
        name, number, chain = found
        format = int.__new__(cls, number)
        format._name_, format._value_ = name.upper(), number
        cls._value2member_map_[number] = format  # as `enum.Flag` keeps its composite members
        _add_chain(format, chain)
        return format


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

POOLS = (Op.MAX_POOL, Op.AVERAGE_POOL)
WEIGHTED = (Op.CONV2D, Op.FULLY_CONNECTED, Op.DEPTHWISE, Op.POINTWISE)
WINDOWED = (Op.CONV2D, Op.DEPTHWISE, Op.POINTWISE, *POOLS)
PAIRED = (Op.ADD, Op.MULTIPLY)  # they read two values
GATED = (*WEIGHTED, Op.ADD, Op.MEAN)  # errors pass them where the output lies between its limits
SPREADING = (*POOLS, Op.MEAN)  # errors go back to positions of the input as they are
CHAINS: dict[Format, ChainFormat] = {Format[name.upper()]: chain for name, chain in CHAIN_FORMATS.items()}
"""The formats whose networks are chains."""
WEIGHTS: dict[Format, np.dtype] = {
    Format.TFLITE8: np.dtype(np.int8),
    Format.FLOAT32: np.dtype("<f4"),
    Format.W16A8: np.dtype("<i2"),
    Format.AFFINE8: np.dtype(np.int8),
    **{format: chain.weights for format, chain in CHAINS.items()},
}
"""The types of weights in a network file."""
_COMMON = tuple(op for op in Op if op < Op.CAST and op is not Op.RELU)
OPS: dict[Format, tuple[Op, ...]] = {
    **dict.fromkeys(WEIGHTS, _COMMON),
    Format.TFLITE8: (*_COMMON, Op.TABLE, Op.MEAN),
    Format.FLOAT32: (*_COMMON, Op.CAST, Op.HARD_SWISH, Op.MULTIPLY),
    Format.AFFINE8: (*_COMMON, Op.HARD_SWISH, Op.MULTIPLY),
    **{format: tuple(Op[name.upper()] for name in chain.operations) for format, chain in CHAINS.items()},
}
"""The operations that a format has; a chain has those of chains.toml."""
ROUNDINGS: dict[Format, dict[str, int]] = {
    **{format: {"": 0} for format in Format},
    Format.TFLITE8: {"double": 0, "single": 1},
    Format.W16A8: {"single": 1},
    Format.AFFINE8: {"nearest": 0, "floor": 1},
}
"""The roundings of a format, numbered as in the network file; the first is that of a node which says none."""


def _add_chain(format: Format, chain: ChainFormat) -> None:
    """Enter a format of a plugin into the tables."""
    CHAINS[format], WEIGHTS[format], ROUNDINGS[format] = chain, chain.weights, {"": 0}
    OPS[format] = tuple(Op[name.upper()] for name in chain.operations)


def is_format(number: int) -> bool:
    """Return whether a format has this number."""
    try:
        Format(number)
    except ValueError:
        return False
    return True


LARGEST_FLOAT = 2.0**40  # magnitude of a value and of an error in `float32`, and of a limit in `affine8`

KIND = {
    Op.CONV2D: "conv",
    Op.FULLY_CONNECTED: "fc",
    Op.RELU: "relu",
    Op.MAX_POOL: "pool",
    Op.DEPTHWISE: "dw",
    Op.POINTWISE: "pw",
    Op.AVERAGE_POOL: "mean",
    Op.ADD: "add",
    Op.CAST: "cast",
    Op.HARD_SWISH: "hswish",
    Op.MULTIPLY: "mul",
    Op.TABLE: "table",
    Op.MEAN: "gap",
}


def named(ops: Sequence[Op]) -> list[str]:
    """Return the names of nodes in order, numbered by kind: conv1, dw1, pw1, add1, ..."""
    seen: dict[Op, int] = {}
    names = []
    for op in ops:
        seen[op] = seen.get(op, 0) + 1
        names.append(f"{KIND[op]}{seen[op]}")
    return names


def rounding_word(format: int, number: int) -> str:
    """Return the word for a number that a format has in `ROUNDINGS`."""
    return next(word for word, its in ROUNDINGS[Format(format)].items() if its == number)


def weight_type(format: int) -> np.dtype:
    """Return the type of the weights of a format in a network file."""
    return WEIGHTS[Format(format)]
