"""What Poor Man's Training adapts a network to: corrupted images, or classes that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.dataset import DataSet
from hil.training.data.names import is_own, public_name, split_name
from hil.training.data.store import PARTS, data_folder, file_name
from hil.training.experiments.builder import Request
from hil.training.experiments.run import Given
from hil.training.graph.graph import Op
from hil.training.methods import graph_method
from hil.training.methods.graph_settings import LIMITS, GraphSettings
from hil.training.networks import NETWORKS, build, find_network
from hil.training.networks.tree import cure_of

PMT = "poor-mans-training"
OWN, PUBLISHED = "resnet-tiny", "mcunet-in1-128"  # default networks: of corruptions, of new tasks
NEW_CLASSES = "fashion-mnist-1k"
TWO_CLASSES = "classes-0-6"  # T-shirt and shirt of Fashion-MNIST
SEVERITY = 5
TRAINING_IMAGES = 1000  # in the data sets of the networks
HELD_OUT = 200  # of these, for a choice: a standard error of at most 3.5 points
HELD_SHARE = 5  # of the training images of a new task, one in so many is held out while something is chosen
MOST_TEST = 500  # test images of a set that has more: the training images after those that are used stand in for them
HEAD_BLOCK = 8  # mask of the block of the last layer
# Blocks of the figures, as masks. The paper trains four pointwise layers, two of them with more nodes than weights.
# resnet-tiny has four in blocks 1 and 2, three of them with more nodes; all five layers of lenet5-tflite are
# trained, two of them with more nodes.
CURVED = {"resnet-tiny": 3, "lenet5-tflite": 15}
PAIR_CURVED, CLASSES_CURVED = 4, 2  # masks: block 3 for two classes as for VWW, block 2 as for Pets (appendix D)


class Corrupted:
    """An adaptation to corrupted images of the data set that the network was trained on.

    Raises:
        RigError: another network, a batch that is too large, or too many queries.
    """

    on = "on corrupted images"  # what the network is adapted to, in words
    drawn = ""  # what else seeds decide, in words
    paper_rate = "0.01, and for its figures that the best was chosen"
    train = "pointwise"  # the setting that trains the pointwise layers of blocks

    def __init__(self, request: Request) -> None:
        self.request = self.with_network(request)
        self.network = self.request.network
        if request.batch > self.kept:
            remain = f"the {self.kept} training images that remain while something is chosen"
            cure = "choose a smaller --batch, or more --images"
            raise RigError(f"a batch of {request.batch} is larger than {remain}: {cure}.")
        if request.queries > LIMITS["queries"][1]:
            raise RigError(f"--queries is {request.queries}: a step has {LIMITS['queries'][1]} at most.")

    def with_network(self, request: Request) -> Request:
        """Return the request with its network.

        Raises:
            RigError: it was not trained on the images that are corrupted.
        """
        request = replace(request, network=request.network or OWN)
        if not find_network(request.network).committed:
            raise RigError(f"{request.network} was not trained on Fashion-MNIST: choose {' or '.join(CURVED)}.")
        return request

    @property
    def data(self) -> str:
        """What it is adapted to, for the sentences."""
        return NETWORKS[self.network].data

    @property
    def used(self) -> int:
        """Number of training images of a run of the table."""
        return self.request.images

    @property
    def held(self) -> int:
        """Number of training images that are held out while something is chosen."""
        return HELD_OUT

    @property
    def kept(self) -> int:
        """Number of training images that remain while something is chosen."""
        return min(self.request.images, TRAINING_IMAGES - self.held)

    @property
    def curved(self) -> int:
        """Mask of the blocks that the figures train."""
        return CURVED[self.network]

    def tasks(self, default: Sequence[str]) -> Sequence[str]:
        """Return the corruptions, `default` if the user named none."""
        return self.request.corruptions or default

    def set_of(self, task: str) -> str:
        """Return the data set of a run of the table."""
        return f"{self.data}+{task}-{SEVERITY}@{self.used}"

    def held_out(self, task: str) -> str:
        """Return the data set for a choice."""
        return f"{self.data}+{task}-{SEVERITY}@{self.kept}-{self.held}"

    def block(self, mask: int) -> Given:
        """Return the settings that train blocks: their pointwise layers, or all layers of a network without any."""
        pointwise = any(layer.op is Op.POINTWISE for layer in build(self.network, 1).layers)
        return (("train", self.train), ("blocks", mask)) if pointwise else self.whole_blocks(mask)

    def whole_blocks(self, mask: int) -> Given:
        """Return the settings that train all layers of blocks."""
        return (("train", "all"), ("blocks", mask))

    def layers(self, given: Given) -> tuple[str, ...]:
        """Return the names of the trained layers."""
        graph = build(self.network, 1)
        return tuple(graph.layers[index].name for index in default_settings(PMT, given).trained(graph))

    @property
    def tested(self) -> int | bool:
        """How many training images, on which no run trains, stand in for too many test images; False: none."""
        return False


class NewTask(Corrupted):
    """An adaptation to a data set, with a head for its classes where the head of the network is drawn.

    Raises:
        RigError: the network of the paper is asked for, and its files are not there; unknown names; more classes than
            the network has.
    """

    drawn = " and a new head"
    paper_rate = "0.1 (table 10) and 0.01 (table 11)"
    train = "pointwise-last"

    def with_network(self, request: Request) -> Request:
        """Return the request with the network that has a head for the classes."""
        base, (data,) = request.network or PUBLISHED, request.data
        if base == PUBLISHED and base not in NETWORKS:
            raise RigError(
                f"the default network {base} is read from your files: {cure_of('mcunet-5fps')}, or --network."
            )
        if find_network(base).any_classes:
            size = "x".join(map(str, build(base, 1).in_shape))
            own = is_own(split_name(data)[0])
            base = f"{base}@{classes_of(load(f'{data}@{size}' if own else data))}-classes"
        self.network, self.request = base, replace(request, network=base)
        classes, known = classes_of(self.whole()), build(base, 1).classes
        if classes > known:
            raise RigError(f"{data} has {classes} classes, and {base} {known}: choose another --network.")
        return self.request

    @property
    def on(self) -> str:  # type: ignore[override]
        """What the network is adapted to, in words."""
        return f"on {self.data}"

    @property
    def data(self) -> str:
        """What it is adapted to, for the sentences."""
        return public_name(self.request.data[0])

    def tasks(self, default: Sequence[str]) -> Sequence[str]:
        """Return the one data set."""
        return self.request.data

    @property
    def curved(self) -> int:
        """Mask of the blocks that the figures train."""
        return PAIR_CURVED if classes_of(self.whole()) == 2 else CLASSES_CURVED

    def whole(self) -> DataSet:
        """Return the data set before it is parted."""
        return load(self._named(""))

    @property
    def used(self) -> int:
        """Number of training images of a run of the table."""
        return min(self.request.images, len(self.whole().train_images))

    @property
    def held(self) -> int:
        """Number of training images that are held out while something is chosen."""
        return self.used // HELD_SHARE

    @property
    def kept(self) -> int:
        """Number of training images that remain while something is chosen."""
        return self.used - self.held

    @property
    def tested(self) -> int | bool:
        """How many training images, on which no run trains, stand in for too many test images; False: none."""
        whole = self.whole()
        stand_in = len(whole.test_images) > MOST_TEST and len(whole.train_images) >= self.used + MOST_TEST
        return stand_in and MOST_TEST

    def set_of(self, task: str) -> str:
        """Return the data set of a run of the table."""
        return self._named(f"@{self.used}-{MOST_TEST}" if self.tested else f"@{self.used}")

    def held_out(self, task: str) -> str:
        """Return the data set for a choice."""
        return self._named(f"@{self.kept}-{self.held}")

    def whole_blocks(self, mask: int) -> Given:
        """Return the settings that train all layers of blocks, and the head."""
        return super().whole_blocks(mask | HEAD_BLOCK)

    def _named(self, part: str) -> str:
        """Return the data with a part of it, at the size of the network's input; own images are read at this size."""
        data, shape = self.request.data[0], build(self.network, 1).in_shape
        size = f"@{'x'.join(map(str, shape))}"
        if is_own(split_name(data)[0]):
            return f"{data}{size}{part}"
        return f"{data}{part}{'' if load(data).card.shape == shape else size}"


def classes_of(data: DataSet) -> int:
    """Return how many classes a data set has."""
    return 1 + max(int(labels.max()) for labels in (data.train_labels, data.test_labels))


def default_pair() -> str:
    """Return two classes of the full Fashion-MNIST, or of its included part where it was not fetched."""
    name = "fashion-mnist"
    folder = data_folder() / name
    there = all((folder / file_name(part)).is_file() for part in PARTS)
    return f"{name if there else NEW_CLASSES}@{TWO_CLASSES}"


def default_settings(method: str, given: Given) -> GraphSettings:
    """Return the settings of a method's default variant, with these changes."""
    kind = graph_method(method)
    return kind.settings_of(kind.default_variant, **dict(given))
