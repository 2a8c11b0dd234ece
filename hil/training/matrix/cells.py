"""The cells of the matrix: every method and variant on every network that it can train, on every board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hil.errors import RigError, close_matches
from hil.training.methods import METHODS
from hil.training.networks import KNOWN, find_network, is_known, names
from hil.training.trial import TrialSpec

NETWORK_NAMES, METHOD_NAMES = tuple(KNOWN), tuple(METHODS)


@dataclass(frozen=True)
class Cell:
    """One method in one variant, on one network and board."""

    method: str
    variant: str
    network: str
    board: str

    def spec(self) -> TrialSpec:
        """Return the trial of the cell: a few steps, at the batch size that the method uses on boards."""
        chosen, data = METHODS[self.method].cell, find_network(self.network).data
        return TrialSpec(self.board, self.variant, self.network, self.method, data, evaluate=0, **chosen)


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise RigError if a network or method is unknown; a network may also be a path, or have another head."""
    if kind == "network" and is_known(name):
        find_network(name)
    elif name not in known:
        raise RigError(f"there is no {kind} {name!r}: {close_matches(name, known)}")


def cells(boards: Iterable[str], networks: Iterable[str] = (), methods: Iterable[str] = ()) -> Iterator[Cell]:
    """Yield the cells of some boards; without names, of all named networks and all methods."""
    boards, networks, methods = list(boards), set(networks), set(methods)
    groups = [(formats, names(*formats)) for formats in dict.fromkeys(one.formats for one in KNOWN.values())]
    groups += [(find_network(other).formats, (other,)) for other in sorted(networks - set(KNOWN.names()))]
    rows = [
        (method, variant, network)
        for formats, members in groups
        for network in members
        for method, kind in METHODS.items()
        for variant in kind.variants_on(formats)
    ]
    for method, variant, network in rows:  # boards innermost, because the plan is cached
        if (not networks or network in networks) and (not methods or method in methods):
            yield from (Cell(method, variant, network, board) for board in boards)
