"""Functions of the library in C: the types of their arguments, and the functions of one format."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping
from ctypes import c_char_p, c_int, c_void_p
from typing import Any, ClassVar

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


class FormatLibrary:
    """The functions of a format in the library that `hil.training.reference.native.build` makes.

    A subclass has the name of its format, which begins those of its functions; the types of the arguments of each; and
    which of them return whether they failed, for want of memory, with what is said then.

    Attributes:
        name: what the library says of itself, such as the instructions that it uses.
    """

    FORMAT: ClassVar[str]
    ARGUMENTS: ClassVar[Mapping[str, tuple[Any, ...]]]
    MAY_FAIL: ClassVar[Collection[str]]
    NO_MEMORY: ClassVar[str]

    def __init__(self, library: ctypes.CDLL) -> None:
        self._call: dict[str, Any] = {}
        for name, types in self.ARGUMENTS.items():
            function = getattr(library, f"{self.FORMAT}_{name}")
            function.argtypes = types
            function.restype = c_int if name in self.MAY_FAIL else None
            self._call[name] = function
        of_name = getattr(library, f"{self.FORMAT}_name")
        of_name.restype = c_char_p
        self.name: str = of_name().decode()

    def _run(self, name: str, *arguments: Any) -> None:
        if self._call[name](*arguments):
            raise MemoryError(self.NO_MEMORY.format(name))


class LanedLibrary(FormatLibrary):
    """That of a format whose samples lie side by side, in lanes of whole vectors."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(library)
        self._vector: int = getattr(library, f"{self.FORMAT}_lanes")()

    def lanes(self, samples: int) -> int:
        """Return the lanes that so many samples have."""
        return -(-samples // self._vector) * self._vector
