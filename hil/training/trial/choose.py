"""Choose the method and the network that a trial names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hil.boards import Board
from hil.bounded_npz import read_npz
from hil.errors import Blocked, RigError, close_matches, shown
from hil.training.graph.file import file_size
from hil.training.methods import METHODS, Method, find_method
from hil.training.methods.default_rates import default_settings
from hil.training.methods.plan import MethodPlan
from hil.training.methods.request import MethodRequest
from hil.training.networks import KNOWN, build, find_network, is_known
from hil.training.trial.spec import TrialSpec

# of the network file: whether in flash, in order of preference
PLACES = {"auto": (False, True), "ram": (False,), "flash": (True,)}


def method_of(spec: TrialSpec, board: Board, arena: int, in_flash: bool | None = None) -> Method:
    """Return the method of a trial in the form that fits a board with an arena of so many bytes.

    `in_flash` says whether the network lies in flash, if that has been decided.

    Raises:
        RigError: an unknown name, a setting out of range, a checkpoint of another network.
        Blocked: the variant cannot train this network, or the board has no such flash for the network.
    """
    method = method_on_network(spec)
    if spec.checkpoint is not None:
        method = method.given(_checkpoint(Path(spec.checkpoint), method.plan))
    check_weights(method.request, method.settings)
    if not method.in_flash_too:
        return method
    room = board.room_for_data
    fits_flash = room is not None and file_size(method.network) <= room.size
    places = PLACES[spec.network_in] if in_flash is None else (in_flash,)
    if not fits_flash and places == (True,):
        size = f"{file_size(method.network):,} bytes of {spec.network_name}"
        raise Blocked("plan", f"{spec.board} has no flash for the {size}: keep it in RAM.")
    return method.resident(arena, places if fits_flash else (False,))


def check_weights(request: MethodRequest, settings: Any) -> None:
    """Raise RigError if the first weights cannot be trained with settings of the trial."""
    fault = request.fault_of_weights(settings)
    if fault:
        raise RigError(fault)


def method_on_network(spec: TrialSpec) -> Method:
    """Return the method of a trial on its network, for any board.

    Raises:
        RigError: an unknown name, a setting out of range, or one without effect in this combination.
        Blocked: the variant trains nothing of this network, or more than it supports.
    """
    kind = find_method(spec.method)
    _check_network(spec, kind)
    if not kind.in_flash_too and spec.network_in != "auto":
        raise RigError(
            f"network_in is {spec.network_in!r} with {spec.method}, whose networks lie in RAM: leave it out."
        )
    if spec.network_in not in PLACES:
        raise RigError(f"the network cannot lie in {spec.network_in!r}: {close_matches(spec.network_in, PLACES)}")
    for name in ("batch", "seed", "method"):  # two places for one number would disagree
        if name in spec.settings:
            raise RigError(
                f"TrialSpec: settings has {name!r}: it is a field of the trial itself, write "
                f"{name}={shown(spec.settings[name])} there."
            )
    network = build(spec.network, spec.seed)
    open_ones = default_settings(kind, spec.variant, network, spec.settings)
    method = kind.on(network, spec.variant, **{"batch": spec.batch, "seed": spec.seed, **open_ones, **spec.settings})
    method.settings.check_effects(spec.settings, method.facts, kind.variants.get(spec.variant, ()))
    return method


def _check_network(spec: TrialSpec, kind: type[Method]) -> None:
    """Raise RigError if the method cannot train the network."""
    formats = find_network(spec.network).formats if is_known(spec.network) else None
    if formats is not None and kind.trains(formats):
        return
    mine = [name for name, one in KNOWN.items() if kind.trains(one.formats)]  # loads every network: for a message only
    if formats is None:
        known = close_matches(spec.network, mine)
    else:
        theirs = sorted(name for name, one in METHODS.items() if one.trains(formats))
        known = f"it is one of {', '.join(theirs)}; {spec.method} trains {', '.join(mine)}."
    raise RigError(f"the method {spec.method} trains no network {spec.network_name!r}: {known}")


def _checkpoint(path: Path, plan: MethodPlan) -> list[np.ndarray]:
    """Read a checkpoint; every array must have the type and the shape of the tensor that it replaces."""
    cure = "give an .npz with the arrays w0, w1, ... of the trained tensors"
    try:
        arrays = read_npz(path, cure)
    except RigError as error:
        raise RigError(f"the checkpoint {error}") from error
    found = []
    for index, (name, own) in enumerate(plan.arrays):
        if f"w{index}" not in arrays:
            raise RigError(f"the checkpoint {path} contains no array w{index}: {cure}.")
        array = arrays[f"w{index}"]
        if (array.dtype, array.shape) != (own.dtype, own.shape):
            other = "network or variant" if plan.chosen else "network"
            raise RigError(
                f"the checkpoint {path} has {array.dtype}{list(array.shape)} for {name}: it belongs to another {other}."
            )
        found.append(array)
    return found
