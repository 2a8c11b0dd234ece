"""Which arithmetic a network gets."""

from __future__ import annotations

import numpy as np

from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.networks import build
from hil.training.reference.native.bfp8 import fastest
from hil.training.reference.native.bfp8.library import Bfp8Library

WHY = "NumPy (weights of -128, or sums beyond 32 bits)"


def fully_connected(inputs: int, weight: int) -> Graph:
    weights = np.full((2, inputs), weight, np.int8)
    return chain((bfp8_node("fc1", Op.FULLY_CONNECTED, (1, 1, inputs), (1, 1, 2), weights=weights),), 2)


def test_a_network_whose_sums_fit(native: Bfp8Library) -> None:
    assert fastest(build("lenet5", 1)).name.startswith("C, ")
    assert fastest(fully_connected(133_144, -127)).name.startswith("C, ")


def test_a_network_whose_sums_may_not_fit() -> None:
    """133,144 products of 127^2 are the last below 2^31."""
    assert fastest(fully_connected(133_145, 1)).name == WHY
    image, weights = (512, 512, 1), np.ones((2, 1, 1, 1), np.int8)
    conv = bfp8_node("conv1", Op.CONV2D, image, (512, 512, 2), (1, 1), (1, 1), (0, 0), weights)
    assert fastest(chain((conv,), 2)).name == WHY  # its gradient's


def test_a_weight_that_no_tensor_has() -> None:
    assert fastest(fully_connected(3, -128)).name == WHY
