"""What clients of the bench know of the trials that they recorded, such as their networks and methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hil.clients import RECORDS, registered
from hil.errors import RigError
from hil.record.checks import OfTrial
from hil.record.checks.recorded import RecordedTrial
from hil.record.contradiction import Contradiction
from hil.record.trial_record import TrialRecord


class NotAtHand(RigError):
    """Something that a trial began with is not on this computer, or another one here; the message says what."""


@dataclass(frozen=True)
class Recomputed:
    """What the reference made of a trial.

    Attributes:
        trial: its folder.
        steps: how many compared steps were computed again.
        of: how many the record has.
        why: why others, or none, were computed; empty if all were.
        found: what differs from the record.
    """

    trial: str
    steps: int
    of: int
    why: str = ""
    found: tuple[Contradiction, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether every compared step was computed again and is as recorded."""
        return not self.why and not self.found and self.steps == self.of


class Client(Protocol):
    """A client of the bench, with what it knows of its trials (entry points of the group `trainrig.records`)."""

    def formats(self, record: TrialRecord) -> str:
        """Return the number formats of the network of a trial, for tables; empty if it is not known."""

    def checks(self) -> Sequence[OfTrial]:
        """Return the checks of a trial that `hil verify` makes besides those of every record."""

    def network(self, record: TrialRecord) -> bytes:
        """Return the network file of a trial, for a pack. Raises NotAtHand if it cannot be made here."""

    def recomputed(self, trial: RecordedTrial, networks: Path | None) -> Recomputed:
        """Compute the compared steps of a trial again; `networks` is the folder of the networks of a pack."""


def clients() -> Iterator[Client]:
    """Yield the clients that are installed and can be loaded."""
    for each in registered(RECORDS):
        if each.error is None:
            yield each.value


def client() -> Client:
    """Return the client that computes trials again and makes their networks. Raises NotAtHand without one."""
    for each in clients():
        return each
    raise NotAtHand("the part of trainrig that trains is not installed")
