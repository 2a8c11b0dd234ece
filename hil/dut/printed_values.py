"""What a device has printed, as numbers and arrays of NumPy."""

from __future__ import annotations

import contextlib
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
Value: TypeAlias = Any  # int, float, str, or an array or number of NumPy


def value_of(text: str, dtype: npt.DTypeLike | None = None, as_bits: bool = False) -> Value:
    """Return what a text says: int, float, an array of several numbers, or else the text.

    Numbers are decimal (`-12`, `1.5e-3`), hexadecimal (`0xff`, `0x1.8p+1`), `nan` or `inf`, with a sign. Several ones
    are separated by spaces or commas, in brackets or not.

    Args:
        text: as the device printed it.
        dtype: of the result; the text must then be a number, or several.
        as_bits: hexadecimal numbers are the bits of a value of this dtype, with all their digits. A float may also be
            `nan` or `inf`.

    Raises:
        RigError: the text is no number of this dtype.
    """
    whole = text.strip()
    parts = [whole] if NUMBER.fullmatch(whole) else [part for part in BETWEEN.split(whole) if part]
    if dtype is not None and not as_bits and np.dtype(dtype).kind == "f" and DECIMALS.fullmatch(whole):
        return np.array(list(map(float, parts)), dtype)
    if as_bits:
        return _of_bits(text, parts, np.dtype(dtype))
    numbers = [_number(part) for part in parts]
    if not numbers or any(number is None for number in numbers):
        if dtype is None:
            return text
        raise RigError(f"{shown(text)} is no number of {np.dtype(dtype).name}: correct the pattern or its dtype.")
    if dtype is None:
        return numbers[0] if len(numbers) == 1 else np.array(numbers)
    kind = np.dtype(dtype)
    if kind.kind in "iu" and not all(isinstance(n, int) and _fits(n, kind) for n in numbers):
        raise RigError(f"{shown(text)} is no number of {kind.name}: correct the pattern or its dtype.")
    found = np.array(numbers, kind)
    return kind.type(found[0]) if len(numbers) == 1 else found


def _fits(number: int, kind: np.dtype[Any]) -> bool:
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)


def _number(text: str) -> int | float | None:
    found = NUMBER.fullmatch(text)
    match found.lastgroup if found is not None else None:
        case "integer":
            return int(text)
        case "hex_integer":
            return int(text, 16)
        case "decimal":
            return float(text)
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
    if not values or any(value is None for value in values):
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
