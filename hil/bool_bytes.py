"""Bytes of C's bool: 0 or 1. NumPy takes every other byte of a device's memory as True."""

from __future__ import annotations

import numpy as np


def wrong_bool(array: np.ndarray, member: str = "") -> str:
    """Return the first bool of an array whose byte is neither 0 nor 1, in words; empty if there is none.

    C has no value for such a byte (C17, 6.2.6.1 and 6.7.2.1), so that a program with it may take it as both.

    Args:
        array: of any dtype; of structures, every member that is a bool is looked at.
        member: which member of a structure it is, such as `state.ready`; empty if it is none.
    """
    for name in array.dtype.names or ():
        if found := wrong_bool(array[name], f"{member}.{name}" if member else name):
            return found
    if array.dtype.kind != "b":
        return ""
    data = np.ascontiguousarray(array).view(np.uint8)
    wrong = np.flatnonzero(data > 1)
    if not wrong.size:
        return ""
    index = tuple(int(each) for each in np.unravel_index(int(wrong[0]), array.shape)) if array.ndim else ()
    at = f" at index {index}" if index else ""
    of = f" (member {member})" if member else ""
    return f"the byte 0x{int(data.reshape(-1)[wrong[0]]):02x}{at}, where a bool is 0 or 1{of}"
