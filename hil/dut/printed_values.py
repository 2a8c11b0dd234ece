"""What a device has printed, as numbers and arrays of NumPy."""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hil.errors import RigError, shown

DECIMAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"  # in one way only: no search in lists goes back
NUMBER = re.compile(
    r"(?P<integer>[+-]?\d+)"
    r"|(?P<hex_integer>0[xX][0-9a-fA-F]+)"
    r"|(?P<hex_float>[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+)"  # C17, 7.21.6.1: conversion `a`
    rf"|(?P<decimal>{DECIMAL})"
    r"|(?P<nan>[+-]?)nan(?:\([0-9a-zA-Z_]*\))?"  # C17, 7.21.6.1: conversion `f`
    r"|(?P<infinity>[+-]?)inf(?:inity)?",
    re.IGNORECASE,
)
HEX = re.compile(r"(?:0[xX])?(?P<digits>[0-9a-fA-F]+)")  # bits of a value
BETWEEN = re.compile(r"[\s,;\[\]{}()]+")  # numbers of a list
DECIMALS = re.compile(
    rf"(?:{BETWEEN.pattern})?{DECIMAL}(?:{BETWEEN.pattern}{DECIMAL})+(?:{BETWEEN.pattern})?"
)  # most lists
NAMED = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)  # an infinity that was printed
FLAGS = {"0": False, "1": True, "false": False, "true": True}  # texts of a bool, in small letters
Value: TypeAlias = Any  # int, float, str, or an array or number of NumPy


def value_of(text: str, dtype: npt.DTypeLike | None = None, as_bits: bool = False) -> Value:
    """Return what a text says: int, float, an array of several numbers, or else the text.

    Numbers are decimal (`-12`, `1.5e-3`), hexadecimal (`0xff`, `0x1.8p+1`), `nan` or `inf`, with a sign; those of a
    bool are `0`, `1`, `true` and `false`. Several ones are separated by spaces or commas, in brackets or not.

    Args:
        text: as the device printed it.
        dtype: of the result; the text must then be a number that it can hold, or several.
        as_bits: hexadecimal numbers are the bits of a value of this dtype, with all their digits. A float may also be
            `nan` or `inf`.

    Raises:
        RigError: the text is no number of this dtype.
    """
    whole, kind = text.strip(), None if dtype is None and not as_bits else np.dtype(dtype)
    parts = [whole] if NUMBER.fullmatch(whole) else [part for part in BETWEEN.split(whole) if part]
    if kind is None:
        numbers = [_number(part) for part in parts]
        if not numbers or any(number is None for number in numbers):
            return text
        return numbers[0] if len(numbers) == 1 else np.array(numbers)
    if as_bits:
        return _of_bits(text, parts, kind)
    if kind.kind == "f" and DECIMALS.fullmatch(whole):
        found = _floats(list(map(float, parts)), kind)  # most lists, and no infinity among their texts
        named = 0
    else:
        found, named = _numbers(text, parts, kind), sum(NAMED.fullmatch(part) is not None for part in parts)
    if kind.kind == "f" and np.count_nonzero(np.isinf(found)) > named:
        raise RigError(f"{shown(text)} is beyond {kind.name}: correct its dtype.")
    return kind.type(found[0]) if len(parts) == 1 else found


def _numbers(text: str, parts: list[str], kind: np.dtype[Any]) -> np.ndarray:
    """Return texts as numbers of a dtype; a float that is too large for it is infinite."""
    numbers = [FLAGS.get(part.lower()) if kind.kind == "b" else _number(part) for part in parts]
    whole = kind.kind in "iu" and not all(isinstance(number, int) and _fits(number, kind) for number in numbers)
    if not numbers or whole or any(number is None for number in numbers):
        raise RigError(f"{shown(text)} is no number of {kind.name}: correct the pattern or its dtype.")
    return _floats(numbers, kind) if kind.kind == "f" else np.array(numbers, kind)


def _floats(numbers: list[Any], kind: np.dtype[Any]) -> np.ndarray:
    with np.errstate(over="ignore"):  # the caller says it
        try:
            return np.array(numbers, kind)
        except OverflowError:  # an integer beyond every float
            return np.full(len(numbers), np.inf, kind)


def _fits(number: int, kind: np.dtype[Any]) -> bool:
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)


def _number(text: str) -> int | float | None:
    found = NUMBER.fullmatch(text)
    match found.lastgroup if found is not None else None:
        case "integer":
            with contextlib.suppress(ValueError):  # of more digits than Python takes
                return int(text)
        case "hex_integer":
            return int(text, 16)
        case "decimal":
            return number if math.isfinite(number := float(text)) else None  # beyond every float
        case "hex_float":
            with contextlib.suppress(ValueError, OverflowError):
                return float.fromhex(text)
        case "nan" | "infinity" as kind:
            return float(f"{found[kind]}{kind}")  # type: ignore[index]  # it was found
    return None


def _of_bits(text: str, parts: list[str], kind: np.dtype[Any]) -> Any:
    """Return the value or the values whose bits hexadecimal numbers are."""
    digits = 2 * kind.itemsize
    for part in parts:
        found = HEX.fullmatch(part)
        if found is not None and len(found["digits"]) != digits:
            raise RigError(
                f"{shown(part)} has {len(found['digits'])} hexadecimal digits, and the bits of {kind.name} have "
                f"{digits}: print all of them (%0{digits}x), or correct its dtype."
            )
    values = [_bits(part, kind) for part in parts]
    beyond = kind.kind == "b" and any(int(part, 16) > 1 for part, value in zip(parts, values, strict=True) if value)
    if not values or beyond or any(value is None for value in values):
        raise RigError(f"{shown(text)} is no number of {kind.name}: correct the pattern or its dtype.")
    return values[0] if len(values) == 1 else np.array(values, kind)


def _bits(text: str, kind: np.dtype[Any]) -> Any:
    """Return the value whose bits a hexadecimal number has, or a float that is `nan` or `inf`; None of another text."""
    found = HEX.fullmatch(text)
    if found is not None:
        data = int(found["digits"], 16).to_bytes(kind.itemsize, "little")
        return np.frombuffer(data, kind.newbyteorder("<"))[0]
    named = NUMBER.fullmatch(text)
    if kind.kind != "f" or named is None or named.lastgroup not in ("nan", "infinity"):
        return None
    return kind.type(_number(text))
