"""`hil networks`: every network with its size and the boards that it fits."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from hil.errors import RigError
from hil.images import image_of, prebuilt_boards
from hil.training.commands.listing import list_entries
from hil.training.formats import kernels_of
from hil.training.graph.file import file_size
from hil.training.graph.node import WithBias
from hil.training.matrix.cells import NETWORK_NAMES, cells
from hil.training.networks import build, find_network
from hil.training.trial import does_not_fit
from hil.training.trial.prepare import room_to_keep

SEED = 1  # of the weights; it does not affect sizes


@dataclass(frozen=True)
class NetworkRow:
    """One network.

    Attributes:
        name: in `TrialSpec.network`.
        format: number format: one exponent per tensor, or TFLite's int8.
        input: height, width and channels.
        weights, biases: their numbers.
        macs: multiply-accumulates of a forward pass, including padding.
        file_bytes: size of its network file.
        data: a bundled data set with images of its input size.
        origin: source of its initial weights.
        variants: number of variants that train it, of all methods.
        fits: number of these variants that fit each board, by the planner.
        keeps: training samples that may stay in RAM and in flash of each board beside the first variant that fits.
    """

    name: str
    format: str
    input: tuple[int, int, int]
    weights: int
    biases: int
    macs: int
    file_bytes: int
    data: str
    origin: str
    variants: int
    fits: dict[str, int]
    keeps: dict[str, dict[str, int]]


def _listed(name: str) -> NetworkRow:
    graph, known = build(name, SEED), find_network(name)
    weights = sum(layer.weight_count for layer in graph.layers)
    biases = sum(own.bias.size for own in graph.own_of(WithBias).values())
    kinds = "; ".join(kernels_of(format).WORDS for format in known.formats)
    words = (kinds, graph.in_shape, weights, biases, graph.macs, file_size(graph))
    return NetworkRow(name, *words, known.data, known.provenance, *_fits(name))


def _fits(name: str) -> tuple[int, dict[str, int], dict[str, dict[str, int]]]:
    image, found = cache(image_of), list(cells(prebuilt_boards(), networks=[name]))
    fits: dict[str, int] = dict.fromkeys(prebuilt_boards(), 0)
    keeps: dict[str, dict[str, int]] = {}
    for cell in found:
        with suppress(RigError):  # a network whose shape the default settings of a method do not take
            if does_not_fit(cell.spec(), image(cell.board)) is None:
                fits[cell.board] += 1
                if cell.board not in keeps:
                    keeps[cell.board] = room_to_keep(cell.spec(), image(cell.board))
    return len(found) // len(fits), fits, keeps


def main(argv: list[str]) -> int:
    """List the networks."""
    description = "Every network with its size, and how many variants of all methods fit each board."
    return list_entries(argv, "network", description, NETWORK_NAMES, _listed, _show)


def _show(chosen: list[NetworkRow]) -> None:
    for one in chosen:
        size = "x".join(map(str, one.input))
        counts = f"{one.weights:,} weights, {one.biases:,} biases, {one.macs:,} multiply-accumulates"
        file = f"a file of {one.file_bytes:,} bytes"
        print(f"{one.name}: input {size}, {counts}, {file}; {one.format}\n  {one.origin}; data: {one.data}")
        for count in sorted(set(one.fits.values()), reverse=True):
            fitting = ", ".join(board for board, fits in one.fits.items() if fits == count)
            print(f"  {count} of {one.variants} variants fit {fitting}")
        kept = (f"{board} {most['ram']:,} in RAM, {most['flash']:,} in flash" for board, most in one.keeps.items())
        print(f"  training samples that may stay there: {'; '.join(kept) or 'none'}")
