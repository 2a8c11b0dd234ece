"""`hil bench kernels`: instructions of every kernel, counted on the virtual core from the committed images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hil.benchmarks.kernels.cases import CORES, cases
from hil.benchmarks.kernels.machine import KernelMachine
from hil.benchmarks.rows import show
from hil.images.images import kernel_image


@dataclass(frozen=True)
class Row:
    """The instructions of one kernel on one core."""

    kernel: str
    shape: str
    core: str
    macs: int
    instructions: int
    instructions_per_mac: float
    goal: float


def rows() -> Iterator[Row]:
    """Yield the rows of every kernel on every core."""
    for case in cases():
        for core in CORES:
            instructions = case.run(KernelMachine(kernel_image(core), core))
            share = round(instructions / case.macs, 3)
            yield Row(case.kernel, case.shape, core, case.macs, instructions, share, case.goal[core])


def main(as_json: bool) -> int:
    """Print the rows."""
    if not as_json:
        print(f"{'kernel':36} {'shape':28} {'core':14} {'per MAC':>8} {'goal':>6}   counted")
    return show(rows(), as_json, _line_of)


def _line_of(row: Row) -> str:
    mark = " " if row.instructions_per_mac <= row.goal else "*"
    counted = f"{row.instructions_per_mac:8.2f} {row.goal:6.2f} {mark} {row.instructions:,} instructions"
    return f"{row.kernel:36} {row.shape:28} {row.core:14} {counted}"
