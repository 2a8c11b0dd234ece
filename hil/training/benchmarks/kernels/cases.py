"""The rows of `hil bench kernels`: kernel, shape, and goal on each core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from hil.training.benchmarks.kernels.affine8 import Affine8Kernels
from hil.training.benchmarks.kernels.float32 import Float32Kernels
from hil.training.benchmarks.kernels.machine import KernelCalls, KernelMachine
from hil.training.benchmarks.kernels.niti import R_MAX, Niti
from hil.training.benchmarks.kernels.shapes import LayerShape
from hil.training.benchmarks.kernels.tflite import Tflite
from hil.training.benchmarks.kernels.w16a8 import W16a8
from hil.training.benchmarks.kernels.zeroth_order import ZerothOrderKernels

CORES = ("cortex-m7", "cortex-m4", "cortex-m0plus")
BACKWARD = 1.5  # of the forward goal

Calls = TypeVar("Calls", bound=KernelCalls)
Sizes = ParamSpec("Sizes")


@dataclass(frozen=True)
class KernelCase:
    """One row of the table."""

    kernel: str
    shape: str
    macs: int  # multiply-accumulates; for kernels without any, weights or bytes
    goal: Mapping[str, float]  # instructions per `macs`, by core
    run: Callable[[KernelMachine], int]  # calls the kernel and returns the number of its instructions


def goals(dsp: float, m0plus: float) -> dict[str, float]:
    """Return the goals by core; M7 and M4 have the same goal."""
    return {"cortex-m7": dsp, "cortex-m4": dsp, "cortex-m0plus": m0plus}


CONVOLUTIONS = (
    (LayerShape(16, 16, 16, 16, 1), goals(2.25, 8.0)),
    (LayerShape(16, 16, 40, 240, 1), goals(1.65, 6.5)),
    (LayerShape(16, 16, 96, 384, 1), goals(1.42, 5.9)),
    (LayerShape(16, 16, 16, 32, 3, 1), goals(1.4, 5.8)),
    (LayerShape(14, 14, 6, 16, 5, 2), goals(1.5, 6.0)),
    (LayerShape(64, 64, 3, 16, 3, 1), goals(1.9, 7.5)),
    (LayerShape(28, 28, 1, 6, 5, 2), goals(2.1, 7.5)),
)
DEPTHWISE = (
    (LayerShape(16, 16, 240, 240, 3, 1), goals(4.0, 12.0)),
    (LayerShape(16, 16, 240, 240, 5, 2), goals(3.0, 10.0)),
    (LayerShape(16, 16, 240, 240, 7, 3), goals(2.6, 9.0)),
)
MATRICES = ((400, 120, goals(1.6, 5.6)), (1024, 256, goals(1.55, 5.5)))
W16A8_CONVOLUTIONS = (
    (LayerShape(16, 16, 96, 384, 1), goals(1.15, 4.3)),
    (LayerShape(16, 16, 16, 32, 3, 1), goals(1.05, 4.3)),
)
# In binary32, by core and for each part of a layer. M7 has VMLA, M4 takes VMUL and VADD, and M0+ has no FPU.
FLOAT32_CONV2D = {"": (2.6, 3.0, 175.0), "_weight_gradient": (2.6, 3.6, 175.0), "_input_error": (2.6, 3.6, 175.0)}
FLOAT32_MATRIX = {"": (2.5, 3.6, 200.0), "_weight_gradient": (5.5, 6.5, 200.0), "_input_error": (2.5, 3.6, 200.0)}
LENET5_MACS = 693_000
WEIGHTS = 94_080  # of LeNet-5's first fully connected layer
LARGEST = 127  # largest weight; unperturbed weights are smaller by R_MAX in the exact form
QUERIES = 8  # of Poor Man's Training
BLOCK = 16 * 16 * 240  # outputs of a layer within a block of MCUNet
CHUNKS = (  # layers whose gradient is computed for eight channels at a time
    (LayerShape(16, 16, 40, 8, 1), goals(2.5, 4.2)),
    (LayerShape(4, 4, 384, 8, 1), goals(2.5, 4.2)),
    (LayerShape(16, 16, 16, 8, 3, 1), goals(2.5, 4.5)),
)
FLOAT32_KEPT = {"conv2d": (6.0, 7.0, 225.0), "fully_connected": (4.0, 5.0, 225.0)}  # input errors, 1 of EVERY channels
EVERY = 8  # output channels of which one is kept in a backward pass
KEPT = (  # layers with so few channels kept
    (LayerShape(16, 16, 96, 384, 1), goals(2.3, 4.0)),
    (LayerShape(16, 16, 16, 32, 3, 1), goals(2.5, 6.0)),
)


def cases() -> Iterator[KernelCase]:
    """Yield every row: NITI's convention, TFLite's, zeroth-order training of the latter, binary32, w16a8, affine8."""
    for shape, goal in CONVOLUTIONS:
        yield from _passes("conv2d_s8", str(shape), shape.macs, goal, Niti, "conv2d", shape)
    for inputs, outputs, goal in MATRICES:
        name, kernel = f"{inputs}->{outputs}", "fully_connected"
        yield from _passes(f"{kernel}_s8", name, inputs * outputs, goal, Niti, kernel, inputs, outputs)
    yield KernelCase("forward", "lenet5", LENET5_MACS, goals(1.9, 7.0), _run(Niti, Niti.lenet5))
    size = f"{WEIGHTS:,} weights"
    for form, limit in (("", LARGEST), (", exact", LARGEST - R_MAX)):
        name = f"perturb + restore + update{form}"
        yield KernelCase(name, size, WEIGHTS, goals(6.0, 9.0), _run(Niti, Niti.perturb_and_update, WEIGHTS, limit))
    yield KernelCase("digest", f"{WEIGHTS:,} bytes", WEIGHTS, goals(3.0, 3.0), _run(Niti, Niti.digest, WEIGHTS))
    for shape, goal in CONVOLUTIONS:
        kernel = f"tflite_{shape.tflite_kernel}_s8"
        yield KernelCase(kernel, str(shape), shape.macs, goal, _run(Tflite, Tflite.convolution, shape))
    for shape, goal in DEPTHWISE:
        name, macs = _depthwise(shape)
        yield from _passes("tflite_depthwise_s8", name, macs, goal, Tflite, "depthwise", shape)
    yield from _zeroth_order()
    shape, inputs, outputs = LayerShape(16, 16, 16, 32, 3, 1), 400, 120
    yield from _in_float32("conv2d", FLOAT32_CONV2D, str(shape), shape.macs, shape)
    yield from _in_float32("fully_connected", FLOAT32_MATRIX, f"{inputs}->{outputs}", inputs * outputs, inputs, outputs)
    yield from _kept_in_float32("conv2d", str(shape), shape.macs, shape)
    yield from _kept_in_float32("fully_connected", f"{inputs}->{outputs}", inputs * outputs, inputs, outputs)
    for shape, goal in W16A8_CONVOLUTIONS:
        yield KernelCase("w16a8_conv2d", str(shape), shape.macs, goal, _run(W16a8, W16a8.convolution, shape))
    run = _run(W16a8, W16a8.fully_connected, 1024, 256)
    yield KernelCase("w16a8_fully_connected", "1024->256", 1024 * 256, goals(1.35, 4.5), run)
    run = _run(W16a8, W16a8.perturb_and_update, WEIGHTS)
    yield KernelCase("w16a8 perturb + restore + update", size, WEIGHTS, goals(9.0, 24.0), run)
    yield from _affine8()


def _passes(
    kernel: str, name: str, macs: int, goal: Mapping[str, float], calls: type[KernelCalls], method: str, *sizes: object
) -> Iterator[KernelCase]:
    """Yield the rows of the forward pass of a layer, and of both parts of its backward pass."""
    back = {core: round(BACKWARD * value, 3) for core, value in goal.items()}
    for part, its in (("", goal), ("_weight_gradient", back), ("_input_error", back)):
        yield KernelCase(kernel + part, name, macs, its, _run(calls, getattr(calls, method + part), *sizes))


def _depthwise(shape: LayerShape) -> tuple[str, int]:
    """Return the name and the MACs of a depthwise convolution."""
    return (
        f"{shape.kernel}x{shape.kernel}, {shape.out_c} channels, {shape.out_h}x{shape.out_w}",
        shape.macs // shape.in_c,
    )


def _affine8() -> Iterator[KernelCase]:
    """Yield the shapes and goals of int8, then layers that keep every eighth channel, then an error's way to 8 bits."""
    for shape, goal in CONVOLUTIONS:
        yield from _passes(
            f"affine8_{shape.tflite_kernel}", str(shape), shape.macs, goal, Affine8Kernels, "convolution", shape
        )
    for shape, goal in DEPTHWISE:
        name, macs = _depthwise(shape)
        yield from _passes("affine8_depthwise", name, macs, goal, Affine8Kernels, "depthwise", shape)
    for inputs, outputs, goal in MATRICES:
        name, macs, kernel = f"{inputs}->{outputs}", inputs * outputs, "fully_connected"
        yield from _passes(f"affine8_{kernel}", name, macs, goal, Affine8Kernels, kernel, inputs, outputs)
    for shape, goal in KEPT:
        kernel, name, macs = f"affine8_{shape.tflite_kernel}", f"{shape}, 1 of {EVERY}", shape.macs // EVERY
        run = _run(Affine8Kernels, Affine8Kernels.convolution_weight_gradient, shape, EVERY)
        yield KernelCase(f"{kernel}_weight_gradient", name, macs, goal, run)
        run = _run(Affine8Kernels, Affine8Kernels.convolution_input_error, shape, EVERY)
        yield KernelCase(f"{kernel}_input_error", name, macs, goal, run)
    run = _run(Affine8Kernels, Affine8Kernels.requantize, BLOCK)
    yield KernelCase("affine8_extent + requantize_s32", f"{BLOCK:,} sums", BLOCK, goals(13.0, 24.0), run)


def _run(
    calls: type[Calls],
    kernel: Callable[Concatenate[Calls, Sizes], int],
    *sizes: Sizes.args,
    **named_sizes: Sizes.kwargs,
) -> Callable[[KernelMachine], int]:
    """Return the `run` of a case: one call of a kernel with these sizes."""
    return lambda machine: kernel(calls(machine), *sizes, **named_sizes)


def _zeroth_order() -> Iterator[KernelCase]:
    weights, nodes, queries = f"{WEIGHTS:,} weights", f"{BLOCK:,} outputs", f", {QUERIES} queries"
    many = WEIGHTS * QUERIES
    rows: tuple[tuple[str, str, int, dict[str, float], Callable[[ZerothOrderKernels], int]], ...] = (
        ("perturb_weights_s8 + restore", weights, WEIGHTS, goals(6.0, 9.0), lambda z: z.perturb_and_restore(WEIGHTS)),
        ("signed_sums_s32", weights + queries, many, goals(3.5, 5.0), lambda z: z.gradient(WEIGHTS, QUERIES)),
        ("perturb_nodes_s8", nodes, BLOCK, goals(4.5, 12.0), lambda z: z.perturb_nodes(BLOCK)),
        ("node_errors_s8", nodes + queries, BLOCK * QUERIES, goals(6.5, 9.0), lambda z: z.node_errors(BLOCK, QUERIES)),
        ("apply_gradient_s8", "96 channels of 384", 96 * 384, goals(16, 28), lambda z: z.update(96, 384, False)),
        ("apply_gradient_s8", "240 channels of 25, depthwise", 6000, goals(20, 70), lambda z: z.update(240, 25, True)),
        ("add_gradient_s32", weights, WEIGHTS, goals(14, 20), lambda z: z.accumulate(WEIGHTS)),
        ("tflite_add_s8", nodes, BLOCK, goals(25, 72), lambda z: z.add(BLOCK)),
        ("pack_channels_s8", "8 of 240, 16x16", 256 * 8, goals(4, 5), lambda z: z.pack(256, 240, 8)),
        ("tflite_fold_bias", weights, WEIGHTS, goals(2.5, 3), lambda z: z.fold(120, WEIGHTS // 120)),
    )
    found = [
        KernelCase(name, shape, macs, goal, _run(ZerothOrderKernels, kernel))
        for name, shape, macs, goal, kernel in rows
    ]
    yield from found[:4]
    for shape, goal in CHUNKS:
        kernel = f"tflite_{shape.tflite_kernel}_s8_weight_gradient"
        yield KernelCase(kernel, str(shape), shape.macs, goal, _run(Tflite, Tflite.convolution_weight_gradient, shape))
    yield from found[4:]


def _in_float32(
    kernel: str, parts: Mapping[str, tuple[float, ...]], name: str, macs: int, *sizes: object
) -> Iterator[KernelCase]:
    """Yield the rows of the parts of a layer; `parts` has their goals on CORES."""
    for part, its in parts.items():
        run = getattr(Float32Kernels, kernel + part)
        goal = dict(zip(CORES, its, strict=True))
        yield KernelCase(f"{kernel}_f32{part}", name, macs, goal, _run(Float32Kernels, run, *sizes))


def _kept_in_float32(kernel: str, name: str, macs: int, *sizes: object) -> Iterator[KernelCase]:
    """Yield the row of an input error of which every EVERY-th output channel is kept; `macs` of all channels."""
    run, goal = getattr(Float32Kernels, f"{kernel}_input_error"), dict(zip(CORES, FLOAT32_KEPT[kernel], strict=True))
    calls = _run(Float32Kernels, run, *(*sizes, EVERY))
    yield KernelCase(f"{kernel}_f32_input_error", f"{name}, 1 of {EVERY}", macs // EVERY, goal, calls)
