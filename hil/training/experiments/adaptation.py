"""What Poor Man's Training adapts a network to, and how: corrupted images, or classes that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.dataset import DataSet
from hil.training.data.names import is_own, public_name, split_name
from hil.training.data.store import PARTS, data_folder, file_name
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.run import Given
from hil.training.graph.formats import Op
from hil.training.methods import graph_method
from hil.training.methods.graph_settings import LIMITS, GraphSettings
from hil.training.networks import NETWORKS, build, find_network
from hil.training.networks.tree import cure_of

PMT = "poor-mans-training"
OWN, PUBLISHED = "resnet-tiny", "mcunet-in1-128"  # default networks: of corruptions, of new tasks
NEW_CLASSES = "fashion-mnist-1k"
TWO_CLASSES = "classes-0-6"  # T-shirt and shirt of Fashion-MNIST
SEVERITY = 5
WITHOUT_QAS = 30_000  # rates without quantization-aware scaling are larger by about 1 / s_w^2, which it divides by
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


@dataclass(frozen=True)
class Adaptation:
    """An adaptation to corrupted images of the network's own data set, or to new classes.

    Attributes:
        request: with the network, which has a head for the classes, and with the data of a new task.
        new: whether the classes are new.
        used, kept, held: training images of a run of the table; of these, while something is chosen, those that remain
            and those that are held out.
        curved: mask of the blocks that the figures train.
        tested: training images, on which no run trains, that stand in for too many test images; 0: none.
        classes: of a new task.
    """

    request: ExperimentRequest
    new: bool
    used: int
    kept: int
    held: int
    curved: int
    tested: int = 0
    classes: int = 0

    @property
    def network(self) -> str:
        """The name of the network."""
        return self.request.network

    @property
    def data(self) -> str:
        """What it is adapted to, for the sentences."""
        return public_name(self.request.data[0]) if self.new else NETWORKS[self.network].data

    def tasks(self, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the one data set of a new task, or the corruptions: `default` if the user named none."""
        return self.request.data if self.new else self.request.corruptions or default

    def set_of(self, task: str) -> str:
        """Return the data set of a run of the table."""
        return self._part(task, f"@{self.used}-{self.tested}" if self.tested else f"@{self.used}")

    def held_out(self, task: str) -> str:
        """Return the data set for a choice."""
        return self._part(task, f"@{self.kept}-{self.held}")

    def _part(self, task: str, part: str) -> str:
        return _sized(self.request, part) if self.new else f"{self.data}+{task}-{SEVERITY}{part}"

    def block(self, mask: int) -> Given:
        """Return the settings that train blocks: their pointwise layers, or all layers of a network without any.

        The head of a new task is trained too.
        """
        if any(layer.op is Op.POINTWISE for layer in build(self.network, 1).layers):
            return (("train", "pointwise-last" if self.new else "pointwise"), ("blocks", mask))
        return (("train", "all"), ("blocks", mask | HEAD_BLOCK if self.new else mask))

    def layers(self, given: Given) -> tuple[str, ...]:
        """Return the names of the trained layers."""
        graph = build(self.network, 1)
        return tuple(graph.layers[index].name for index in default_settings(PMT, given).trained(graph))


def corrupted(request: ExperimentRequest) -> Adaptation:
    """Return the adaptation to corrupted images of the data set that the network was trained on.

    Raises:
        RigError: another network, a batch that is too large, or too many queries.
    """
    request = replace(request, network=request.network or OWN)
    if not find_network(request.network).committed:
        raise RigError(f"{request.network} was not trained on Fashion-MNIST: choose {' or '.join(CURVED)}.")
    kept = min(request.images, TRAINING_IMAGES - HELD_OUT)
    return _checked(Adaptation(request, False, request.images, kept, HELD_OUT, CURVED[request.network]))


def new_task(request: ExperimentRequest) -> Adaptation:
    """Return the adaptation to a data set, with a head for its classes where the head of the network is drawn.

    Raises:
        RigError: the network of the paper is asked for, and its files are not there; unknown names; more classes than
            the network has; as `corrupted`.
    """
    base, (data,) = request.network or PUBLISHED, request.data
    if base == PUBLISHED and base not in NETWORKS:
        raise RigError(f"the default network {base} is read from your files: {cure_of('mcunet-5fps')}, or --network.")
    if find_network(base).any_classes:
        size = "x".join(map(str, build(base, 1).in_shape))
        own = is_own(split_name(data)[0])
        base = f"{base}@{classes_of(load(f'{data}@{size}' if own else data))}-classes"
    request = replace(request, network=base)
    whole = load(_sized(request, ""))  # before it is parted
    classes, known = classes_of(whole), build(base, 1).classes
    if classes > known:
        raise RigError(f"{data} has {classes} classes, and {base} {known}: choose another --network.")
    used = min(request.images, len(whole.train_images))
    held, curved = used // HELD_SHARE, PAIR_CURVED if classes == 2 else CLASSES_CURVED
    stand_in = len(whole.test_images) > MOST_TEST and len(whole.train_images) >= used + MOST_TEST
    return _checked(Adaptation(request, True, used, used - held, held, curved, MOST_TEST if stand_in else 0, classes))


def _checked(found: Adaptation) -> Adaptation:
    request = found.request
    if request.batch > found.kept:
        remain = f"the {found.kept} training images that remain while something is chosen"
        cure = "choose a smaller --batch, or more --images"
        raise RigError(f"a batch of {request.batch} is larger than {remain}: {cure}.")
    if request.queries > LIMITS["queries"][1]:
        raise RigError(f"--queries is {request.queries}: a step has {LIMITS['queries'][1]} at most.")
    return found


def _sized(request: ExperimentRequest, part: str) -> str:
    """Return the data with a part of it, at the size of the network's input; own images are read at this size."""
    data, shape = request.data[0], build(request.network, 1).in_shape
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


@dataclass(frozen=True)
class TrainingSetup:
    """How a row trains; fields as of `GraphRun`."""

    given: Given
    method: str = PMT
    budget: int | None = None
    fewest_steps: int = 0
    epochs: int = 0  # 0: as the user chose

    def rates(self, request: ExperimentRequest) -> tuple[float, ...]:
        """Return the initial rates of a search: the user's, times the factors of the scalings that the row omits."""
        settings = default_settings(self.method, self.given)
        factor = 1.0 if settings.qas else WITHOUT_QAS
        if self.method == PMT and not settings.gns:
            factor *= _gns(request.network, settings, request.batch)
        return tuple(float(f"{rate * factor:.2g}") for rate in request.rates)


def _gns(network: str, settings: GraphSettings, samples: int) -> float:
    """Return the least factor of gradient-norm scaling of a layer, or of the model.

    See docs/arithmetic-zeroth-order.md, section 6.
    """
    graph = build(network, 1)
    layers = [graph.layers[index] for index in settings.trained(graph)]
    drawn = [layer.out_size if settings.by_nodes(layer) else layer.weight_count + layer.channels for layer in layers]
    total = samples * settings.queries
    return total / (total + (sum(drawn) if settings.wise == "model" else max(drawn)) - 1)
