"""Read pickles of NumPy arrays from an untrusted source: a pickle could otherwise execute any code."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

RECONSTRUCT = np.empty(0).__reduce__()[0]  # its module depends on the NumPy version


def _encode(text: str, codec: str) -> bytes:
    """Return bytes that Python 3 has pickled for Python 2: as text in Latin-1."""
    if codec != "latin1":
        raise pickle.UnpicklingError(f"bytes in {codec!r} are not allowed")
    return text.encode("latin1")


ALLOWED: Mapping[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _encode,
}


class ArraysOnly(pickle.Unpickler):
    """Unpickles NumPy arrays, and lists, dictionaries and plain values, only."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a name that arrays need. Raises UnpicklingError for any other."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return ALLOWED[module, name]
