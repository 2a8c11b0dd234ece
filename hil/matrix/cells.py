"""The cells of the matrix: every method and variant on every network that it can train, on every board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hil.errors import RigError, close_matches
from hil.network import BUILDERS
from hil.network.settings import VARIANTS
from hil.network.tflite.methods import METHODS
from hil.network.tflite.networks import NETWORKS
from hil.trial import TrialSpec

ELASTICZO = "elasticzo-int8"
NETWORK_NAMES, METHOD_NAMES = (*BUILDERS, *NETWORKS), (ELASTICZO, *METHODS)
STEPS, QUERIES = 2, 2  # few, because a cell is about equal bits, not about learning


@dataclass(frozen=True)
class Cell:
    """One method in one variant, on one network and board."""

    method: str
    variant: str
    network: str
    board: str

    def spec(self) -> TrialSpec:
        """Return the trial of the cell: a few steps, at the batch size that the method uses on boards."""
        if self.method == ELASTICZO:
            return TrialSpec(self.board, self.variant, self.network, self.method, steps=STEPS, evaluate=0)
        data, settings = NETWORKS[self.network].data, {"queries": QUERIES} if self.method != "mezo" else {}
        steps = 1 if self.method == "deepzero" else STEPS  # DeepZero takes a forward pass for each coordinate
        cell = self.board, self.variant, self.network, self.method
        return TrialSpec(*cell, data, batch=1, steps=steps, evaluate=0, settings=settings)


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise RigError if a network or method is unknown."""
    if name not in known:
        raise RigError(f"there is no {kind} {name!r}: {close_matches(name, known)}")


def cells(boards: Iterable[str], networks: Iterable[str] = (), methods: Iterable[str] = ()) -> Iterator[Cell]:
    """Yield the cells of some boards; without names, of all networks and methods."""
    boards, networks, methods = list(boards), set(networks), set(methods)
    rows = [(ELASTICZO, variant, network) for network in BUILDERS for variant in VARIANTS]
    graphs = [(method, variant) for method, variants in METHODS.items() for variant in variants]
    rows += [(method, variant, network) for network in NETWORKS for method, variant in graphs]
    for method, variant, network in rows:  # boards innermost, because the plan is cached
        if (not networks or network in networks) and (not methods or method in methods):
            yield from (Cell(method, variant, network, board) for board in boards)
