"""What a .tflite says that matters here: tensors, operators, inputs and outputs (docs/tflite.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

WINDOW = ("Padding", "StrideH", "StrideW", "FusedActivationFunction")
DILATION = ("DilationHFactor", "DilationWFactor")
FILTER = ("FilterHeight", "FilterWidth")
OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "CONV_2D": ("Conv2DOptions", (*WINDOW, *DILATION)),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2DOptions", (*WINDOW, *DILATION, "DepthMultiplier")),
    "FULLY_CONNECTED": ("FullyConnectedOptions", ("FusedActivationFunction", "WeightsFormat")),
    "ADD": ("AddOptions", ("FusedActivationFunction",)),
    "AVERAGE_POOL_2D": ("Pool2DOptions", (*WINDOW, *FILTER)),
    "MAX_POOL_2D": ("Pool2DOptions", (*WINDOW, *FILTER)),
    "MEAN": ("ReducerOptions", ("KeepDims",)),
}
"""The table of options of an operator, and its fields that are read; other operators have none that matter."""

SAME, VALID = 0, 1  # Padding
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")  # FusedActivationFunction
ABSENT = -1  # the index of an optional input that is left out, such as a bias


@dataclass(frozen=True, eq=False)
class TfliteTensor:
    """One tensor.

    Attributes:
        index: in the model.
        shape: as the converter wrote it; the first axis is the batch, 1 where the model leaves it open.
        fixed: whether no axis but the first is left open.
        type: `INT8`, `INT32`, `UINT8`, `FLOAT32`, ...
        scale: float32, one element, one for each channel of `axis`, or none.
        zero: int64, as many.
        axis: of the channels that have scales of their own.
        data: uint8, the bytes of a constant where they lie in the file, read only; None for what is computed.
        buffer: index of the buffer that holds them.
    """

    index: int
    shape: tuple[int, ...]
    fixed: bool
    type: str
    scale: np.ndarray
    zero: np.ndarray
    axis: int
    data: np.ndarray | None
    buffer: int


@dataclass(frozen=True)
class Operator:
    """One operator, in the order in which they run.

    Attributes:
        index: in the model, which is what an error calls the node.
        name: `CONV_2D`, `ADD`, ...; what this package does not know is `CUSTOM` or a number.
        inputs, outputs: indexes of tensors; `ABSENT` for an input that is left out.
        options: by the names of the schema, such as `StrideH`; only of the operators in `OPTIONS`.
    """

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.name} (node {self.index})"


@dataclass(frozen=True)
class Model:
    """The only graph of a model."""

    tensors: tuple[TfliteTensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
