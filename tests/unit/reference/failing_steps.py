"""Networks whose first step on the samples of docs/arithmetic-affine8.md, section 11, fails; a file may hold each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hil.training.methods.fqt_settings import FqtSettings
from tests.oracle.affine8_network import Network
from tests.oracle.numbers import F32

from .oracle_affine8_networks import Affine8Builder, in_float32, network_a

SLOW = FqtSettings(eta=2.0**-40, standardise="off")
FAST = FqtSettings(eta=16.0, standardise="off")
Failure = tuple[Network, FqtSettings, tuple[int, int]]  # layer and cause


def collapsed(first_too: bool) -> Failure:
    """Return network A with layers whose weights are all 0; the first of them counts, also before a bias of a later."""
    network = network_a()
    layers = network.layers if first_too else network.layers[2:]
    for layer in (layer for layer in layers if layer.weights):
        layer.weights = [layer.z_w] * len(layer.weights)
    return network, SLOW, (0 if first_too else 2, 1)


def one_layer(s: float, z: int, ends: tuple[float, float]) -> Network:
    """Return a fully connected layer with two inputs and outputs, from the scale and zero point of the input."""
    builder = Affine8Builder((1, 1, 2), F32(s), z)
    builder.append("fully_connected", (1, 1, 2), ends)
    return builder.network()


def weights_leave(in_float: bool) -> Failure:
    """Return a layer with inputs so large that a weight leaves its limits."""
    network = one_layer(2.0**13, 0, (-(2.0**20), 2.0**20))
    return in_float32(network) if in_float else network, FAST, (0, 2)


def biases_leave() -> Failure:
    """Return a layer with biases at their limit; its weights stay within theirs."""
    network = one_layer(0.5, 0, (0, 2.0**21))
    network.layers[0].bias = [F32(2.0**20 - 1)] * 2
    return network, FAST, (0, 2)


def range_leaves() -> Failure:
    """Return a layer whose outputs reach the end of the widest range."""
    network = one_layer(2.0**8, -128, (0, 2.0**30))
    (layer,) = network.layers
    layer.weights, layer.s_w, layer.z_w = [60, 60, 59, 60], F32(2.0**14), 0
    return network, replace(SLOW, range_momentum=0.0, range_growth=1.0), (0, 4)


def error_grows(second_reader: bool) -> Failure:
    """Return a chain whose errors grow by 2^20 with each layer; an add may give one of its values a second reader."""
    builder = Affine8Builder((1, 1, 2), F32(2.0**-40), 0)
    for layer in range(1, 5):
        end = 2.0 ** (14 * layer - 40 + 7)
        builder.append("pointwise", (1, 1, 2), (-end, end), window=(1, 1, 0))
    if second_reader:
        builder.append("add", (1, 1, 2), (-(2.0**23), 2.0**23), reads=(4, 1))
    builder.append("fully_connected", (1, 1, 2), (-(2.0**16), 2.0**16))
    network = builder.network()
    for one in network.layers[:4]:
        one.s_w, one.z_w, one.weights, one.bias = F32(2.0**14), 0, [63, -64, 60, -64], [F32(0)] * 2
    return network, SLOW, (1, 3)


FAILURES: dict[str, Callable[[], Failure]] = {
    "all weights of the last layer are 0": lambda: collapsed(False),
    "all weights are 0": lambda: collapsed(True),
    "weights leave": lambda: weights_leave(False),
    "weights in float32 leave": lambda: weights_leave(True),
    "biases leave": biases_leave,
    "a range leaves": range_leaves,
    "an error grows": lambda: error_grows(False),
    "an error with two readers grows": lambda: error_grows(True),
}
