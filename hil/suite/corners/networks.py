"""The drawn networks by name, in every format, as files for a trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hil.suite.corners.formats import in_affine8, in_bfp8, in_floats, in_tflite8, in_w16a8
from hil.suite.corners.reweighed import LEAST_WIDTH, at_knees, even, faint, scaled
from hil.suite.corners.shapes import Layer, drawn_graph
from hil.training.graph.file import encode
from hil.training.graph.formats import Op, Shape
from hil.training.graph.graph import Graph
from hil.training.networks.floating import FloatGraph

CLASSES, BLACK = 5, 91
Plan = tuple[Layer, ...]
SAME3, SAME5, SAME7 = (3, 1, 1, 0), (5, 1, 2, 0), (7, 1, 3, 0)
WIDE: Shape = (11, 13, 3)
GREY: Shape = (12, 11, 1)
EVEN: Shape = (8, 4, 4)
BROADEST: Shape = (41, 50, 2)
BANDED: Shape = (32, 16, 2)
LONG: Shape = (41, 100, 1)
"""So many inputs that a last layer of nine classes has more than 2^15 weights."""
WINDOWS = (
    Layer(Op.CONV2D, 5, activation="relu"), Layer(Op.DEPTHWISE, 0, (3, 2, 1, 0), (4, 1, 1, 0)), Layer(Op.POINTWISE, 6),
    Layer(Op.MAX_POOL), Layer(Op.HARD_SWISH),
    Layer(Op.POINTWISE, 7, activation="relu6"), Layer(Op.DEPTHWISE, activation="relu6"), Layer(Op.POINTWISE, 6),
    Layer(Op.DEPTHWISE, 0, SAME3, SAME3), Layer(Op.ADD, back=1, activation="relu"),
    Layer(Op.AVERAGE_POOL), Layer(Op.CONV2D, 7), Layer(Op.FULLY_CONNECTED, 9, activation="relu"),
)  # fmt: skip
"""Windows of any kind: overlapping pools, positions outside the image on any side."""
ERRORS = (
    Layer(Op.CONV2D, 6, SAME5, SAME5, "relu6"), Layer(Op.MAX_POOL, apart=True),
    Layer(Op.POINTWISE, 9, activation="relu6"), Layer(Op.DEPTHWISE, 0, SAME3, SAME3, "relu6"), Layer(Op.POINTWISE, 6),
    Layer(Op.ADD, back=3), Layer(Op.CONV2D, 7, (3, 1, 1, 0), (2, 2, 0, 0), "relu"),
    Layer(Op.DEPTHWISE, 0, (3, 2, 1, 0), (2, 1, 1, 0)), Layer(Op.AVERAGE_POOL, apart=True),
    Layer(Op.FULLY_CONNECTED, 7, activation="relu"),
)  # fmt: skip
"""Windows of pools lie apart and inside the image, so that errors pass them."""
GATES = (
    Layer(Op.CONV2D, 5, (3, 2, 1, 0), (2, 1, 0, 0)), Layer(Op.HARD_SWISH), Layer(Op.POINTWISE, 6, activation="relu"),
    Layer(Op.DEPTHWISE, 0, SAME3, SAME3), Layer(Op.HARD_SWISH),
    Layer(Op.AVERAGE_POOL, 0, (6, 6, 0, 1), (13, 13, 0, 1)), Layer(Op.POINTWISE, 3, activation="relu"),
    Layer(Op.POINTWISE, 6, activation="hard_sigmoid"), Layer(Op.MULTIPLY, back=3), Layer(Op.POINTWISE, 6),
    Layer(Op.ADD, back=1, activation="relu"), Layer(Op.MAX_POOL, apart=True), Layer(Op.FULLY_CONNECTED, 7),
    Layer(Op.HARD_SWISH),
)  # fmt: skip
"""Squeeze-and-excite, hard_swish, and an add of a value with its own function."""
PLANES = (
    Layer(Op.POINTWISE, 5), Layer(Op.DEPTHWISE, 0, SAME7, SAME7), Layer(Op.DEPTHWISE, 0, SAME5, SAME5, "relu"),
    Layer(Op.DEPTHWISE, 0, (3, 2, 1, 0), (3, 2, 0, 0)), Layer(Op.DEPTHWISE, 0, (3, 1, 1, 0), (4, 1, 2, 0), "relu6"),
    Layer(Op.DEPTHWISE, 0, (5, 3, 2, 0), (5, 2, 4, 0)), Layer(Op.POINTWISE, 6), Layer(Op.DEPTHWISE, 0, SAME3, SAME3),
)  # fmt: skip
"""Depthwise windows of 3, 5 and 7 with equal and with different strides."""
DENSE = (
    Layer(Op.CONV2D, 9, SAME5, SAME5), Layer(Op.AVERAGE_POOL, 0, (2, 2, 0, 6), (2, 2, 0, 5)),
    Layer(Op.CONV2D, 8, SAME3, SAME3), Layer(Op.CONV2D, 11, SAME3, SAME5),
    Layer(Op.FULLY_CONNECTED, 41, activation="relu"),
)  # fmt: skip
"""Errors of few zeros, one channel of the input, more than 128 products and many channels."""
SQUARE3 = (SAME3, SAME3)
TIGHT = (
    Layer(Op.CONV2D, 8, SAME3, SAME5, "relu"), Layer(Op.DEPTHWISE, 0, SAME5, SAME3), Layer(Op.POINTWISE, 8),
    Layer(Op.ADD, back=1), Layer(Op.CONV2D, 8, (3, 2, 1, 0), (3, 2, 1, 0), "relu"), Layer(Op.POINTWISE, 64),
    Layer(Op.AVERAGE_POOL, 0, (4, 4, 0, 1), (2, 2, 0, 1)),
)  # fmt: skip
"""Every buffer is a multiple of 8 bytes, as the plan's places are: what a kernel writes too much is in the next one."""
TIGHT_GATES = (
    Layer(Op.CONV2D, 8, SAME5, SAME3), Layer(Op.HARD_SWISH), Layer(Op.AVERAGE_POOL, 0, (8, 8, 0, 1), (4, 4, 0, 1)),
    Layer(Op.POINTWISE, 4, activation="relu"), Layer(Op.POINTWISE, 8, activation="hard_sigmoid"),
    Layer(Op.MULTIPLY, back=3), Layer(Op.ADD, back=4), *TIGHT[4:],
)  # fmt: skip
"""The same with a multiply whose first value has a later reader too."""
STRIDES = (
    Layer(Op.CONV2D, 6, (1, 1, 0, 0), (1, 1, 0, 0)), Layer(Op.DEPTHWISE, 0, (2, 3, 0, 4), (2, 3, 0, 5)),
    Layer(Op.CONV2D, 4, (1, 2, 0, 2), (2, 3, 0, 2), "relu6"), Layer(Op.DEPTHWISE, 0, (3, 2, 1, 0), (1, 1, 0, 0)),
    Layer(Op.CONV2D, 8, (1, 1, 0, 1), (2, 1, 0, 1)),
)  # fmt: skip
"""Strides larger than the kernel, a kernel of one tap, and one that covers the whole input."""
TINY = (
    Layer(Op.CONV2D, 2, (2, 1, 0, 2), (2, 1, 0, 1)), Layer(Op.HARD_SWISH),
    Layer(Op.AVERAGE_POOL, 0, (2, 2, 0, 1), (1, 1, 0, 1)), Layer(Op.POINTWISE, 2, activation="hard_sigmoid"),
    Layer(Op.MULTIPLY, back=2), Layer(Op.POINTWISE, 2), Layer(Op.ADD, back=1),
)  # fmt: skip
"""Tensors of two to four values, so that all of them often have one sign."""
DEAD = (
    Layer(Op.CONV2D, 6, (3, 2, 1, 0), (3, 2, 1, 0)), Layer(Op.POINTWISE, 6),
    Layer(Op.AVERAGE_POOL, 0, (6, 6, 0, 1), (7, 7, 0, 1)),
    Layer(Op.POINTWISE, 6, activation="hard_sigmoid", bias=-50.0), Layer(Op.MULTIPLY, back=3), Layer(Op.ADD, back=3),
    Layer(Op.POINTWISE, 5), Layer(Op.POINTWISE, 5, activation="relu", bias=-50.0), Layer(Op.ADD, back=1),
)  # fmt: skip
"""Errors of a gate and a ReLU that are 0 everywhere, which come before and after another reader's."""
LARGE = (
    Layer(Op.CONV2D, 4, (3, 2, 1, 0), (3, 2, 1, 0)), Layer(Op.HARD_SWISH),
    Layer(Op.AVERAGE_POOL, 0, (4, 4, 0, 1), (3, 3, 0, 1)), Layer(Op.POINTWISE, 4), Layer(Op.MULTIPLY, back=2),
    Layer(Op.DEPTHWISE, 0, *SQUARE3), Layer(Op.POINTWISE, 4), Layer(Op.ADD, back=1), Layer(Op.CONV2D, 3, *SQUARE3),
    Layer(Op.MAX_POOL, apart=True),
)  # fmt: skip
"""Every operation of `float32`, with weights times LARGE_BY: the multiply and the add leave their limits."""
LARGE_BY = (15, 15, -20, 18, -48, 12)
"""Exponents of two. The values come down again behind what leaves its limits; the gradient of conv2 is above 2^50."""
ROWS = (
    Layer(Op.CONV2D, 5, (3, 1, 0, 21), (3, 1, 0, 21)), Layer(Op.AVERAGE_POOL, 0, (2, 2, 0, 10), (2, 2, 0, 10)),
    Layer(Op.CONV2D, 4, SAME3, SAME5), Layer(Op.CONV2D, 3, SAME3, (5, 1, 0, 6)),
    Layer(Op.CONV2D, 2, SAME3, (4, 1, 0, 3)),
)  # fmt: skip
"""Errors of few zeros in rows of 21, 10, 6 and 3, in bands whose last one is shorter."""
SINGLE = (
    Layer(Op.POINTWISE, 1), Layer(Op.DEPTHWISE, 0, (1, 1, 0, 0), (1, 1, 0, 0)), Layer(Op.CONV2D, 1, SAME3, SAME3),
    Layer(Op.POINTWISE, 1), Layer(Op.AVERAGE_POOL, 0, (6, 6, 0, 1), (5, 5, 0, 1)), Layer(Op.FULLY_CONNECTED, 1),
)  # fmt: skip
"""One channel, one tap, one input, one output."""
KNEES = (
    Layer(Op.CONV2D, 4, SAME3, SAME3, gain=8.0), Layer(Op.HARD_SWISH), Layer(Op.POINTWISE, 5, gain=2.0),
    Layer(Op.HARD_SWISH), Layer(Op.CONV2D, 4, SAME3, SAME3, "relu6", gain=2.0),
    Layer(Op.AVERAGE_POOL, 0, (6, 6, 0, 1), (7, 7, 0, 1)),
    Layer(Op.POINTWISE, 4, activation="hard_sigmoid", gain=2.0), Layer(Op.MULTIPLY, back=2), Layer(Op.POINTWISE, 5),
)  # fmt: skip
"""Values around 3, -3 and 6, where the slopes of activations change; in steps of two they are met exactly."""
INPUTS = (
    Layer(Op.AVERAGE_POOL, 0, (4, 4, 0, 1), (5, 5, 0, 1)), Layer(Op.POINTWISE, 3, activation="hard_sigmoid"),
    Layer(Op.MULTIPLY, back=2), Layer(Op.CONV2D, 3, *SQUARE3), Layer(Op.ADD, back=4), Layer(Op.POINTWISE, 4),
)  # fmt: skip
"""The input has three readers, and the gate of a multiply needs it on the way back."""
BROAD = (
    Layer(Op.POINTWISE, 6, activation="relu"), Layer(Op.DEPTHWISE, 0, SAME3, SAME3), Layer(Op.ADD, back=1),
    Layer(Op.POINTWISE, 5), Layer(Op.POINTWISE, 6), Layer(Op.ADD, back=2),
    Layer(Op.AVERAGE_POOL, 0, (8, 8, 0, 5), (8, 8, 0, 6)),
)  # fmt: skip
"""12,300 errors of few zeros that are merged twice: what moves one in 2^15 moves some."""
MANY = (
    Layer(Op.POINTWISE, 70, activation="relu"), Layer(Op.DEPTHWISE, 0, SAME3, SAME3, "relu"), Layer(Op.POINTWISE, 37),
    Layer(Op.CONV2D, 35, *SQUARE3), Layer(Op.AVERAGE_POOL, 0, (4, 4, 0, 1), (3, 3, 0, 1)),
)  # fmt: skip
"""More channels than a kernel holds on the stack at a time: 70 are two blocks of 32 and a rest, or one of 64."""
BANDS = (
    Layer(Op.CONV2D, 8, SAME3, SAME5, "relu"), Layer(Op.CONV2D, 8, *SQUARE3),
    Layer(Op.AVERAGE_POOL, 0, (4, 4, 0, 8), (4, 4, 0, 4)),
)  # fmt: skip
"""Images that are cut into bands; the work on those of the second layer ends where the whole plan does."""
FEW = (Layer(Op.POINTWISE, 2, activation="relu"),)
"""So few products that the least part of a budget of work is less than one of them."""
CHAIN = (
    (Op.CONV2D, 3, 5), (Op.RELU, 0, 0), (Op.MAX_POOL, 3, 0), (Op.CONV2D, 2, 3), (Op.MAX_POOL, 2, 0),
    (Op.FULLY_CONNECTED, 0, 9), (Op.RELU, 0, 0),
)  # fmt: skip
GREY_CHAIN = (
    (Op.CONV2D, 5, 5), (Op.CONV2D, 3, 6), (Op.MAX_POOL, 2, 0), (Op.RELU, 0, 0), (Op.FULLY_CONNECTED, 0, 13),
)  # fmt: skip
TIGHT_CHAIN = ((Op.CONV2D, 3, 8), (Op.RELU, 0, 0), (Op.CONV2D, 3, 8), (Op.MAX_POOL, 2, 0), (Op.FULLY_CONNECTED, 0, 16))
WHOLE_CHAIN = ((Op.CONV2D, 9, 4), (Op.MAX_POOL, 1, 0), (Op.CONV2D, 1, 3), (Op.RELU, 0, 0))
MANY_CHAIN = ((Op.CONV2D, 1, 70), (Op.RELU, 0, 0), (Op.CONV2D, 3, 37), (Op.MAX_POOL, 2, 0), (Op.FULLY_CONNECTED, 0, 70))
BANDS_CHAIN = ((Op.CONV2D, 5, 8), (Op.RELU, 0, 0), (Op.CONV2D, 3, 8), (Op.CONV2D, 5, 4), (Op.MAX_POOL, 2, 0))
BROAD_CHAIN = ((Op.CONV2D, 3, 5), (Op.CONV2D, 1, 6), (Op.MAX_POOL, 2, 0), (Op.CONV2D, 3, 4), (Op.MAX_POOL, 2, 0))
CHAINS = {
    "windows": (WIDE, CHAIN), "dense": (GREY, GREY_CHAIN), "tight": ((8, 4, 2), TIGHT_CHAIN),
    "whole": ((1, 1, 7), WHOLE_CHAIN), "loud": ((5, 5, 7), WHOLE_CHAIN), "soft": (GREY, GREY_CHAIN), "long": (LONG, ()),
    "many": ((4, 4, 3), MANY_CHAIN), "bands": (BANDED, BANDS_CHAIN), "broad": (BROADEST, BROAD_CHAIN),
    "lone": ((6, 5, 3), ()),
}  # fmt: skip
"""Of `bfp8`: `whole` has a kernel that covers the whole input with its padding, and one of a single tap; `loud` has
weights of one sign and large sums, `soft` logits that are close to each other."""
SHAPES = {
    "windows": (WIDE, WINDOWS), "errors": (WIDE, ERRORS), "gates": (WIDE, GATES), "planes": (WIDE, PLANES),
    "dense": (GREY, DENSE), "tight": (EVEN, TIGHT), "tightgates": (EVEN, TIGHT_GATES), "strides": (WIDE, STRIDES),
    "tiny": ((3, 2, 1), TINY), "dead": (WIDE, DEAD), "tall": ((26, 4, 2), ERRORS), "large": ((7, 5, 2), LARGE),
    "rows": ((23, 23, 1), ROWS), "single": ((6, 5, 1), SINGLE), "knees": ((6, 7, 2), KNEES),
    "inputs": ((4, 5, 3), INPUTS), "long": (LONG, ()), "broad": (BROADEST, BROAD), "many": ((4, 3, 3), MANY),
    "bands": (BANDED, BANDS), "lone": ((6, 5, 3), ()), "few": ((3, 3, 2), FEW),
}  # fmt: skip
CLASSES_OF = {"tight": 64, "tightgates": 64, "tiny": 2, "long": 9}


def _build(shape: str, form: str, seed: int) -> Graph:
    """Return a shape in a format, or with several."""
    classes = CLASSES_OF.get(shape, CLASSES)
    if form == "bfp8":
        of_input, chain = CHAINS[shape]
        return in_bfp8(seed, of_input, classes, chain, shape)
    if form not in FORMS:
        raise LookupError(f"no drawn network is in {form!r}")
    of_input, plan = SHAPES[shape]
    if form in ("w16a8", "8w8a", "even8w8a"):
        plan = tuple(layer for layer in plan if layer.op is not Op.HARD_SWISH)
    return FORMS[form](drawn_graph(shape, seed, of_input, classes, plan, BLACK), seed, plan)


def _roundings(seed: int) -> tuple[str, str]:
    """Return the roundings of layers in `tflite8`, in turn."""
    return (("double", "single"), ("single", "double"))[seed % 2]


def _rounding(seed: int) -> str:
    """Return the rounding of `affine8`."""
    return ("nearest", "floor")[seed % 2]


def _mixed(floats: FloatGraph, seed: int, plan: Plan) -> Graph:
    """Return a graph whose layers from the last fully connected one of its plan on are in `float32`."""
    last = max(index for index, layer in enumerate(plan) if layer.op is Op.FULLY_CONNECTED or index == 0)
    return in_affine8(floats, seed, _rounding(seed), (0, last))


def _faint(floats: FloatGraph, seed: int, plan: Plan) -> Graph:
    """Return a graph whose last layer, in `float32`, reads a value of the least width or half of it."""
    head = faint(floats, len(plan), (LEAST_WIDTH / 2, LEAST_WIDTH)[seed % 2])
    return in_affine8(head, seed, _rounding(seed), (0, len(plan)))


FORMS: dict[str, Callable[[FloatGraph, int, Plan], Graph]] = {
    "tflite8": lambda floats, seed, _: in_tflite8(floats, seed, _roundings(seed)),
    "w16a8": lambda floats, seed, _: in_w16a8(floats, seed, 32767),
    "8w8a": lambda floats, seed, _: in_w16a8(floats, seed, 127),
    "nearest": lambda floats, seed, _: in_affine8(floats, seed, "nearest"),
    "floor": lambda floats, seed, _: in_affine8(floats, seed, "floor"),
    "mixed": _mixed,
    "narrow": lambda floats, seed, _: in_affine8(floats, seed, _rounding(seed), reached=2.0**-9),
    "late": lambda floats, seed, _: in_affine8(floats, seed, _rounding(seed), (2, None)),
    "even": lambda floats, seed, _: in_tflite8(even(floats), seed, _roundings(seed), halves=True),
    "even8w8a": lambda floats, seed, _: in_w16a8(even(floats), seed, 127, halves=True),
    "evenaffine": lambda floats, seed, _: in_affine8(even(floats, affine=True), seed, _rounding(seed), halves=True),
    "faint": _faint,
    "float32": lambda floats, seed, _: in_floats(floats),
    "floateven": lambda floats, seed, _: in_floats(even(floats)),
    "octaves": lambda floats, seed, _: in_tflite8(even(floats, octaves=4), seed, _roundings(seed), halves=True),
    "floatknees": lambda floats, seed, _: in_floats(at_knees(even(floats))),
    "affineknees": lambda floats, seed, _: in_affine8(
        at_knees(even(floats, affine=True)), seed, _rounding(seed), halves=True
    ),
    "huge": lambda floats, seed, _: in_floats(scaled(floats, LARGE_BY)),
}
"""Formats of a drawn float graph, whose layers are those of a plan and one more."""


def write_network(folder: Path, name: str, seed: int) -> tuple[Path, Graph]:
    """Write a drawn network as `NAME-SEED.hnet`; return its path and the network."""
    shape, form = name.split("-")
    graph = _build(shape, form, seed)
    path = folder / f"{name}-{seed}.hnet"
    path.write_bytes(encode(graph))
    return path, graph
