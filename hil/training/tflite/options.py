"""The options of operators that change what is computed, by the names of the schema."""

from __future__ import annotations

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
