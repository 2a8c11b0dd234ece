"""`hil bench kernels`: instructions of every kernel, counted on the virtual core from the committed images."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from hil.benchmarks.rows import show
from hil.errors import RigError
from hil.images.images import kernel_image
from hil.training.benchmarks.kernels.cases import CORES, KernelCase, cases
from hil.training.benchmarks.kernels.machine import KernelMachine

LEAST = 0.5  # instructions per MAC: two products in an instruction are the most that these cores have


@dataclass(frozen=True)
class KernelRow:
    """The instructions of one kernel on one core."""

    kernel: str
    shape: str
    core: str
    macs: int
    instructions: int
    instructions_per_mac: float
    goal: float


def rows() -> Iterator[KernelRow]:
    """Yield the rows of every kernel on every core."""
    for case in cases():
        for core in CORES:
            yield row_of(case, core)


def row_of(case: KernelCase, core: str) -> KernelRow:
    """Return the row of a kernel on a core.

    Raises:
        RigError: fewer instructions than any code needs: the kernel returned early, because it was called wrongly.
    """
    instructions = case.run(KernelMachine(kernel_image(core), core))
    if instructions < LEAST * case.macs:
        raise RigError(
            f"{case.kernel} ({case.shape}) on {core} took {instructions} instructions for {case.macs} MACs, so it did "
            "not do its work: compare the arguments in hil/training/benchmarks/kernels with the header of the kernel."
        )
    return KernelRow(
        case.kernel, case.shape, core, case.macs, instructions, round(instructions / case.macs, 3), case.goal[core]
    )


def main(options: argparse.Namespace) -> int:
    """Print the rows."""
    if not options.json:
        print(f"{'kernel':36} {'shape':28} {'core':14} {'per MAC':>8} {'goal':>6}   counted")
    return show(rows(), options.json, _line_of)


def _line_of(row: KernelRow) -> str:
    mark = " " if row.instructions_per_mac <= row.goal else "*"
    counted = f"{row.instructions_per_mac:8.2f} {row.goal:6.2f} {mark} {row.instructions:,} instructions"
    return f"{row.kernel:36} {row.shape:28} {row.core:14} {counted}"
