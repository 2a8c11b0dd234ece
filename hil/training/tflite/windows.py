"""Windows of a layer: TFLite's SAME and VALID, behind a PAD or not, as strides and paddings of both axes."""

from __future__ import annotations

from dataclasses import dataclass

from hil.errors import RigError
from hil.training.graph.formats import Shape
from hil.training.tflite.model import SAME, Operator
from hil.training.tflite.values import Value


@dataclass(frozen=True)
class KernelWindow:
    """Kernel, stride and padding above and left, each down and across, and height and width of the output."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    out: tuple[int, int]

    @property
    def is_point(self) -> bool:
        """Whether it is one position that moves by one."""
        return (self.kernel, self.stride, self.pad) == ((1, 1), (1, 1), (0, 0))


def window_of(operator: Operator, value: Value, kernel: tuple[int, int], out_shape: Shape) -> KernelWindow:
    """Return the window of an operator that reads a value.

    Raises:
        RigError: it is dilated, does not give the output that the model says, or has windows outside of the image.
    """
    options = operator.options
    dilation = int(options.get("DilationHFactor", 1)), int(options.get("DilationWFactor", 1))
    if any(step != 1 and size > 1 for step, size in zip(dilation, kernel, strict=True)):
        step = f"{dilation[0]} x {dilation[1]}"
        raise RigError(f"{operator} is dilated by {step}, which no layer is: use a larger kernel or a stride.")
    stride = int(options["StrideH"]), int(options["StrideW"])
    above, below, left, right = value.pad
    axes = zip(kernel, stride, value.shape, ((above, below), (left, right)), strict=False)
    found = [_axis(options["Padding"] == SAME, *axis) for axis in axes]
    places = [place for place in found if place is not None]
    if [size for size, _ in places] != list(out_shape[:2]):
        sizes = (f"{down} x {across}" for down, across in (kernel, stride, out_shape[:2], value.shape[:2]))
        raise RigError(
            "{} with a kernel of {} and a stride of {} does not make {} of {} with windows that all see some of it: "
            "convert the model again.".format(operator, *sizes)
        )
    return KernelWindow(kernel, stride, (places[0][1], places[1][1]), (places[0][0], places[1][0]))


def _axis(is_same: bool, kernel: int, stride: int, size: int, given: tuple[int, int]) -> tuple[int, int] | None:
    """Return the size of the output and the padding before it; None where a window would lie outside."""
    if not (1 <= kernel <= 255 and 1 <= stride <= 255):
        return None
    padded = size + sum(given)
    out = -(-padded // stride) if is_same else (padded - kernel) // stride + 1
    before = given[0] + (max((out - 1) * stride + kernel - padded, 0) // 2 if is_same else 0)
    return (out, before) if out > 0 and before < kernel and (out - 1) * stride < size + before else None
