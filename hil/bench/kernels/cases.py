"""What is counted: kernels, shapes, and the goal of each row on each core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hil.bench.kernels.niti import Niti
from hil.bench.kernels.shapes import Shape

CORES = ("cortex-m7", "cortex-m4", "cortex-m0plus")
BACKWARD = 1.5  # of the forward goal


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        kernel, shape: what is called.
        macs: multiply-accumulates of it; for kernels that multiply nothing, weights or bytes.
        goal: instructions per `macs`, by core.
        run: calls it and returns how many instructions that took.
    """

    kernel: str
    shape: str
    macs: int
    goal: Mapping[str, float]
    run: Callable[[Niti], int]


def goals(dsp: float, m0plus: float) -> dict[str, float]:
    """Return the goals by core: those of M7 and M4 are one."""
    return {"cortex-m7": dsp, "cortex-m4": dsp, "cortex-m0plus": m0plus}


CONVOLUTIONS = (
    (Shape(16, 16, 16, 16, 1), goals(2.25, 8.0)),
    (Shape(16, 16, 40, 240, 1), goals(1.65, 6.5)),
    (Shape(16, 16, 96, 384, 1), goals(1.42, 5.9)),
    (Shape(16, 16, 16, 32, 3, 1), goals(1.4, 5.8)),
    (Shape(14, 14, 6, 16, 5, 2), goals(1.5, 6.0)),
    (Shape(64, 64, 3, 16, 3, 1), goals(1.9, 7.5)),
    (Shape(28, 28, 1, 6, 5, 2), goals(2.1, 7.5)),
)
MATRICES = ((400, 120, goals(1.6, 5.6)), (1024, 256, goals(1.55, 5.5)))
LENET5_MACS = 693_000
WEIGHTS = 94_080  # of LeNet-5's first fully connected layer


def cases() -> Iterator[Case]:
    """Yield every row."""
    for shape, goal in CONVOLUTIONS:
        name, macs = str(shape), shape.macs
        backward = {core: BACKWARD * value for core, value in goal.items()}
        yield Case("conv2d_s8", name, macs, goal, lambda niti, s=shape: niti.conv2d(s))
        yield Case(
            "conv2d_s8_weight_gradient", name, macs, backward, lambda niti, s=shape: niti.conv2d_weight_gradient(s)
        )
        yield Case("conv2d_s8_input_error", name, macs, backward, lambda niti, s=shape: niti.conv2d_input_error(s))
    for inputs, outputs, goal in MATRICES:
        name, macs = f"{inputs}->{outputs}", inputs * outputs
        backward = {core: BACKWARD * value for core, value in goal.items()}
        sizes = (inputs, outputs)
        yield Case("fully_connected_s8", name, macs, goal, lambda niti, s=sizes: niti.fully_connected(*s))
        yield Case(
            "fully_connected_s8_weight_gradient", name, macs, backward,
            lambda niti, s=sizes: niti.fully_connected_weight_gradient(*s),
        )  # fmt: skip
        yield Case(
            "fully_connected_s8_input_error", name, macs, backward,
            lambda niti, s=sizes: niti.fully_connected_input_error(*s),
        )  # fmt: skip
    yield Case("forward", "lenet5", LENET5_MACS, goals(1.9, 7.0), Niti.lenet5)
    size = f"{WEIGHTS:,} weights"
    yield Case("perturb + restore + update", size, WEIGHTS, goals(6.0, 9.0), lambda niti: niti.perturb_and_update(WEIGHTS))
    yield Case("digest", f"{WEIGHTS:,} bytes", WEIGHTS, goals(3.0, 3.0), lambda niti: niti.digest(WEIGHTS))
