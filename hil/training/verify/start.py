"""What a trial began with, made again from its record: method with settings, network, data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hil.bounded_read import read_file
from hil.errors import Blocked, RigError
from hil.record import TrialRecord
from hil.record.checks.recorded import RecordedTrial
from hil.record.clients import NotAtHand
from hil.record.trial_writer import NETWORK
from hil.training.data import DataSet, load
from hil.training.graph.file import decode
from hil.training.graph.graph import Graph
from hil.training.methods import Method, find_method
from hil.training.networks import build, is_known
from hil.training.networks.files import LARGEST, read_network
from hil.training.trial.fitting import BLOCKS, SELECTED
from hil.training.trial.prepare import input_of

CURE = "verify the record where it was made"


@dataclass(frozen=True)
class TrialStart:
    """A trial before its first step.

    Attributes:
        method: with its network and its settings before the first change of the schedule.
        data: the same content as the trial had.
        schedule: changes of settings, each with its first step.
    """

    method: Method
    data: DataSet
    schedule: tuple[tuple[int, Mapping[str, Any]], ...]

    def settings_at(self, step: int) -> Any:
        """Return the settings of a step."""
        settings = self.method.settings
        for first, changes in self.schedule:
            if first <= step:
                settings = settings.changed(**changes)
        return settings


def start_of(trial: RecordedTrial, networks: Path | None = None) -> TrialStart:
    """Return what a trial began with.

    Args:
        trial: as recorded.
        networks: folder of network files named by their SHA-256, as in a pack; None without one.

    Raises:
        NotAtHand: network or data are not here, or have other content.
    """
    record = trial.record
    method = method_of(record, _network(trial, networks))
    data = _data(record, method.network)
    changes = tuple(
        (int(change["step"]), {k: v for k, v in change.items() if k != "step"}) for change in record.schedule
    )
    return TrialStart(method, data, changes)


def method_of(record: TrialRecord, network: Graph) -> Method:
    """Return the method of a trial on its network, with exactly the settings of the record.

    Raises:
        NotAtHand: this version knows no such method, variant or setting, or makes another network file.
    """
    variant = f"block{BLOCKS[0]}" if record.variant == SELECTED else record.variant
    try:
        method = find_method(record.method).on(network, variant, batch=record.batch, seed=record.seed)
        known = {field.name for field in fields(method.settings)}
        if set(record.settings) != known:
            names = ", ".join(sorted(set(record.settings) ^ known))
            raise NotAtHand(f"this version has other settings of {record.method} ({names})")
        method = replace(method, settings=replace(method.settings, **record.settings))
    except Blocked as blocked:
        raise NotAtHand(f"this version does not train it: {blocked.reason}") from blocked
    except RigError as error:
        raise error if isinstance(error, NotAtHand) else NotAtHand(str(error)) from error
    found = hashlib.sha256(method.plan.file()).hexdigest()
    if found != record.network_sha256:
        raise NotAtHand(
            f"its network file is not here: {record.network} of seed {record.seed} has SHA-256 {found[:16]}..., the "
            f"record {(record.network_sha256 or 'none')[:16]}..."
        )
    return method


def _network(trial: RecordedTrial, networks: Path | None) -> Graph:
    """Return the network: from the pack or the folder of the trial, else by its name, else from the working folder."""
    record, sha = trial.record, trial.record.network_sha256
    packed = networks / f"{sha}.hnet" if networks is not None else None
    kept = trial.path(NETWORK)
    for path in (packed, kept):
        if path is not None and path.is_file():
            blob = read_file(path, LARGEST, CURE)
            if hashlib.sha256(blob).hexdigest() != sha:
                raise NotAtHand(f"{path.name} is not the network file of the record (SHA-256 {str(sha)[:16]}...)")
            return _decoded(blob, record.network)
    if record.network_file is None:
        if not is_known(record.network):
            raise NotAtHand(f"this version has no network {record.network!r}")
        return build(record.network, record.seed)
    own = record.network_file["file"]
    try:
        found = read_network(own)
    except RigError as error:
        raise NotAtHand(f"its network {own} is not in this folder") from error
    if found.file.sha256 != record.network_file["sha256"]:
        raise NotAtHand(f"{own} in this folder is another file (its SHA-256 is {found.file.sha256[:16]}...)")
    return found.graph


def _decoded(blob: bytes, name: str) -> Graph:
    try:
        return decode(blob, name)
    except RigError as error:
        raise NotAtHand(f"its network file cannot be read: {error}") from error


def _data(record: TrialRecord, network: Graph) -> DataSet:
    try:
        data = load(record.data, input_of(network))
    except RigError as error:
        raise NotAtHand(f"its data {record.data} are not here: {str(error).rstrip('.')}") from error
    if data.sha256 != record.data_sha256:
        raise NotAtHand(
            f"its data {record.data} are others here (SHA-256 {data.sha256[:16]}..., in the record "
            f"{(record.data_sha256 or 'none')[:16]}...)"
        )
    return data
