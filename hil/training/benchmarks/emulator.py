"""How fast the virtual board emulates: its process while a trial trains, beside its bare core on the same kernels.

Both have the same hooks. Rates are by processor time, so that other work on the computer changes them little, and the
ratio less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.benchmarks.rows import BenchmarkRow
from hil.images.images import kernel_image
from hil.standins.virtual.chip.ended import RunEnd
from hil.training.benchmarks.kernels.machine import KernelMachine
from hil.training.benchmarks.kernels.niti import Niti
from hil.training.benchmarks.kernels.shapes import LayerShape

WEIGHTS, LIMIT, REPEATS = 94_080, 120, 3  # of LeNet-5's first fully connected layer
KERNELS: dict[str, Callable[[Niti], object]] = {
    "forward passes": lambda kernels: kernels.lenet5(),
    "perturbations": lambda kernels: kernels.perturb_and_update(WEIGHTS, LIMIT),
    "weight gradients": lambda kernels: kernels.conv2d_weight_gradient(LayerShape(14, 14, 6, 16, 5, 2)),
}


class _TimedKernels(KernelMachine):
    """A kernel machine that adds up instructions and the processor time of runs, without that of their preparation."""

    instructions, seconds = 0, 0.0

    def run(self, limit: int) -> RunEnd:
        began, before = time.thread_time(), self._core.count
        ended = super().run(limit)
        self.seconds += time.thread_time() - began
        self.instructions += self._core.count - before
        return ended


def processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process (Linux only; proc(5), schedstat)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def bare_rows() -> Iterator[BenchmarkRow]:
    """Yield instructions a second of the bare core, by kind of kernel."""
    for name, call in KERNELS.items():
        rates = []
        machine = _TimedKernels(kernel_image("cortex-m7"), "cortex-m7")
        for _ in range(REPEATS):
            machine.instructions, machine.seconds = 0, 0.0
            machine.forget_data()
            call(Niti(machine))
            rates.append(machine.instructions / machine.seconds)
        yield BenchmarkRow(
            f"bare core, {name}", max(rates), "instructions/s", "LeNet-5, by processor time, with counting on"
        )
