"""The networks of the second family by name (docs/networks.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from hil.bounded import read_file
from hil.errors import RigError, close_matches
from hil.graph.file import decode
from hil.graph.ir import Graph
from hil.network.tflite.drawing import calibration_images
from hil.network.tflite.floating import FloatGraph
from hil.network.tflite.quantize import quantize
from hil.network.tflite.shapes import lenet5, mcunet, resnet_tiny

LARGEST = 64 << 20  # bytes of a network file: the largest network has 2 MB
WEIGHTS = Path(__file__).parent / "weights"  # NAME.hnet, written by tools/pretrain_graph.py
DRAWN = "drawn by seed (He), calibrated on drawn images"
PRETRAINED = "pre-trained on fashion-mnist by tools/pretrain_graph.py, the same for every seed"


@dataclass(frozen=True)
class NamedNetwork:
    """A network that can be asked for.

    Attributes:
        shape: makes the float graph with drawn weights from a name and a seed.
        data: a data set that comes along and has images of its size.
        committed: whether its weights come along, pre-trained; else they are drawn by the seed.
    """

    shape: Callable[[str, int], FloatGraph]
    data: str
    committed: bool = False

    @property
    def provenance(self) -> str:
        """Where its weights come from."""
        return PRETRAINED if self.committed else DRAWN


def _mcunet(side: int) -> NamedNetwork:
    return NamedNetwork(partial(mcunet, side=side), f"fashion-mnist-1k@{side}x{side}x3")


NETWORKS = {
    "lenet5-tflite": NamedNetwork(lenet5, "fashion-mnist-1k", committed=True),
    "resnet-tiny": NamedNetwork(partial(resnet_tiny, side=28, channels=1), "fashion-mnist-1k", committed=True),
    "resnet-tiny-32": NamedNetwork(partial(resnet_tiny, side=32, channels=3), "fashion-mnist-1k@32x32x3"),
    "mcunet-48": _mcunet(48),
    "mcunet-64": _mcunet(64),
    "mcunet-96": _mcunet(96),
    "mcunet-128": _mcunet(128),
}


def find_network(name: str) -> NamedNetwork:
    """Return what is known of a network by name.

    Raises:
        RigError: no such network.
    """
    if name not in NETWORKS:
        raise RigError(f"there is no network {name!r}: {close_matches(name, NETWORKS)}")
    return NETWORKS[name]


@lru_cache(maxsize=8)  # the largest has half a megabyte
def build_graph(name: str, seed: int) -> Graph:
    """Return a network by name, whose arrays are read only.

    Args:
        name: one of `NETWORKS`.
        seed: of the weights and of the images that calibrate them, where they are drawn; pre-trained ones are the same for every seed.

    Raises:
        RigError: no such network.
    """
    known = find_network(name)
    if known.committed:
        return _read_only(decode(read_file(WEIGHTS / f"{name}.hnet", LARGEST, "install trainrig again"), name))
    floats = known.shape(name, seed)
    return _read_only(quantize(floats, calibration_images(floats.in_shape, seed)))


def _read_only(graph: Graph) -> Graph:
    for own in (layer.own for layer in graph.layers if layer.own is not None):
        for array in (own.weights, own.bias, own.multiplier, own.shift, own.scale):
            array.flags.writeable = False
    return graph
