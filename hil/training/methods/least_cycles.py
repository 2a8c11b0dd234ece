"""Lower bounds of the cycles of a step: products of its layers, divided by the most products of a core in a cycle.

A Cortex-M4, M33 or M7 computes two products of 16 bits in one instruction (SMLAD; ARM DDI 0403E.e, A7.7.130), one such
instruction in a cycle; the kernels for a Cortex-M0+ have at most two in one product of 32 bits. Taps in the padding may
be skipped and are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from hil.training.graph.graph import Node

PRODUCTS_A_CYCLE = 2
WEIGHTS_A_WORD = 4


@dataclass(frozen=True)
class LeastCycles:
    """Least cycles of a step.

    Attributes:
        forward: by layer.
        phases: by phase; 0 if the method never uses the phase, so that it takes no cycles; None if it may be unused.
    """

    forward: tuple[int, ...]
    phases: dict[str, int | None]


def products_inside(layer: Node) -> int:
    """Return the products of one pass with taps inside the input."""
    if not layer.macs or not layer.kernel[0]:
        return layer.macs
    inside = share = 1
    for axis in (0, 1):
        taps = [
            at * layer.stride[axis] - layer.pad[axis] + tap
            for at in range(layer.out_shape[axis])
            for tap in range(layer.kernel[axis])
        ]
        inside *= sum(0 <= tap < layer.in_shape[axis] for tap in taps)
        share *= len(taps)
    return layer.macs * inside // share


def least_forward(layer: Node, runs: int) -> int:
    """Return the least cycles of `runs` passes of a layer."""
    return max(1, runs * products_inside(layer) // PRODUCTS_A_CYCLE)


def least_moves(weights: int, times: int = 1) -> int:
    """Return the least cycles to update `weights` int8 weights: one for each stored word of 32 bits."""
    return max(1, times * weights // WEIGHTS_A_WORD)
