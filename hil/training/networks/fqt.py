"""The networks of fully quantized training, each in three configurations (docs/networks.md, docs/arithmetic-fqt.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.networks.batch_norm import normalized
from hil.training.networks.convert_affine8 import from_floats
from hil.training.networks.drawing import calibration_images
from hil.training.networks.float32 import in_float32
from hil.training.networks.float_weights import WEIGHTS, Ranges, read_weights
from hil.training.networks.floating import FloatGraph
from hil.training.networks.fqt_shapes import MBEDNETS, fqt_cnn
from hil.training.networks.quantize import ranges

UINT8, MIXED, FLOAT32 = "uint8", "mixed", "float32"
CONFIGURATIONS = {
    UINT8: (Format.AFFINE8,),
    MIXED: (Format.AFFINE8, Format.FLOAT32),
    FLOAT32: (Format.FLOAT32,),
}
"""The formats of the layers by configuration; `mixed` has its fully connected layers in floats, behind a cast."""
IMAGES = "fashion-mnist-1k"  # the included data set of networks for 28 x 28 x 1
SERIES = "fashion-mnist-1k@5-way-50-shot-val-1@128x1x6"  # for networks for `watch`, which must be fetched: 5 classes
DRAWN_IMAGES = 64
RESET = 5  # layers with weights, from the last one back, that the paper sets to random values before it trains them
PRETRAINED = "pre-trained on {} by tools/pretrain_float.py, the same for every seed"
AS_RESET = f"pre-trained on {{}} by tools/pretrain_float.py, the last {RESET} layers with weights drawn by seed (He)"
DRAWN = "drawn by seed (He), batch normalisation and ranges by drawn images"


@dataclass(frozen=True)
class Family:
    """A network in three configurations.

    Attributes:
        floats: makes the float graph and the ranges of its values from a name and a seed.
        data: a data set of its size that needs no download.
        origin: where its weights come from.
        committed: whether all of its weights are in this package.
    """

    floats: Callable[[str, int], tuple[FloatGraph, Ranges]]
    data: str
    origin: str
    committed: bool = False


def configured(family: Family, configuration: str, name: str, seed: int) -> Graph:
    """Return a network in a configuration."""
    floats, of_values = family.floats(name, seed)
    if configuration == FLOAT32:
        return in_float32(floats)
    return from_floats(floats, of_values, first_of_head(floats) if configuration == MIXED else None)


def first_of_head(graph: FloatGraph) -> int:
    """Return the first fully connected layer: the classification head begins with it."""
    return next(index for index, layer in enumerate(graph.layers) if layer.op is Op.FULLY_CONNECTED)


def _drawn_cnn(name: str, seed: int, classes: int) -> tuple[FloatGraph, Ranges]:
    drawn = fqt_cnn(name, seed, classes)
    images = calibration_images(drawn.in_shape, seed, DRAWN_IMAGES)
    floats = normalized(drawn, images)
    return floats, ranges(floats, images)


def _pretrained(name: str, seed: int, weights: str) -> tuple[FloatGraph, Ranges]:
    return read_weights(WEIGHTS / f"{weights}.npz", MBEDNETS[weights](name, seed))


def _reset(name: str, seed: int, weights: str, classes: int | None = None) -> tuple[FloatGraph, Ranges]:
    """Return pre-trained layers with the last `RESET` layers with weights as drawn, for another number of classes too.

    The ranges of values from the first drawn layer on are those of drawn images: they move when it trains.
    """
    floats, of_values = _pretrained(name, seed, weights)
    shape = MBEDNETS[weights]
    drawn = shape(name, seed) if classes is None else shape(name, seed, classes=classes)
    first = [index for index, layer in enumerate(drawn.layers) if layer.own is not None][-RESET]
    floats = replace(drawn, layers=(*floats.layers[:first], *drawn.layers[first:]))
    found = ranges(floats, calibration_images(floats.in_shape, seed, DRAWN_IMAGES))
    return floats, [*of_values[:first], *found[first:]]


def _mbednet(weights: str, trained_on: str, data: str) -> dict[str, Family]:
    """Return a pre-trained network, and the same with its last layers reset."""
    reset = weights.replace("mbednet", "mbednet-reset")
    return {
        weights: Family(partial(_pretrained, weights=weights), data, PRETRAINED.format(trained_on), committed=True),
        reset: Family(partial(_reset, weights=weights), data, AS_RESET.format(trained_on)),
    }


FAMILIES = {
    "fqt-cnn": Family(partial(_drawn_cnn, classes=10), IMAGES, DRAWN),
    "fqt-cnn-letters": Family(partial(_drawn_cnn, classes=26), IMAGES, DRAWN),
    **_mbednet("mbednet", "fashion-mnist", IMAGES),
    "mbednet-reset-letters": Family(
        partial(_reset, weights="mbednet", classes=26), IMAGES, AS_RESET.format("fashion-mnist")
    ),
    **_mbednet("mbednet-watch", "watch", SERIES),
    **_mbednet("mbednet-vibration", "vibration", "vibration"),
}
