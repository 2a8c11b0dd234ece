"""What is counted: kernels, shapes, and the goal of each row on each core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hil.bench.kernels.machine import KernelMachine
from hil.bench.kernels.niti import R_MAX, Niti
from hil.bench.kernels.shapes import Shape
from hil.bench.kernels.tflite import Tflite
from hil.bench.kernels.zeroth_order import ZerothOrder

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
    run: Callable[[KernelMachine], int]


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
DEPTHWISE = (
    (Shape(16, 16, 240, 240, 3, 1), goals(4.0, 12.0)),
    (Shape(16, 16, 240, 240, 5, 2), goals(3.0, 10.0)),
    (Shape(16, 16, 240, 240, 7, 3), goals(2.6, 9.0)),
)
MATRICES = ((400, 120, goals(1.6, 5.6)), (1024, 256, goals(1.55, 5.5)))
LENET5_MACS = 693_000
WEIGHTS = 94_080  # of LeNet-5's first fully connected layer
LARGEST = 127  # a weight; at rest less by R_MAX in the exact form
QUERIES = 8  # of Poor Man's Training
BLOCK = 16 * 16 * 240  # outputs within a block of MCUNet


CHUNKS = (  # layers of which a gradient of eight channels is made at a time
    (Shape(16, 16, 40, 8, 1), goals(2.5, 4.2)),
    (Shape(4, 4, 384, 8, 1), goals(2.5, 4.2)),
    (Shape(16, 16, 16, 8, 3, 1), goals(2.5, 4.5)),
)


def cases() -> Iterator[Case]:
    """Yield every row: NITI's convention, then TFLite's, then what trains the latter by zeroth order."""
    for shape, goal in CONVOLUTIONS:
        yield from _convolution(shape, goal)
    for inputs, outputs, goal in MATRICES:
        yield from _matrix(inputs, outputs, goal)
    yield Case("forward", "lenet5", LENET5_MACS, goals(1.9, 7.0), lambda m: Niti(m).lenet5())
    size = f"{WEIGHTS:,} weights"
    for form, limit in (("", LARGEST), (", exact", LARGEST - R_MAX)):
        yield Case(
            f"perturb + restore + update{form}",
            size,
            WEIGHTS,
            goals(6.0, 9.0),
            lambda m, w=limit: Niti(m).perturb_and_update(WEIGHTS, w),
        )
    yield Case("digest", f"{WEIGHTS:,} bytes", WEIGHTS, goals(3.0, 3.0), lambda m: Niti(m).digest(WEIGHTS))
    for shape, goal in CONVOLUTIONS:
        if shape.kernel == 1:
            yield Case("tflite_pointwise_s8", str(shape), shape.macs, goal, lambda m, s=shape: Tflite(m).pointwise(s))
        else:
            yield Case("tflite_conv2d_s8", str(shape), shape.macs, goal, lambda m, s=shape: Tflite(m).conv2d(s))
    for shape, goal in DEPTHWISE:
        yield from _depthwise(shape, goal)
    yield from _zeroth_order()


def _convolution(shape: Shape, goal: Mapping[str, float]) -> Iterator[Case]:
    name, macs = str(shape), shape.macs
    yield Case("conv2d_s8", name, macs, goal, lambda m: Niti(m).conv2d(shape))
    yield Case(
        "conv2d_s8_weight_gradient", name, macs, _backward(goal), lambda m: Niti(m).conv2d_weight_gradient(shape)
    )
    yield Case("conv2d_s8_input_error", name, macs, _backward(goal), lambda m: Niti(m).conv2d_input_error(shape))


def _matrix(inputs: int, outputs: int, goal: Mapping[str, float]) -> Iterator[Case]:
    name, macs, kernel, sizes = f"{inputs}->{outputs}", inputs * outputs, "fully_connected_s8", (inputs, outputs)
    yield Case(kernel, name, macs, goal, lambda m: Niti(m).fully_connected(*sizes))
    yield Case(
        f"{kernel}_weight_gradient",
        name,
        macs,
        _backward(goal),
        lambda m: Niti(m).fully_connected_weight_gradient(*sizes),
    )
    yield Case(
        f"{kernel}_input_error", name, macs, _backward(goal), lambda m: Niti(m).fully_connected_input_error(*sizes)
    )


def _depthwise(shape: Shape, goal: Mapping[str, float]) -> Iterator[Case]:
    name, macs = (
        f"{shape.kernel}x{shape.kernel}, {shape.out_c} channels, {shape.out_h}x{shape.out_w}",
        shape.macs // shape.in_c,
    )
    kernel, back = "tflite_depthwise_s8", _backward(goal)
    yield Case(kernel, name, macs, goal, lambda m: Tflite(m).depthwise(shape))
    yield Case(f"{kernel}_weight_gradient", name, macs, back, lambda m: Tflite(m).depthwise_weight_gradient(shape))
    yield Case(f"{kernel}_input_error", name, macs, back, lambda m: Tflite(m).depthwise_input_error(shape))


def _zeroth_order() -> Iterator[Case]:
    size, nodes, draws = f"{WEIGHTS:,} weights", f"{BLOCK:,} outputs", f", {QUERIES} queries"
    yield Case(
        "perturb_weights_s8 + restore",
        size,
        WEIGHTS,
        goals(6.0, 9.0),
        lambda m: ZerothOrder(m).perturb_and_restore(WEIGHTS),
    )
    yield Case(
        "signed_sums_s32",
        f"{size}{draws}",
        WEIGHTS * QUERIES,
        goals(3.5, 5.0),
        lambda m: ZerothOrder(m).gradient(WEIGHTS, QUERIES),
    )
    yield Case("perturb_nodes_s8", nodes, BLOCK, goals(4.5, 12.0), lambda m: ZerothOrder(m).perturb_nodes(BLOCK))
    yield Case(
        "node_errors_s8",
        f"{nodes}{draws}",
        BLOCK * QUERIES,
        goals(6.5, 9.0),
        lambda m: ZerothOrder(m).node_errors(BLOCK, QUERIES),
    )
    for shape, goal in CHUNKS:
        kernel = f"tflite_{'conv2d' if shape.kernel > 1 else 'pointwise'}_s8_weight_gradient"
        yield Case(kernel, str(shape), shape.macs, goal, lambda m, s=shape: Tflite(m).weight_gradient(s))
    for channels, taps, depthwise, goal in ((96, 384, False, goals(16, 28)), (240, 25, True, goals(20, 70))):
        name = f"{channels} channels of {taps}{', depthwise' * depthwise}"
        yield Case(
            "apply_gradient_s8",
            name,
            channels * taps,
            goal,
            lambda m, c=channels, t=taps, d=depthwise: ZerothOrder(m).update(c, t, d),
        )
    yield Case("add_gradient_s32", size, WEIGHTS, goals(14, 20), lambda m: ZerothOrder(m).accumulate(WEIGHTS))
    yield Case("tflite_add_s8", nodes, BLOCK, goals(45, 120), lambda m: ZerothOrder(m).add(BLOCK))
    yield Case("pack_channels_s8", "8 of 240, 16x16", 256 * 8, goals(4, 5), lambda m: ZerothOrder(m).pack(256, 240, 8))
    yield Case(
        "tflite_fold_bias", size, WEIGHTS, goals(2.5, 3), lambda m: ZerothOrder(m).fold(120, WEIGHTS // 120, False)
    )


def _backward(goal: Mapping[str, float]) -> dict[str, float]:
    return {core: round(BACKWARD * value, 3) for core, value in goal.items()}
