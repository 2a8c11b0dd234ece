"""Types of arguments of the C: whole arrays of one type."""

from __future__ import annotations

from ctypes import c_void_p

import numpy as np


def array(dtype: type[np.generic]) -> type:
    """Return the type of an argument that is a whole array: as `numpy.ctypeslib.ndpointer`, at a fifth of its cost."""
    wanted = np.dtype(dtype)

    class WholeArray:
        @classmethod
        def from_param(cls, given: np.ndarray) -> c_void_p:
            if given.dtype != wanted or not given.flags.c_contiguous:
                raise TypeError(f"an array of {wanted} in one piece is wanted, not of {given.dtype}.")
            return c_void_p(given.__array_interface__["data"][0])

    return WholeArray
