"""The networks by name, in all formats (docs/networks.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from hil.bounded_read import read_file
from hil.errors import RigError, close_matches
from hil.plugins import Registry
from hil.training.graph.file import decode
from hil.training.graph.file_checks import LEAST_CLASSES, MOST_CLASSES
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.networks.convert_w16a8 import W8, W16, from_tflite8
from hil.training.networks.drawing import calibration_images
from hil.training.networks.files import LARGEST, is_path, read_network
from hil.training.networks.float32 import drawn
from hil.training.networks.float_weights import WEIGHTS
from hil.training.networks.floating import FloatGraph
from hil.training.networks.fqt import CONFIGURATIONS, FAMILIES, configured
from hil.training.networks.lenet5 import lenet5
from hil.training.networks.published_heads import NEW_HEADS, with_new_head
from hil.training.networks.quantize import quantize
from hil.training.networks.shapes import convnet_tiny, mcunet, pointnet, resnet_tiny
from hil.training.networks.shapes import lenet5 as float_lenet5
from hil.training.networks.tiny_training import CONFIGURATIONS as MCUNET_CONFIGURATIONS
from hil.training.networks.tiny_training import MCUNET_DATA, MCUNET_ORIGIN, mcunet_5fps, there
from hil.training.networks.tiny_training import NAME as MCUNET
from hil.training.networks.tree import cure_of, is_folder_named

IMAGE = float(np.float32(1 / 255)), -128  # scale and zero of an input: a byte p of an image stands for p / 255,
CLOUD = 2.0**-7, 0  # and one of a point cloud for (p - 128) / 128 (docs/data.md)
XAVIER = "drawn by seed (Xavier)"
DRAWN = "drawn by seed (He), calibrated on drawn images"
PRETRAINED = "pre-trained on fashion-mnist by tools/pretrain_graph.py, the same for every seed"
HEAD = re.compile(r"(?P<network>.+)@(?P<classes>\d{1,9})-classes", re.DOTALL)  # a network with a head of so many


@dataclass(frozen=True)
class NamedNetwork:
    """A network that a trial can name.

    Attributes:
        shape: makes the network with drawn weights from a name and a seed; a float graph is quantized to `tflite8`.
            Where the head is drawn, it also takes `classes`.
        data: a data set of this package with images of the network's size.
        committed: whether its pre-trained weights are in this package, or those of the network that `shape` converts;
            else they are drawn by the seed.
        formats: of its layers, in the order of `Graph.formats`.
        converted: whether `shape` makes it from another network, or from weights of its own files.
        origin: where its weights come from, if none of the usual sentences says it.
        any_classes: whether the head is drawn, for as many classes as `NAME@N-classes` says.
    """

    shape: Callable[..., FloatGraph | Graph]
    data: str
    committed: bool = False
    formats: tuple[Format, ...] = (Format.TFLITE8,)
    converted: bool = False
    origin: str = ""
    any_classes: bool = False

    @property
    def provenance(self) -> str:
        """Where its weights come from."""
        if self.origin:
            return self.origin
        if self.committed:
            return PRETRAINED
        return DRAWN if Format.TFLITE8 in self.formats else XAVIER


def _converted(source: str, largest: int) -> NamedNetwork:
    """Return a network of pre-trained weights in `w16a8`."""

    def shape(name: str, seed: int) -> Graph:
        return from_tflite8(build(source, seed), largest, name)

    return NamedNetwork(shape, NETWORKS[source].data, committed=True, formats=(Format.W16A8,), converted=True)


def _mcunet(side: int) -> NamedNetwork:
    return NamedNetwork(partial(mcunet, side=side), f"fashion-mnist-1k@{side}x{side}x3", any_classes=True)


def _float32(shape: Callable[[str, int], FloatGraph], data: str, of_input: tuple[float, int] = IMAGE) -> NamedNetwork:
    """Return a network in `float32`; `of_input` has scale and zero of its input."""
    scale, zero = of_input

    def made(name: str, seed: int) -> Graph:
        return replace(drawn(shape(name, seed), seed), scale=scale, zero=zero)

    return NamedNetwork(made, data, formats=(Format.FLOAT32,))


NETWORKS = {
    "lenet5": NamedNetwork(lambda _, seed: lenet5(seed), "fashion-mnist-1k", formats=(Format.BFP8,)),
    "lenet5-tflite": NamedNetwork(float_lenet5, "fashion-mnist-1k", committed=True),
    "resnet-tiny": NamedNetwork(partial(resnet_tiny, side=28, channels=1), "fashion-mnist-1k", committed=True),
    "resnet-tiny-32": NamedNetwork(partial(resnet_tiny, side=32, channels=3), "fashion-mnist-1k@32x32x3"),
    "mcunet-48": _mcunet(48),
    "mcunet-64": _mcunet(64),
    "mcunet-96": _mcunet(96),
    "mcunet-128": _mcunet(128),
    "lenet5-float32": _float32(float_lenet5, "fashion-mnist-1k"),
    "convnet-tiny-float32": _float32(convnet_tiny, "fashion-mnist-1k"),
    "resnet-tiny-float32": _float32(partial(resnet_tiny, side=28, channels=1), "fashion-mnist-1k"),
    "pointnet-float32": _float32(pointnet, "fashion-mnist-1k@16x16x3", CLOUD),
}
NETWORKS |= {
    "lenet5-w16a8": _converted("lenet5-tflite", W16),
    "lenet5-8w8a": _converted("lenet5-tflite", W8),
    "resnet-tiny-w16a8": _converted("resnet-tiny", W16),
}
NETWORKS |= {
    f"{name}-{configuration}": NamedNetwork(
        partial(configured, family, configuration), family.data, family.committed, formats, True, family.origin
    )
    for name, family in FAMILIES.items()
    for configuration, formats in CONFIGURATIONS.items()
}
NETWORKS |= {
    name: NamedNetwork(
        partial(mcunet_5fps, configuration=configuration), MCUNET_DATA, False, formats, True, MCUNET_ORIGIN, True
    )
    for name, (configuration, formats) in there().items()
}
NETWORKS |= {
    name: NamedNetwork(with_new_head, MCUNET_DATA, converted=True, origin=MCUNET_ORIGIN, any_classes=True)
    for name in (NEW_HEADS if is_folder_named() else ())
}

# The trees of the networks that are read from the user's files.
TREES = {f"{MCUNET}-{configuration}": MCUNET for configuration in MCUNET_CONFIGURATIONS}
TREES |= {name: published.tree for name, published in NEW_HEADS.items()}


def _accept(name: str, networks: Any) -> NamedNetwork:
    network = networks.get(name) if isinstance(networks, Mapping) else None
    if not isinstance(network, NamedNetwork):
        raise RigError("a network is offered as a dictionary with a hil.training.networks.NamedNetwork of its name")
    return network


# The networks of this package and those of plugins.
KNOWN = Registry("networks", "there is no network", lambda: dict.fromkeys(NETWORKS, f"{__name__}:NETWORKS"), _accept)


def names(*formats: Format) -> tuple[str, ...]:
    """Return the names of the networks whose layers have just these formats, in this order."""
    return tuple(name for name, network in KNOWN.items() if network.formats == formats)


def is_known(name: str) -> bool:
    """Return whether a name is one of `KNOWN`, of such a network with another head, or a path."""
    return is_path(name) or _base(name) in KNOWN


def find_network(name: str) -> NamedNetwork:
    """Return the entry of a network, by name or by path; `NAME@N-classes` is NAME with a head for N classes.

    Raises:
        RigError: no such network, a file that is none, or a head that cannot be another one.
        Blocked: the plugin of the network is broken.
    """
    if is_path(name):
        return _of_file(name)
    if not is_known(name):
        if (tree := TREES.get(_base(name))) is not None:
            raise RigError(f"the files of {_base(name)} are not here: {cure_of(tree)}.")
        raise RigError(f"there is no network {name!r}: {close_matches(_base(name), KNOWN.names())}")
    if (head := HEAD.fullmatch(name)) is None:
        return KNOWN.find(name)
    base, classes = head["network"], int(head["classes"])
    if not KNOWN.find(base).any_classes:
        others = ", ".join(other for other, one in KNOWN.items() if one.any_classes)
        raise RigError(f"{base} has the weights of its own classes: leave out @{classes}-classes, or choose {others}.")
    if not LEAST_CLASSES <= classes <= MOST_CLASSES:
        raise RigError(f"{name} has {classes} classes: give {LEAST_CLASSES} to {MOST_CLASSES:,}.")
    return _for_classes(KNOWN.find(base), base, classes)


def _base(name: str) -> str:
    """Return a name without the classes of its head."""
    head = HEAD.fullmatch(name)
    return head["network"] if head else name


@lru_cache(maxsize=8)  # an entry is the key of the network that is built
def _for_classes(known: NamedNetwork, base: str, classes: int) -> NamedNetwork:
    """Return the entry of a network with a head for other classes."""

    def shape(name: str, seed: int) -> FloatGraph | Graph:
        return replace(known.shape(base, seed, classes=classes), name=name)

    return replace(known, shape=shape, any_classes=False)


def _of_file(path: str) -> NamedNetwork:
    """Return the entry of a network of the user."""
    graph = read_network(path).graph
    size = "x".join(map(str, graph.in_shape))
    origin = f"read from {graph.name}"
    return NamedNetwork(lambda _, seed: graph, f"fashion-mnist-1k@{size}", False, graph.formats, True, origin)


def build(name: str, seed: int) -> Graph:
    """Return a network by name or by path, whose arrays are read only.

    Args:
        name: one of `KNOWN`, also with `@N-classes`, or the path of a .hnet or a .tflite.
        seed: of the weights and of the images that calibrate them, where they are drawn; pre-trained weights are the
            same for every seed.

    Raises:
        RigError: no such network, or a file that is none.
    """
    return _read_only(read_network(name).graph) if is_path(name) else _built(find_network(name), name, seed)


@lru_cache(maxsize=8)  # the largest has half a megabyte
def _built(known: NamedNetwork, name: str, seed: int) -> Graph:
    """Build the network of an entry, which belongs to the key: `NETWORKS` may have another of this name by now."""
    if known.committed and not known.converted:
        return _read_only(decode(read_file(WEIGHTS / f"{name}.hnet", LARGEST, "install trainrig again"), name))
    made = known.shape(name, seed)
    if isinstance(made, FloatGraph):
        made = quantize(made, calibration_images(made.in_shape, seed))
    return _read_only(made)


def _read_only(graph: Graph) -> Graph:
    for own in graph.own.values():
        for array in vars(own).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
    return graph
