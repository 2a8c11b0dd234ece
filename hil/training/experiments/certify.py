"""Certify parts of an experiment on the board, bit for bit: its first steps, and steps from random checkpoints.

The board starts from the weights of the experiment, trains in lock-step with a fresh reference, and must end with the
digests that the experiment recorded. So record, reference and board are compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hil.errors import RigError
from hil.step_digest import step_digest
from hil.training.data import load
from hil.training.experiments.choice import resolved
from hil.training.experiments.curve import checkpoint_path, read_checkpoint
from hil.training.experiments.kinds import Run
from hil.training.trial import TrialSpec
from hil.training.trial.outcome import Outcome

DRAW = 20  # first word of the seed that draws the spot checks; the second one is the row

RunTrial = Callable[[TrialSpec, Path], Outcome]


@dataclass(frozen=True)
class Segment:
    """Steps of a run that the board repeats, all within one epoch."""

    run: Run
    epoch: int  # epochs before the segment
    steps: int

    @property
    def name(self) -> str:
        """Name of the segment's folder."""
        return f"{self.run.name}-epoch{self.epoch:03d}"


@dataclass(frozen=True)
class Certificate:
    """The result of a segment; `reason` is one sentence if it did not pass."""

    run: str
    data: str
    column: str
    variant: str
    seed: int
    epoch: int
    first_step: int
    steps: int  # compared on the board
    board: str
    reality: str | None
    verdict: str  # `pass`, `fail` or `blocked`
    reason: str
    digest: int | None = None  # of the experiment's weights after the last step; None in old certificates

    def repeats(self, segment: Segment, board: str, runs: Path) -> bool:
        """Return whether this certificate is a pass of the same segment, with the same weights, on the same board."""
        wanted = (segment.run.name, segment.epoch, segment.steps, board, "pass")
        if (self.run, self.epoch, self.steps, self.board, self.verdict) != wanted:
            return False
        return self.digest == step_digest(_noted(segment, runs))


def segments(runs: Sequence[Run], folder: Path) -> Iterator[Segment]:
    """Yield two segments of every row of a column: the beginning of its first seed, and one of a random seed and epoch.

    A method with a state beside its weights has the first one only.

    `folder` holds the folders of the runs, which are completely trained.
    """
    rows: dict[tuple[str, str, str, str], list[Run]] = {}
    for run in runs:
        rows.setdefault((run.data, run.column, run.variant, run.tag), []).append(run)
    for number, seeds in enumerate(rows.values()):
        first = resolved(seeds[0], folder)
        steps = min(first.longest_segment(), first.per_epoch(len(load(first.data).train_images)))
        yield Segment(seeds[0], 0, steps)
        if seeds[0].epochs > 1 and not seeds[0].has_state:  # a board begins with weights only
            rng = np.random.Generator(np.random.PCG64([DRAW, number]))
            yield Segment(seeds[int(rng.integers(len(seeds)))], int(rng.integers(1, seeds[0].epochs)), steps)


def trial_of(segment: Segment, board: str, runs: Path) -> TrialSpec:
    """Return the trial that repeats a segment, from a checkpoint, or for the first steps from the network.

    `runs` holds the folders of the runs.

    Raises:
        RigError: a checkpoint is missing.
    """
    run = resolved(segment.run, runs)
    path = checkpoint_path(runs / run.name, segment.epoch)
    return replace(
        run.trial(board),
        steps=segment.steps,
        schedule=run.schedule(run.per_epoch(len(load(run.data).train_images)) * run.epochs),
        first_step=read_checkpoint(path).step,
        checkpoint=path if segment.epoch or run.start else None,
    )


@dataclass(frozen=True)
class Repeated:
    """What a board made of a segment."""

    reality: str | None
    verdict: str
    reason: str
    steps: int  # compared
    final_digests: tuple[int, ...]

    @classmethod
    def of(cls, outcome: Outcome) -> Repeated:
        """Return what a certificate needs of a trial."""
        return cls(outcome.reality, outcome.verdict, outcome.reason, len(outcome.steps), outcome.final_digests)


def certify(segment: Segment, board: str, runs: Path, folder: Path, run_trial: RunTrial) -> Certificate:
    """Repeat a segment on a board; arguments as for `trial_of`, and a folder for the logs of the trial.

    Raises:
        RigError: a checkpoint is missing, or the request is wrong.
    """
    spec = trial_of(segment, board, runs)
    folder.mkdir(parents=True, exist_ok=True)
    return certificate_of(segment, spec, runs, Repeated.of(run_trial(spec, folder)))


def one_by_one(
    segments: Sequence[Segment], board: str, runs: Path, logs: Path, run_trial: RunTrial
) -> Iterator[tuple[Segment, Certificate]]:
    """Yield the certificate of each segment; the logs of each trial are in a folder below `logs`.

    Raises:
        RigError: as `certify`.
    """
    for segment in segments:
        yield segment, certify(segment, board, runs, logs / segment.name, run_trial)


def certificate_of(segment: Segment, spec: TrialSpec, runs: Path, repeated: Repeated) -> Certificate:
    """Compare what a board made of the trial of a segment with what the experiment recorded.

    Raises:
        RigError: a checkpoint is missing.
    """
    run, noted = segment.run, _noted(segment, runs)
    verdict, reason, done = repeated.verdict, repeated.reason, repeated.steps
    if verdict == "pass" and (done != segment.steps or repeated.final_digests != noted):
        last = spec.first_step + segment.steps - 1
        verdict = "fail"
        reason = f"board and reference agree, but their weights after step {last} differ from those of the experiment."
    identity = (run.name, run.data, run.column, run.variant, run.seed)
    place = segment.epoch, spec.first_step, done, spec.board
    return Certificate(*identity, *place, repeated.reality, verdict, reason, step_digest(noted))


def _noted(segment: Segment, runs: Path) -> tuple[int, ...]:
    """Return the digests of the experiment after the last step of a segment."""
    path = checkpoint_path(runs / segment.run.name, segment.epoch + 1)
    digests = read_checkpoint(path).digests
    if len(digests) < segment.steps:
        found = f"{len(digests)} steps of the {segment.steps} to be repeated"
        raise RigError(f"{path} contains {found}: train the run again.")
    return tuple(map(int, digests[segment.steps - 1]))
