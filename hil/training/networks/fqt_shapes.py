"""The networks of fully quantized training as float graphs with drawn weights (docs/networks.md has their sums)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from hil.training.graph.formats import Shape
from hil.training.networks.drawing import Drawing
from hil.training.networks.floating import FloatGraph


class Bottleneck(NamedTuple):
    """An inverted bottleneck of MobileNetV3.

    Attributes:
        kernel, stride: of its depthwise layer.
        expanded, outputs: channels inside it and of its output.
        squeezed: channels of squeeze-and-excite; 0 for none.
        swish: whether its activations are hard_swish instead of ReLU.
        block: number of its block.
    """

    kernel: int
    stride: int
    expanded: int
    outputs: int
    squeezed: int
    swish: bool
    block: int


MBEDNET = (
    Bottleneck(3, 1, 32, 16, 0, False, 1),
    Bottleneck(3, 2, 48, 24, 0, False, 1),
    Bottleneck(3, 1, 72, 24, 0, False, 2),
    Bottleneck(5, 2, 72, 32, 24, True, 3),
    Bottleneck(5, 1, 96, 32, 0, True, 4),
)
STEM, LAST, HEAD = 16, 96, 64  # channels of the first convolution, of the last one, and of the hidden layer


def fqt_cnn(name: str, seed: int, classes: int = 10) -> FloatGraph:
    """Return two convolutions, a max_pool and two fully connected layers for 28 x 28 x 1.

    For 10 classes it has 28,112 weights, 74 biases and 555,392 multiply-accumulates.
    """
    net = Drawing(name, (28, 28, 1), classes, seed)
    net.conv(5, 2, 2, 16, "relu")
    net.block = 2
    net.conv(3, 1, 1, 16, "relu")
    net.max_pool(2)
    net.block = 3
    net.fully_connected(32, "relu")
    net.block = 4
    net.fully_connected(classes)
    return net.graph


def mbednet(
    name: str,
    seed: int,
    in_shape: Shape,
    classes: int,
    stem: tuple[int, int],
    pixels: tuple[int, float] = (0, 255),
) -> FloatGraph:
    """Return a small MobileNetV3 (Howard et al., 2019) for images, or for series: images of width 1.

    Args:
        name, seed: of the network and of its weights.
        in_shape: of the input.
        classes: outputs.
        stem: kernel and stride of the first convolution.
        pixels: (black, unit): a byte p of the input stands for (p - black) / unit.
    """
    net = Drawing(name, in_shape, classes, seed, *pixels)
    net.conv(stem[0], stem[1], stem[0] // 2, STEM, "none")
    net.hard_swish()
    for bottleneck in MBEDNET:
        _append(net, bottleneck)
    net.pointwise(LAST, "none")
    net.hard_swish()
    net.mean()
    net.fully_connected(HEAD)
    net.hard_swish()
    net.fully_connected(classes)
    return net.graph


def _append(net: Drawing, bottleneck: Bottleneck) -> None:
    """Append an inverted bottleneck; it has an add where its input and its output have one shape."""
    read, shape, net.block = net.value, net.shape, bottleneck.block
    activation = "none" if bottleneck.swish else "relu"
    net.pointwise(bottleneck.expanded, activation)
    if bottleneck.swish:
        net.hard_swish()
    net.depthwise(bottleneck.kernel, bottleneck.stride, activation)
    if bottleneck.swish:
        net.hard_swish()
    if bottleneck.squeezed:
        net.squeeze_excite(bottleneck.squeezed)
    net.pointwise(bottleneck.outputs, "none")
    if net.shape == shape:
        net.add(read)


MBEDNETS = {
    "mbednet": partial(mbednet, in_shape=(28, 28, 1), classes=10, stem=(3, 2)),
    "mbednet-watch": partial(mbednet, in_shape=(128, 1, 6), classes=7, stem=(5, 2), pixels=(128, 128)),
    "mbednet-vibration": partial(mbednet, in_shape=(512, 1, 1), classes=10, stem=(7, 4), pixels=(128, 128)),
}
"""The shapes of `mbednet` by name: for images, and for the series of two data sets."""
