"""Prepare a trial before any board is used: look up names, plan memory, check the request."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hil import boards
from hil.boards import Board
from hil.errors import Blocked, RigError
from hil.images import Image, image_of
from hil.refusals import noticed
from hil.training.data import DataSet
from hil.training.data import load as load_data
from hil.training.data.own import NetworkInput
from hil.training.graph.file import decode
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Plan
from hil.training.methods import Method
from hil.training.methods.plan import MethodPlan
from hil.training.networks.files import NetworkFile, is_path, read_network
from hil.training.trial.choose import check_weights, method_of
from hil.training.trial.spec import TrialSpec

SELECTED, BLOCKS = "selected", (1, 2, 3, 4)  # the variant that selects its block, and the blocks


@dataclass
class Loadable:
    """What a board is loaded with: board, network and method that were looked up, checked and planned.

    Attributes:
        spec: the trial.
        board, image: catalogue entry and firmware.
        method: with its network and settings.
        blob: the network file, the same bytes for board and reference.
        plan: of the board's memory, with `slots` samples held at a time.
        source: of a network that was given by path, else None.
    """

    spec: TrialSpec
    board: Board
    image: Image
    method: Method
    blob: bytes
    plan: Plan
    slots: int
    source: NetworkFile | None

    @property
    def settings(self) -> Any:
        """The settings before the first change of the schedule."""
        return self.method.settings

    @property
    def network_sha256(self) -> str:
        """SHA-256 of the network file."""
        return hashlib.sha256(self.blob).hexdigest()

    def settings_at(self, step: int) -> Any:
        """Return the settings of a step."""
        settings = self.settings
        for first, changes in self.spec.schedule:
            if first <= step:
                settings = settings.changed(**changes)
        return settings


@dataclass
class Prepared(Loadable):
    """A trial with its data.

    Attributes:
        data: the data set.
    """

    data: DataSet


def loadable(spec: TrialSpec, elf: Path | None = None) -> Loadable:
    """Look up board, network and method, and check that they fit; no data set is read.

    Raises:
        RigError: an unknown name, a setting out of range.
        Blocked: the plan does not fit the board's arena; nothing has been flashed.
    """
    board = boards.load(spec.board)
    image = image_of(spec.board, elf)
    method, slots, plan = _fitting(spec, board, image.arena_size)
    settings = method.settings
    for _, changes in spec.schedule:  # so that a mistake is found before the first step
        settings = settings.changed(**changes)
        check_weights(method.request, settings)
    blob = _file(spec, method.plan)
    if method.in_flash and board.room_for_data is not None:
        image = image.carrying(board.room_for_data.start, blob)
    source = read_network(spec.network) if is_path(spec.network) else None
    return Loadable(spec, board, image, method, blob, plan, slots, source)


def prepare(spec: TrialSpec, elf: Path | None = None) -> Prepared:
    """Look up everything and check that it fits the board.

    Raises:
        RigError: an unknown name, a setting out of range, missing data.
        Blocked: the plan does not fit the board's arena; nothing has been flashed.
    """
    found = loadable(spec, elf)
    data = load_data(spec.data, input_of(found.method.network))
    _check_shape(spec, found.method.network, data)
    _check_counts(spec, data)
    return Prepared(**vars(found), data=data)


def _fitting(spec: TrialSpec, board: Board, arena: int) -> tuple[Method, int, Plan]:
    """Return method, slots and plan; if the trial selects its block, those of the first block that fits."""
    if spec.variant != SELECTED:
        method = method_of(spec, board, arena)
        return method, *fit(spec, method, arena)
    *others, last = (replace(spec, variant=f"block{block}") for block in BLOCKS)
    for one in others:
        with contextlib.suppress(Blocked):
            return _fitting(one, board, arena)
    return _fitting(last, board, arena)


def block_of(prepared: Prepared, block: int) -> Prepared:
    """Return the trial with one block trained and its network in the same memory; slots and plan are not updated."""
    spec = replace(prepared.spec, variant=f"block{block}")
    return replace(
        prepared,
        spec=spec,
        method=method_of(spec, prepared.board, prepared.image.arena_size, bool(prepared.image.cargo)),
    )


def fit(spec: TrialSpec, method: Method, arena: int) -> tuple[int, Plan]:
    """Return the slots and the plan: of the whole batch, or of as many samples as fit.

    Raises:
        RigError: slots in a scope that needs the whole batch.
        Blocked: it does not fit.
    """
    batch = method.settings.batch
    most = batch if spec.slots is None else spec.slots
    if most < batch and not method.request.streams():
        raise RigError(
            f"{most} slots in exponent scope 'batch': all {batch} samples must be on the board, leave slots out."
        )
    planned = method.plan.memory(most)
    if planned.total > arena and spec.slots is None and method.request.streams():
        low, high = 0, most  # low fits (or nothing does), high does not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if method.plan.memory(middle).total <= arena else (low, middle)
        most, planned = (low, method.plan.memory(low)) if low else (1, method.plan.memory(1))
    if planned.total > arena:
        raise Blocked(
            "plan",
            f"{spec.network_name} by {spec.variant} at batch {spec.batch} needs {planned.total:,} bytes, "
            f"{spec.board} has an arena of {arena:,}: "
            f"choose {method.smaller}.",
        )
    return most, planned


def input_of(network: Graph) -> NetworkInput:
    """Return what own data are made for: the shape of the network's input, and the number that a byte stands for."""
    if network.layers[0].format is Format.BFP8:  # takes p >> 1 (docs/arithmetic.md)
        return NetworkInput(network.in_shape, network.scale / 2, 0)
    return NetworkInput(network.in_shape, network.scale, 128 + network.zero)


def _check_shape(spec: TrialSpec, network: Graph, data: DataSet) -> None:
    height, width, channels = network.in_shape
    if data.train_images.shape[1:] not in ((height, width), (height, width, channels)):
        found = "x".join(map(str, data.train_images.shape[1:]))
        raise RigError(
            f"the images of {data.name} are {found}, {spec.network_name} takes {height}x{width}x{channels}: "
            "choose another data set or network."
        )
    classes, largest = network.classes, max(int(data.train_labels.max()), int(data.test_labels.max()))
    if largest >= classes:
        raise RigError(
            f"{data.name} has the label {largest}, {spec.network_name} has {classes} classes: number the classes "
            f"0..{classes - 1}, or choose another network."
        )


def _file(spec: TrialSpec, plan: MethodPlan) -> bytes:
    """Return the network file; raise RigError if the agent would refuse it."""
    blob = plan.file()
    try:
        decode(blob, spec.network_name)
    except RigError as error:
        source = "" if spec.checkpoint is None else f" with the weights of {spec.checkpoint}"
        raise RigError(f"{spec.network_name}{source} cannot be trained: {error}") from error
    return blob


def _check_counts(spec: TrialSpec, data: DataSet) -> None:
    """Raise RigError if the data set has fewer images than the trial needs."""
    there = len(data.test_images)
    if spec.evaluate > there:
        raise RigError(
            f"TrialSpec: evaluate is {spec.evaluate:,}, {data.name} has {there:,} test images: choose 0..{there:,}."
        )
    if spec.batch > len(data.train_images):
        raise RigError(
            f"TrialSpec: batch is {spec.batch:,}, {data.name} has {len(data.train_images):,} training images: "
            "choose fewer."
        )
    most = len(data.train_images) - spec.batch
    if spec.variant == SELECTED and spec.selection.held_out > most:
        raise RigError(
            f"Selection: held_out is {spec.selection.held_out:,}, which leaves no batch of {spec.batch} among "
            f"{len(data.train_images):,} training images of "
            f"{data.name}: choose at most {most:,}."
        )


@noticed
def does_not_fit(spec: TrialSpec, image: Image | None = None) -> str | None:
    """Return why a trial's memory plan does not fit the board; None if it fits. No data set is read.

    Args:
        spec: the trial.
        image: the board's firmware; None: the prebuilt one.

    Raises:
        RigError: network, method or settings are wrong.
    """
    board = boards.load(spec.board)
    try:
        _fitting(spec, board, (image or image_of(spec.board)).arena_size)
    except Blocked as blocked:
        if blocked.stage == "plan":
            return blocked.reason
        raise
    return None
