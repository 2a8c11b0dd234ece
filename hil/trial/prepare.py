"""Everything that can be known of a trial before a board is touched: look it up, plan it, refuse what cannot be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil import boards
from hil.boards import Board, Image
from hil.data import DataSet
from hil.data import load as load_data
from hil.errors import Blocked, RigError
from hil.network import build
from hil.network.blob import encode
from hil.network.graph import Network
from hil.network.plan import Plan, plan
from hil.network.settings import Settings
from hil.reference.methods import method
from hil.trial.spec import TrialSpec


@dataclass
class Prepared:
    """All that is known of a trial before any board is touched.

    Attributes:
        spec: the trial.
        board, image: catalogue entry and firmware.
        network, blob: the graph with its first weights, and its file, the same bytes for board and reference.
        data: the data set.
        settings: those before the first change of the schedule.
        plan: the board's memory, of `slots` samples held at a time.
    """

    spec: TrialSpec
    board: Board
    image: Image
    network: Network
    blob: bytes
    data: DataSet
    settings: Settings
    plan: Plan
    slots: int

    @property
    def network_sha256(self) -> str:
        """SHA-256 of the network file that both sides start from."""
        return hashlib.sha256(self.blob).hexdigest()

    def settings_at(self, step: int) -> Settings:
        """Return the settings that hold for a step of the schedule."""
        settings = self.settings
        for first, changes in self.spec.schedule:
            if first <= step:
                settings = settings.changed(**changes)
        return settings


def prepare(spec: TrialSpec, elf: Path | None = None) -> Prepared:
    """Look everything up and check that it fits.

    Raises:
        RigError: an unknown name, a setting out of range, missing data.
        Blocked: the plan does not fit the board's arena; nothing has been flashed.
    """
    board = boards.load(spec.board)
    image = boards.image_of(spec.board, elf)
    network = build(spec.network, spec.seed)
    if spec.checkpoint is not None:
        network = network.with_weights(_checkpoint(spec.checkpoint, network))
    method(spec.method)
    settings = Settings.of_variant(
        spec.variant, tensors=len(network.trained), batch=spec.batch, seed=spec.seed, **spec.settings
    )
    _check_schedule(spec, settings)
    data = load_data(spec.data)
    _check_shape(spec, network, data)
    slots, planned = _fit(spec, network, settings, image.arena_size)
    return Prepared(spec, board, image, network, encode(network), data, settings, planned, slots)


def _fit(spec: TrialSpec, network: Network, settings: Settings, arena: int) -> tuple[int, Plan]:
    """Return the slots and the plan: the whole batch where it fits, else as many samples as do."""
    most = settings.batch if spec.slots is None else spec.slots
    if not 1 <= most <= settings.batch:
        raise RigError(f"{most} slots for a batch of {settings.batch}: choose 1..{settings.batch}, or leave slots out.")
    if most < settings.batch and settings.scope == "batch":
        raise RigError(
            f"{most} slots in exponent scope 'batch': all {settings.batch} samples must be on the board, leave slots out."
        )
    planned = plan(network, settings, most)
    if planned.total > arena and spec.slots is None and settings.scope == "sample":
        low, high = 0, most  # low fits (or nothing does), high does not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if plan(network, settings, middle).total <= arena else (low, middle)
        most, planned = (low, plan(network, settings, low)) if low else (1, plan(network, settings, 1))
    if planned.total > arena:
        raise Blocked(
            "plan",
            f"{spec.network} by {spec.variant} at batch {spec.batch} needs {planned.total:,} bytes, {spec.board} has an arena of {arena:,}: "
            "choose a smaller batch or a variant that trains less by back-propagation.",
        )
    return most, planned


def _check_schedule(spec: TrialSpec, settings: Settings) -> None:
    """Try every change, so that a mistake in the last is known before the first step."""
    before = -1
    for first, changes in spec.schedule:
        if first <= before:
            raise RigError(f"the schedule names step {first} behind step {before}: put its changes in order of steps.")
        before, settings = first, settings.changed(**changes)


def _check_shape(spec: TrialSpec, network: Network, data: DataSet) -> None:
    height, width, channels = network.in_shape
    if data.train_images.shape[1:] not in ((height, width), (height, width, channels)):
        found = "x".join(map(str, data.train_images.shape[1:]))
        raise RigError(
            f"the images of {data.name} are {found}, {spec.network} takes {height}x{width}x{channels}: "
            "choose another data set or network."
        )


def _checkpoint(path: Path, network: Network) -> list[np.ndarray]:
    """Read a checkpoint; every tensor must have the shape that the network has."""
    try:
        with np.load(path) as arrays:
            weights = [arrays[f"w{index}"] for index in range(len(network.trained))]
    except (OSError, KeyError, ValueError) as error:
        raise RigError(
            f"the checkpoint {path} cannot be read ({error}): give an .npz with the int8 arrays w0, w1, ... of the trained tensors."
        ) from error
    for layer, array in zip(network.trained, weights, strict=True):
        if layer.weights is None or array.dtype != np.int8 or array.shape != layer.weights.shape:
            raise RigError(
                f"the checkpoint {path} holds {array.dtype}{list(array.shape)} for {layer.name}: it is of another network."
            )
    return weights


def does_not_fit(spec: TrialSpec) -> str | None:
    """Return why a trial's memory plan does not fit the board, None where it does.

    Raises:
        RigError: the trial is wrong in another way.
    """
    try:
        prepare(spec)
    except Blocked as blocked:
        if blocked.stage == "plan":
            return blocked.reason
        raise
    return None
