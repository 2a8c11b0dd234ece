"""The cells of the matrix: every method and variant on every network that it takes, on every board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hil.errors import RigError, close_matches
from hil.network import BUILDERS
from hil.network.settings import VARIANTS
from hil.network.tflite.methods import METHODS
from hil.network.tflite.networks import NETWORKS
from hil.trial import TrialSpec

FIRST_FAMILY = "elasticzo-int8"
NETWORK_NAMES, METHOD_NAMES = (*BUILDERS, *NETWORKS), (FIRST_FAMILY, *METHODS)
STEPS, QUERIES = 2, 2  # a few: a cell is about bits, not about learning


@dataclass(frozen=True)
class Cell:
    """One method in one variant, on one network and board."""

    method: str
    variant: str
    network: str
    board: str

    def spec(self) -> TrialSpec:
        """Return the trial that fills the cell: a few steps, at the batch that the method is run with on a board."""
        if self.method == FIRST_FAMILY:
            return TrialSpec(self.board, self.variant, self.network, self.method, steps=STEPS, evaluate=0)
        data, settings = NETWORKS[self.network].data, {"queries": QUERIES} if self.method != "mezo" else {}
        steps = (
            1 if self.method == "deepzero" else STEPS
        )  # it makes a forward pass for each coordinate: one is long enough
        return TrialSpec(
            self.board,
            self.variant,
            self.network,
            self.method,
            data,
            batch=1,
            steps=steps,
            evaluate=0,
            settings=settings,
        )


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise RigError when a network or method is not known."""
    if name not in known:
        raise RigError(f"there is no {kind} {name!r}: {close_matches(name, known)}")


def cells(boards: Iterable[str], networks: Iterable[str] = (), methods: Iterable[str] = ()) -> Iterator[Cell]:
    """Yield the cells of some boards; of all networks and methods unless some are named."""
    boards, networks, methods = list(boards), set(networks), set(methods)
    rows = [(FIRST_FAMILY, variant, network) for network in BUILDERS for variant in VARIANTS]
    rows += [
        (method, variant, network)
        for network in NETWORKS
        for method, variants in METHODS.items()
        for variant in variants
    ]
    for method, variant, network in rows:  # boards last: what is planned for one serves the others
        if (not networks or network in networks) and (not methods or method in methods):
            yield from (Cell(method, variant, network, board) for board in boards)
