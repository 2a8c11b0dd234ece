"""The outcome of a trial and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from hil.energy.capture import Capture
from hil.errors import Blocked
from hil.gates import FAIL, Budgets, Earlier, Judgement
from hil.link.wire import Counters
from hil.training.methods import find_method
from hil.training.trial.gating import judged
from hil.training.trial.lockstep_outcome import AccuracyPoint, LockStepOutcome, StepRow, TriedBlock
from hil.training.trial.second_sources.figures import Figures
from hil.training.trial.spec import TrialSpec

if TYPE_CHECKING:
    from hil.images.executed import Executed
    from hil.record.trial_record import TrialVerdict
    from hil.training.trial.prepare import Prepared

CHANCE_MARGIN = 0.15  # least gain of accuracy of a trial that must learn
LEARNING_STEPS = 150  # with fewer steps no gain of accuracy is required
T = TypeVar("T")


@dataclass(frozen=True)
class Flashed:
    """How the image was programmed: route, whether the flash was written, and how often it has been, if known."""

    route: str
    programmed: bool
    cycles: int | None


@dataclass(frozen=True)
class End:
    """How a trial ended: its verdict, one sentence if it did not pass, and the stage at which it was blocked."""

    verdict: TrialVerdict
    reason: str = ""
    stage: str = ""


NOT_ENDED = End("interrupted", "the run ended before this trial did.")  # also on disk while the trial runs


class _Found(Generic[T]):
    """A name of the outcome for something in `compared`; `before` is what it reads before a board was greeted."""

    def __init__(self, read: Callable[[LockStepOutcome], T], before: T) -> None:
        self._read, self._before = read, before

    def __get__(self, outcome: Outcome, owner: type[Outcome]) -> T:
        return self._before if outcome.compared is None else self._read(outcome.compared)


@dataclass(slots=True)  # so that none of the names below can be set
class Outcome:
    """Everything a trial found so far; `judge` gives it a verdict.

    A test reads `verdict`, `reason`, `stage`, and by the names below what board and reference showed beside each other
    (`LockStepOutcome`). Before that, these names read as None or empty.

    Attributes:
        spec: what was asked for.
        budgets: of rig.toml.
        earlier: gives the figures of earlier nights, for relative budgets; None without a history.
        began: time in UTC.
        planned: the trial as it was prepared; None if that was refused.
        reality: what gave the board; None if none was reached.
        place: labgrid place of the board, or its `id` in rig.toml; empty without either.
        flash: None if the image was not programmed.
        link: what the link counted; None if the agent was not greeted.
        compared: board and reference beside each other; None if the board was not brought up.
        executed: the code that the board has executed since it was flashed; None if the board cannot say it.
        figures: the reported figures and their second sources.
        notes: what the reader of the figures has to know.
        judgements: every budget of the trial, after `judge`.
        wall_s: time of the trial on the host in seconds.
        end: `NOT_ENDED` while the trial runs.
    """

    spec: TrialSpec
    budgets: Budgets = field(default_factory=dict)
    earlier: Earlier | None = None
    began: str = ""
    planned: Prepared | None = None
    reality: str | None = None
    place: str = ""
    flash: Flashed | None = None
    link: Counters | None = None
    compared: LockStepOutcome | None = None
    executed: Executed | None = None
    figures: Figures = field(default_factory=Figures)
    notes: list[str] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    wall_s: float = 0.0
    end: End = NOT_ENDED

    clock_hz = _Found(lambda found: found.clock_hz, None)
    steps = _Found[Sequence[StepRow]](lambda found: found.steps, ())
    difference = _Found(lambda found: found.difference, None)
    final_digests = _Found[tuple[int, ...]](lambda found: found.final_digests, ())
    accuracy_before = _Found(lambda found: found.before.board if found.before else None, None)
    accuracy_after = _Found(lambda found: found.after.board if found.after else None, None)
    reference_after = _Found(lambda found: found.after.reference if found.after else None, None)
    evaluated = _Found(lambda found: found.evaluated, 0)
    evaluations = _Found[Sequence[AccuracyPoint]](lambda found: found.evaluations, ())
    selection = _Found[Sequence[TriedBlock]](lambda found: found.selection, ())
    work = _Found(lambda found: found.work, None)
    profile = _Found(lambda found: found.profile, None)
    trained = _Found(lambda found: found.trained, None)
    autonomous = _Found(lambda found: found.autonomous, 0)
    latency = _Found(lambda found: found.latency, None)
    energy = _Found(lambda found: found.energy, None)
    power = _Found[Sequence[Capture]](lambda found: found.power, ())
    laps_s = _Found[Sequence[float]](lambda found: found.energy.task.laps_s if found.energy else (), ())
    sram = _Found(lambda found: found.sram, None)
    sram_probe = _Found(lambda found: found.sram_probe, None)

    @property
    def prepared(self) -> Prepared | None:
        """The trial with its data; after a selection, with the chosen block."""
        return self.planned if self.compared is None else self.compared.prepared

    @property
    def verdict(self) -> TrialVerdict:
        """`pass`, `fail`, `blocked` or `interrupted`."""
        return self.end.verdict

    @property
    def reason(self) -> str:
        """One sentence or more if the trial did not pass."""
        return self.end.reason

    @property
    def stage(self) -> str:
        """Stage at which the trial was blocked."""
        return self.end.stage

    @property
    def bit_exact(self) -> bool | None:
        """Whether all compared steps agreed; None if none was compared."""
        if self.difference is not None:
            return False
        return True if self.steps else None

    def again(self, note: str) -> Outcome:
        """Return the outcome of a trial that starts again, with a note that says why."""
        return Outcome(
            self.spec, self.budgets, self.earlier, self.began, self.prepared, self.reality, self.place,
            notes=[*self.notes, note],
        )  # fmt: skip

    def block(self, blocked: Blocked) -> None:
        """Set the verdict `blocked`: the rig could not tell."""
        self.end = End("blocked", blocked.reason, blocked.stage)

    def fail(self, reason: str) -> None:
        """Set the verdict `fail`: the device under test is wrong."""
        self.end = End("fail", reason)

    def judge(self) -> None:
        """Set the verdict, unless a fault has set it; a trial passes only if all its steps were compared."""
        if self.end is not NOT_ENDED:
            return
        found, done = self.compared, len(self.steps)
        if found is None or (found.difference is None and not 0 < done == self.spec.steps):
            what = f"{done:,} of {self.spec.steps:,} steps were compared"
            self.block(Blocked("judge", f"{what}: this is a defect of the rig, report it."))
            return
        reasons = [] if found.difference is None else [found.difference.sentence() + "."]
        self.judgements = judged(self)
        reasons += self.figures.wrong.values()
        reasons += [one.sentence for one in self.judgements if one.verdict == FAIL]
        reasons += [] if found.difference is not None else self._not_learnt(found)
        self.end = End("fail", " ".join(reasons)) if reasons else End("pass")

    def _not_learnt(self, found: LockStepOutcome) -> list[str]:
        """Return why a trial that must learn has not; empty if it has, or need not."""
        learns = self.spec.variant in find_method(self.spec.method).learning_variants
        if self.spec.checkpoint is not None or not learns or len(found.steps) < LEARNING_STEPS:
            return []  # a checkpoint may have learnt already
        if found.before is None or found.after is None or found.after.board - found.before.board >= CHANCE_MARGIN:
            return []
        return [
            f"accuracy went from {found.before.board:.1%} to {found.after.board:.1%}, "
            f"less than {CHANCE_MARGIN:.0%} above the untrained network."
        ]
