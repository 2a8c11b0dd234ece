"""Shapes of layers, with the sizes of inputs, outputs and weights."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class LayerShape:
    """A layer: height, width, channels in and out, kernel, padding."""

    in_h: int
    in_w: int
    in_c: int
    out_c: int
    kernel: int
    padding: int = 0

    @property
    def out_h(self) -> int:
        """Rows of the output, stride 1."""
        return self.in_h + 2 * self.padding - self.kernel + 1

    @property
    def out_w(self) -> int:
        """Columns of the output, stride 1."""
        return self.in_w + 2 * self.padding - self.kernel + 1

    @property
    def taps(self) -> int:
        """Products in one output."""
        return self.kernel * self.kernel * self.in_c

    @property
    def inputs(self) -> int:
        """Number of input values."""
        return self.in_h * self.in_w * self.in_c

    @property
    def outputs(self) -> int:
        """Number of output values."""
        return self.out_h * self.out_w * self.out_c

    @property
    def macs(self) -> int:
        """Multiply-accumulates, including those with padding."""
        return self.outputs * self.taps

    @property
    def tflite_kernel(self) -> str:
        """Name of the convolution in TFLite's convention."""
        return "conv2d" if self.kernel > 1 else "pointwise"

    def packed(self) -> bytes:
        """Return layer_shape_t (firmware/kernels/shapes.h)."""
        sizes = self.in_h, self.in_w, self.in_c, self.out_h, self.out_w, self.out_c
        return struct.pack("<6H6B", *sizes, self.kernel, self.kernel, 1, 1, self.padding, self.padding)

    def __str__(self) -> str:
        return f"{self.kernel}x{self.kernel} {self.in_c}->{self.out_c}, {self.out_h}x{self.out_w}"
