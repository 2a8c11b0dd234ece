"""The networks of the second family by name."""

from __future__ import annotations

from hil.errors import RigError
from hil.network.tflite.layers import Graph


def build_graph(name: str, seed: int) -> Graph:
    """Return a network by name.

    Raises:
        RigError: no such network.
    """
    raise RigError(f"there is no network {name!r}.")
