"""What the training half knows of the trials that it recorded (hil.record.clients)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hil.record import TrialRecord
from hil.record.checks import OfTrial
from hil.record.checks.recorded import RecordedTrial
from hil.record.clients import NotAtHand, Recomputed
from hil.training.networks import KNOWN


class TrainingClient:
    """The client of hil/training; what computes is imported when it is asked for."""

    def formats(self, record: TrialRecord) -> str:
        """Return the number formats of the layers of a named network, in this version; empty if it is not known."""
        network = KNOWN.get(record.network.partition("@")[0]) if record.network_file is None else None
        return ", ".join(one.name.lower() for one in network.formats) if network is not None else ""

    def checks(self) -> Sequence[OfTrial]:
        """Return the checks that know methods and the names of trials."""
        from hil.training.verify.trial_checks import OF_TRIAL

        return OF_TRIAL

    def network(self, record: TrialRecord) -> bytes:
        """Return the network file of a trial of a named network."""
        from hil.training.networks import build, is_known
        from hil.training.verify.start import method_of

        if not is_known(record.network):
            raise NotAtHand("it was given by path, and its record does not hold it")
        return method_of(record, build(record.network, record.seed)).plan.file()

    def recomputed(self, trial: RecordedTrial, networks: Path | None) -> Recomputed:
        """Compute the compared steps of a trial again on the reference."""
        from hil.training.verify.recompute import recomputed

        return recomputed(trial, networks)


CLIENT = TrainingClient()
