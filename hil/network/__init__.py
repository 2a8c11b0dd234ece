"""Quantized layer graphs, their file, their memory plan and the settings that train them."""

from __future__ import annotations

from hil.errors import RigError, close_matches
from hil.network.blob import placed
from hil.network.graph import Layer, Network, Op
from hil.network.lenet5 import lenet5

BUILDERS = {"lenet5": lenet5}

__all__ = ["BUILDERS", "Layer", "Network", "Op", "build"]


def build(name: str, seed: int) -> Network:
    """Return a network by name, with initial weights drawn from `seed`.

    Raises:
        RigError: no such network.
    """
    if name not in BUILDERS:
        raise RigError(f"there is no network {name!r}: {close_matches(name, BUILDERS)}")
    return placed(BUILDERS[name](seed))
