"""The parameters of a layer as they lie in the network file, format by format (docs/network.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from hil.training.graph.part import F32, I8, I32, U8, U16, Part


@dataclass(frozen=True)
class Output(Part):
    """Scale, zero point and limits of the output of every tflite8 and w16a8 layer; `none` must be zero."""

    scale: F32
    zero: I8
    act_min: I8
    act_max: I8
    none: U8 = 0


@dataclass(frozen=True)
class Limits(Part):
    """Limits of the output of every float32 layer."""

    act_min: F32
    act_max: F32


@dataclass(frozen=True, eq=False)
class Arrays(Part):
    """What a tflite8 layer with weights has, by output channel; `sums` are those of the weights."""

    bias: Annotated[np.ndarray, "<i4"]
    multiplier: Annotated[np.ndarray, "<i4"]
    scale: Annotated[np.ndarray, "<f4"]
    sums: Annotated[np.ndarray, "<i4"]
    shift: Annotated[np.ndarray, "<i1"]


@dataclass(frozen=True, eq=False)
class Scaling(Part):
    """What a w16a8 layer with weights has: their scale, its factor, w_max, and biases; `none` must be zero."""

    scale: F32
    multiplier: I32
    shift: I8
    none: U8 = field(default=0, kw_only=True)
    largest: U16
    bias: Annotated[np.ndarray, "<i4"]


@dataclass(frozen=True, eq=False)
class Biases(Part):
    """What a float32 layer with weights has: biases."""

    bias: Annotated[np.ndarray, "<f4"]
