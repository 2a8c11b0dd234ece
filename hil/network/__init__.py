"""Networks by name, their memory plans and the settings that train them."""

from __future__ import annotations

from hil.errors import RigError, close_matches
from hil.graph.ir import Graph
from hil.network.lenet5 import lenet5

BUILDERS = {"lenet5": lenet5}

__all__ = ["BUILDERS", "build"]


def build(name: str, seed: int) -> Graph:
    """Return a network by name, with initial weights drawn from `seed`.

    Raises:
        RigError: no such network.
    """
    if name not in BUILDERS:
        raise RigError(f"there is no network {name!r}: {close_matches(name, BUILDERS)}")
    return BUILDERS[name](seed)
