"""Poor Man's Training on classes that the network was not trained on: tables 10 and 11 (docs/poor-mans-training.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.dataset import DataSet
from hil.training.data.names import is_own, public_name, split_name
from hil.training.data.store import PARTS, data_folder, file_name
from hil.training.experiments.pmt_differences import table_of
from hil.training.experiments.pmt_published import TABLE10, TABLE11, TABLE11_KB, TITLES
from hil.training.experiments.pmt_runs import FP32, PMT, Builder, PmtRequest, TrainingSetup
from hil.training.experiments.run import Given
from hil.training.experiments.table import MemoryRow, Table, Within
from hil.training.graph.graph import Op
from hil.training.methods import graph_method
from hil.training.networks import NETWORKS, build, find_network
from hil.training.networks.tree import cure_of

PUBLISHED = "mcunet-in1-128"
NEW_CLASSES = "fashion-mnist-1k"
TWO_CLASSES = "classes-0-6"  # T-shirt and shirt of Fashion-MNIST
HELD_SHARE = 5  # of the training images, one in so many is held out while something is chosen
MOST_TEST = 500  # test images of a set that has more: the training images after those that are used stand in for them
HEAD_BLOCK = 8  # mask of the block of the last layer
LAST_BLOCK, MIDDLE_BLOCK, OTHER_MIDDLE = 8, 4, 2  # masks: MCUTrain's fixed layers; those of appendix D
MEMORY = (
    "one sample at a time: PMT's equation of section 4.3, and the arena of the smallest plan with the network in "
    "flash; FP32 BP runs on the host only"
)


@dataclass(frozen=True)
class TransferRequest(PmtRequest):
    """What the user requested of a new task; `network` has a head for the classes of `data`."""

    data: str = NEW_CLASSES
    drawn: ClassVar[str] = " and a new head"
    paper_rate: ClassVar[str] = "0.1 (table 10) and 0.01 (table 11)"

    def check_network(self) -> None:
        """Raise RigError for data of more classes than the network has."""
        classes, known = classes_of(self.whole()), build(self.network, 1).classes
        if classes > known:
            raise RigError(f"{self.data} has {classes} classes, and {self.network} {known}: choose another --network.")

    def stands_in(self) -> str:
        """Return what network and data stand in for, in words."""
        origin = find_network(self.network).provenance
        return (
            f"{self.network} ({origin}) on {public_name(self.data)} in the place of MCUNet on five fine-grained data "
            "sets (table 10) and on Visual Wake Words (table 11), which are in no package: the orders can be compared, "
            "the percentages cannot. The head is trained too, beside the pointwise layers of a block; the paper does "
            "not say."
        )

    @property
    def on(self) -> str:
        """What the network is adapted to, in words."""
        return f"on {public_name(self.data)}"

    def tasks(self, default: Any) -> tuple[str, ...]:
        """Return the one data set."""
        return (self.data,)

    @property
    def curved(self) -> int:
        """Block 3 for two classes as for VWW, block 2 as for Pets (appendix D)."""
        return MIDDLE_BLOCK if classes_of(self.whole()) == 2 else OTHER_MIDDLE

    def whole(self) -> DataSet:
        """Return the data set before it is parted."""
        return load(self._named(""))

    @property
    def used(self) -> int:
        """Number of training images of a run of the table."""
        return min(self.images, len(self.whole().train_images))

    @property
    def kept(self) -> int:
        """Number of training images that remain while something is chosen."""
        return self.used - self.held

    @property
    def held(self) -> int:
        """Number of training images that are held out while something is chosen."""
        return self.used // HELD_SHARE

    @property
    def tested_on_training(self) -> bool:
        """Whether training images that no run trains on stand in for too many test images."""
        whole = self.whole()
        return len(whole.test_images) > MOST_TEST and len(whole.train_images) >= self.used + MOST_TEST

    def set_of(self, corruption: str) -> str:
        """Return the data set of a run of the table."""
        return self._named(f"@{self.used}-{MOST_TEST}" if self.tested_on_training else f"@{self.used}")

    def held_out(self, corruption: str) -> str:
        """Return the data set for a choice."""
        return self._named(f"@{self.kept}-{self.held}")

    def block(self, mask: int) -> Given:
        """Return the settings that train blocks and the head: pointwise layers, or all layers without any."""
        pointwise = any(layer.op is Op.POINTWISE for layer in build(self.network, 1).layers)
        if pointwise:
            return (("train", "pointwise-last"), ("blocks", mask))
        return (("train", "all"), ("blocks", mask | HEAD_BLOCK))

    def _named(self, part: str) -> str:
        """Return the data with a part of it, at the size of the network's input; own images are read at this size."""
        shape = build(self.network, 1).in_shape
        size = f"@{'x'.join(map(str, shape))}"
        if is_own(split_name(self.data)[0]):
            return f"{self.data}{size}{part}"
        return f"{self.data}{part}{'' if load(self.data).card.shape == shape else size}"


def classes_of(data: DataSet) -> int:
    """Return how many classes a data set has."""
    return 1 + max(int(labels.max()) for labels in (data.train_labels, data.test_labels))


def default_pair() -> str:
    """Return two classes of the full Fashion-MNIST, or of its included part where it was not fetched."""
    name = "fashion-mnist"
    folder = data_folder() / name
    there = all((folder / file_name(part)).is_file() for part in PARTS)
    return f"{name if there else NEW_CLASSES}@{TWO_CLASSES}"


def transfer_request(network: str | None, data: str, **others: Any) -> TransferRequest:
    """Return the request of a task, with a head for its classes where the head of the network is drawn.

    Raises:
        RigError: the network of the paper is asked for, and its files are not there; unknown names, or a wrong request.
    """
    base = network or PUBLISHED
    if base == PUBLISHED and base not in NETWORKS:
        raise RigError(f"the default network {base} is read from your files: {cure_of('mcunet-5fps')}, or --network.")
    known = find_network(base)
    if known.any_classes:
        size = build(base, 1).in_shape
        own = is_own(split_name(data)[0])
        base = f"{base}@{classes_of(load(data + f'@{size[0]}x{size[1]}x{size[2]}' if own else data))}-classes"
    return TransferRequest(network=base, data=data, **others)


def table10(request: PmtRequest) -> Table:
    """Table 10: new classes, with the last layer only, by back-propagation, and by Poor Man's Training."""
    within = (Within("pmt", "mcutrain", 1), Within("mcutrain", FP32, 1))
    order = (
        "Poor Man's Training above no training, within 1 point of MCUTrain, and this of FP32 BP; INT8 BP with QAS "
        "above without (the points are ours)"
    )
    claims = (("pmt", "none"), ("bp-int8-qas", "bp-int8"))
    differences = (
        "The paper's values are the averages of its five data sets. It has no row of the last layer only, nor of BP in "
        "INT8.",
        "MCUTrain trains block 4 with momentum 0.9; Poor Man's Training the block that gains most in one epoch.",
    )
    return _transfer(request, "pmt-table10", "New classes", None, TABLE10, (claims, within, order), differences)


def table11(request: PmtRequest) -> Table:
    """Table 11: two classes, memory beside accuracy; MCUTrain and Poor Man's Training train the same layers."""
    assert isinstance(request, TransferRequest)
    if (classes := classes_of(request.whole())) != 2:
        raise RigError(f"pmt-table11 is a task of two classes, and {request.data} has {classes}: add @classes-A-B.")
    claims = (("pmt", "cls-only"), ("mcutrain", "cls-only"), ("bp-int8-qas", "bp-int8"))
    within = (Within("pmt", "mcutrain", 1),)
    order = (
        "Poor Man's Training and MCUTrain above the last layer only, within 1 point of each other; INT8 BP with QAS "
        "above without (the point is ours)"
    )
    memory = ", ".join(f"{TITLES[row]} {size:,}" for row, size in TABLE11_KB.items())
    differences = (
        f"The paper's memory in KB: {memory}.",
        "MCUTrain, with momentum 0.9, and Poor Man's Training train the same layers: the pointwise layers of block 3 "
        "and the head. The paper has no rows of BP in INT8 nor of TinyTrain.",
    )
    layers = MIDDLE_BLOCK
    return _transfer(request, "pmt-table11", "Two classes", layers, TABLE11, (claims, within, order), differences)


def _transfer(
    request: PmtRequest, name: str, title: str, fixed: int | None, paper: dict[str, float] | Any, claimed: Any,
    differences: tuple[str, ...],
) -> Table:  # fmt: skip
    """Return a table of one task; `fixed`: blocks of Poor Man's Training and MCUTrain, None: chosen, and block 4."""
    assert isinstance(request, TransferRequest)
    builder, task = Builder(request), request.data
    column = "two-classes" if fixed else "new-classes"
    ways = {
        "cls-only": TrainingSetup((("train", "last"), ("qas", 1)), "int8-bp"),
        "bp-int8": TrainingSetup((("qas", 0),), "int8-bp"),
        "bp-int8-qas": TrainingSetup((("qas", 1),), "int8-bp"),
        "mcutrain": TrainingSetup(request.block(fixed or LAST_BLOCK), "mcutrain"),
        "tinytrain": TrainingSetup((), "tinytrain"),
        "pmt-all": builder.block(15),
    }
    not_run = {}
    if request.kept < 2 * request.batch:
        not_run["tinytrain"] = "an epoch of one step only ranks layers."
    for row, way in ways.items():
        if row not in not_run:
            builder.row(column, row, (task,), way, task)
    builder.float_row(column, FP32, (task,), task)
    builder.row(column, "pmt", (task,), builder.block(fixed or 15), task, chosen=fixed is None)
    builder.cells[builder.data, column, "none"] = builder.cells[builder.data, column, "pmt"]
    claims, within, order = claimed
    rows = ("none", "cls-only", FP32, "bp-int8", "bp-int8-qas", "mcutrain", "tinytrain", "pmt-all", "pmt")
    held = (
        f"Tested on the {MOST_TEST} training images after those that are used; no run trains on them."
        if request.tested_on_training
        else ""
    )
    of_block = {"pmt": builder.block(fixed or MIDDLE_BLOCK)}
    return table_of(
        name, title, builder, rows, claims, order, tuple(one for one in (*differences, held) if one),
        {(column, row): value for row, value in paper.items()}, within=within, not_run=not_run,
        memory=tuple(_memory(request, row, way) for row, way in {**ways, **of_block}.items()), memory_parts=MEMORY,
    )  # fmt: skip


def _memory(request: TransferRequest, row: str, way: TrainingSetup) -> MemoryRow:
    """Return the memory of a row with one sample a step."""
    kind = graph_method(way.method)
    given = dict(way.given) | {"batch": 1}
    method = kind.on(build(request.network, 1), kind.default_variant, **given)
    arena = method.resident(0, (True,)).plan(1).total  # nothing fits 0 bytes: the smallest form
    name = f"{row}, blocks {given['blocks']:b}" if way.method == PMT and row == "pmt" else row
    return MemoryRow(request.network, name, {"equation": method.analytic()["bytes"], "arena": arena})
