"""Prepare a trial before any board is used: look up names, plan memory, check the request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from math import prod
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
from hil.training.graph.file import decode, file_size
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Plan, up
from hil.training.methods import Method
from hil.training.methods.plan import MethodPlan
from hil.training.networks.files import NetworkFile, is_path, read_network
from hil.training.trial.choose import check_weights, method_of
from hil.training.trial.fitting import SELECTED, fits_behind, fitting
from hil.training.trial.kept import (
    FLASH,
    RAM,
    KeptSamples,
    address_in_flash,
    most_in_flash,
    most_that_fit,
    sample_bytes,
    too_many,
)
from hil.training.trial.spec import TrialSpec


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
        """SHA-256 of the network file, and of the first values that are not in it."""
        found = hashlib.sha256(self.blob)
        for array in self.method.plan.beside_file():
            found.update(array.tobytes())
        return found.hexdigest()

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
        kept: its training samples, if they stay on the board.
    """

    data: DataSet
    kept: KeptSamples | None = None


def loadable(spec: TrialSpec, elf: Path | None = None, kept: int = 0) -> Loadable:
    """Look up board, network and method, and check that they fit; no data set is read.

    Args:
        spec: the trial.
        elf: the user's own firmware instead of the prebuilt image.
        kept: bytes of arena that samples take which stay there.

    Raises:
        RigError: an unknown name, a setting out of range.
        Blocked: the plan does not fit the board's arena; nothing has been flashed.
    """
    board = boards.load(spec.board)
    image = image_of(spec.board, elf)
    method, slots, plan = fitting(spec, board, image.arena_size, kept)
    settings = method.settings
    for _, changes in spec.schedule:  # so that a mistake is found before the first step
        settings = settings.changed(**changes)
        settings.check_effects(changes, method.facts)
        check_weights(method.request, settings)
    blob = _file(spec, method.plan)
    if method.in_flash and board.room_for_data is not None:
        image = image.carrying(board.room_for_data.start, blob)
    source = read_network(spec.network) if is_path(spec.network) else None
    return Loadable(spec, board, image, method, blob, plan, slots, source)


def prepare(spec: TrialSpec, elf: Path | None = None) -> Prepared:
    """Look up everything and check that it fits the board.

    Raises:
        RigError: an unknown name, a setting out of range, missing data, samples to keep that do not fit.
        Blocked: the plan does not fit the board's arena; nothing has been flashed.
    """
    found = loadable(spec, elf)
    data = load_data(spec.data, input_of(found.method.network))
    _check_shape(spec, found.method.network, data)
    _check_counts(spec, data)
    if spec.keep is None:
        return Prepared(**vars(found), data=data)
    return _keeping(spec, elf, found, data)


def _keeping(spec: TrialSpec, elf: Path | None, found: Loadable, data: DataSet) -> Prepared:
    """Return the trial with its training samples on the board.

    Raises:
        RigError: they do not fit.
    """
    kept = KeptSamples.of(str(spec.keep), data)
    size = len(kept.data)
    network = len(found.blob) if found.method.in_flash else 0
    address = address_in_flash(found.board, network, size) if kept.place == FLASH else 0
    if address is None or not fits_behind(spec, found.board, found.image.arena_size, kept.in_ram):
        most = most_kept(spec, found, size // kept.count, limit=kept.count)
        raise too_many(spec.board, kept.place, data, size, most)
    found = loadable(spec, elf, kept.in_ram)
    if kept.place == FLASH:
        found.image = found.image.carrying(address, kept.data)
    return Prepared(**vars(found), data=data, kept=replace(kept, address=address))


def most_kept(spec: TrialSpec, found: Loadable, each: int, limit: int) -> dict[str, int]:
    """Return how many samples of `each` bytes stay in RAM and in flash beside a trial; in RAM at most `limit`."""
    network = len(found.blob) if found.method.in_flash else 0
    arena = found.image.arena_size
    in_ram = most_that_fit(lambda count: fits_behind(spec, found.board, arena, up(count * each, 8)), limit)
    return {RAM: in_ram, FLASH: most_in_flash(found.board, network, each)}


def block_of(prepared: Prepared, block: int) -> Prepared:
    """Return the trial with one block trained and its network in the same memory; slots and plan are not updated."""
    spec = replace(prepared.spec, variant=f"block{block}")
    return replace(
        prepared,
        spec=spec,
        method=method_of(
            spec, prepared.board, prepared.image.arena_size - prepared.plan.front, prepared.method.in_flash
        ),
    )


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


def room_to_keep(spec: TrialSpec, image: Image) -> dict[str, int]:
    """Return how many training samples RAM and flash of the board may keep beside a trial. No data set is read.

    In RAM it is beside the smallest plan, with the network where a trial without samples to keep has it.

    Raises:
        RigError: network, method or settings are wrong.
        Blocked: the trial does not fit the board.
    """
    board, arena = boards.load(spec.board), image.arena_size
    method, _, _ = fitting(spec, board, arena)
    least = method.plan.memory(1 if method.request.streams() else method.settings.batch).total
    each, network = sample_bytes(prod(method.network.in_shape)), file_size(method.network) if method.in_flash else 0
    return {RAM: max(0, arena - least) // 8 * 8 // each, FLASH: most_in_flash(board, network, each)}


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
        fitting(spec, board, (image or image_of(spec.board)).arena_size)
    except Blocked as blocked:
        if blocked.stage == "plan":
            return blocked.reason
        raise
    return None
