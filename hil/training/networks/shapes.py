"""The networks in `tflite8` as float graphs with drawn weights, and their four blocks of sparse training."""

from __future__ import annotations

from hil.training.networks.drawing import Drawing
from hil.training.networks.floating import FloatGraph

CLASSES = 10

# MCUNet's backbone as Poor Man's Training uses it: kernel, stride, expanded channels, output channels, residual add,
# block.
# Block 3 is the tenth bottleneck alone: docs/networks.md says why.
MCUNET = (
    (3, 2, 32, 16, False, 1), (3, 1, 48, 16, True, 1), (7, 2, 48, 24, False, 1), (3, 1, 120, 24, True, 1),
    (3, 2, 120, 40, False, 2), (7, 1, 160, 40, True, 2), (5, 1, 160, 48, False, 2), (3, 1, 144, 48, True, 2),
    (3, 1, 192, 48, True, 3),
    (7, 2, 240, 96, False, 4), (5, 1, 384, 96, True, 4), (5, 1, 384, 96, True, 4), (3, 1, 576, 160, False, 4),
)  # fmt: skip

# kernel, stride, expanded channels, output channels, residual add, block
RESNET_TINY = (
    (3, 1, 48, 16, True, 1), (3, 2, 64, 24, False, 2), (3, 1, 96, 24, True, 3), (3, 1, 96, 40, False, 3),
    (3, 1, 120, 40, True, 4),
)  # fmt: skip


def lenet5(name: str, seed: int) -> FloatGraph:
    """Return LeNet-5 of hil/training/networks/lenet5.py with biases.

    It has 107,550 weights, 236 biases, 693,000 multiply-accumulates.
    """
    net = Drawing(name, (28, 28, 1), CLASSES, seed)
    for net.block, outputs in ((1, 6), (2, 16)):
        net.conv(5, 1, 2, outputs, "relu")
        net.max_pool(2)
    for net.block, outputs in ((3, 120), (4, 84)):
        net.fully_connected(outputs, "relu")
    net.fully_connected(CLASSES)
    return net.graph


def convnet_tiny(name: str, seed: int) -> FloatGraph:
    """Return a small LeNet: two convolutions, of which the second has a stride, and two fully connected layers.

    It has 21,606 weights, 56 biases, 254,256 multiply-accumulates: in `float32` back-propagation through all of it fits
    every board.
    """
    net = Drawing(name, (28, 28, 1), CLASSES, seed)
    net.conv(5, 1, 2, 6, "relu")
    net.max_pool(2)
    net.block = 2
    net.conv(5, 2, 2, 16, "relu")
    for net.block, outputs, activation in ((3, 24, "relu"), (4, CLASSES, "none")):
        net.fully_connected(outputs, activation)
    return net.graph


def resnet_tiny(name: str, seed: int, side: int, channels: int) -> FloatGraph:
    """Return a small residual network.

    It has a strided convolution, five inverted bottlenecks, three of them with an add, the mean and the logits.
    """
    net = Drawing(name, (side, side, channels), CLASSES, seed)
    net.conv(3, 2, 1, 16, "relu6")
    for kernel, stride, expanded, outputs, residual, net.block in RESNET_TINY:
        net.bottleneck(kernel, stride, expanded, outputs, residual)
    net.mean()
    net.fully_connected(CLASSES)
    return net.graph


def pointnet(name: str, seed: int) -> FloatGraph:
    """Return PointNet for clouds of 256 points in three coordinates (ElasticZO, section 5.1), scaled to a board.

    The layers that each point passes by itself are pointwise, the maximum over the points is a max_pool
    (docs/arithmetic-float32.md, section 3). The paper's has 64, 64, 64, 128, 1024 channels, then 512, 256 and 40
    outputs, and 815,400 parameters; this one has 15,082.
    """
    net = Drawing(name, (16, 16, 3), CLASSES, seed)
    for net.block, outputs in ((1, 32), (1, 32), (1, 32), (2, 32), (2, 96)):
        net.pointwise(outputs, "relu")
    net.max_pool(16)
    for net.block, outputs in ((3, 64), (4, 32)):
        net.fully_connected(outputs, "relu")
    net.fully_connected(CLASSES)
    return net.graph


def mcunet(name: str, seed: int, side: int, classes: int = CLASSES) -> FloatGraph:
    """Return MCUNet's backbone for `side` x `side` RGB, its mean and a classifier.

    At 128 the backbone has 463,216 weights and 22,453,504 multiply-accumulates (Poor Man's Training, section 4.1).
    """
    net = Drawing(name, (side, side, 3), classes, seed)
    net.conv(3, 2, 1, 16, "relu6")
    net.depthwise(3, 1, "relu6")
    net.pointwise(8, "none")
    for kernel, stride, expanded, outputs, residual, net.block in MCUNET:
        net.bottleneck(kernel, stride, expanded, outputs, residual)
    net.mean()
    net.fully_connected(classes)
    return net.graph
