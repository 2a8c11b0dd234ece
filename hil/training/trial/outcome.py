"""The outcome of a trial and its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hil.energy.capture import Capture
from hil.energy.step_energy import EnergyResult
from hil.errors import Blocked
from hil.gates import FAIL, Budgets, Earlier, Judgement
from hil.link.replies import Stepped, Work
from hil.link.wire import Counters
from hil.step_digest import step_digest
from hil.training.methods import find_method
from hil.training.trial.difference import Difference, differing_tensors, differing_terms
from hil.training.trial.gating import judged
from hil.training.trial.latency_counts import Latency
from hil.training.trial.second_sources.figures import Figures
from hil.training.trial.spec import TrialSpec
from hil.training.trial.watermarks import RamUse, Watermarks

if TYPE_CHECKING:
    from hil.images.executed import Executed
    from hil.training.reference.methods import StepOutcome
    from hil.training.trial.prepare import Prepared
    from hil.training.trial.sample_gradients import GradientMaps

PHASES = ("perturb", "forward", "backward", "update", "digest", "total")
CHANCE_MARGIN = 0.15  # least gain of accuracy of a trial that must learn
LEARNING_STEPS = 150  # with fewer steps no gain of accuracy is required
NOT_ENDED = "the run ended before this trial did."  # also on disk while the trial runs


@dataclass(frozen=True)
class StepRow:
    """One step: losses of both sides, sign, digest over the board's tensor digests, and the board's cycles by phase.

    `reference_float_plus` and `_minus` are the float losses, even if the method compares integers (INT8*); `right_sign`
    is whether the sign is that of the float losses.
    """

    step: int
    loss_plus: float
    loss_minus: float
    reference_loss_plus: float
    reference_loss_minus: float
    reference_float_plus: float
    reference_float_minus: float
    sign: int
    right_sign: bool
    match: bool
    digest: int
    cycles: dict[str, int]

    @classmethod
    def of(cls, step: int, reply: Stepped, outcome: StepOutcome) -> StepRow:
        """Build the row from the agent's reply and the reference's outcome."""
        same = not differing_tensors(reply.digests, outcome.digests) and not differing_terms(reply, outcome)
        losses = (outcome.loss_plus, outcome.loss_minus, outcome.float_loss_plus, outcome.float_loss_minus)
        plus, minus, float_plus, float_minus = map(float, losses)
        return cls(
            step, reply.loss_plus, reply.loss_minus, plus, minus, float_plus, float_minus, reply.sign,
            outcome.right_sign, same, step_digest(reply.digests), reply.cycles,
        )  # fmt: skip


@dataclass(frozen=True)
class Flashed:
    """How the image was programmed: route, whether the flash was written, and how often it has been, if known."""

    route: str
    programmed: bool
    cycles: int | None


@dataclass(frozen=True)
class Tried:
    """A block that the selection tried: accuracy on held-out samples before and after, or why it was skipped."""

    block: int
    before: float | None = None
    after: float | None = None
    planned: int | None = None
    reason: str = ""

    @property
    def gain(self) -> float:
        """Gain of accuracy; below all others if the block was skipped."""
        return -2.0 if self.before is None or self.after is None else self.after - self.before


@dataclass
class Outcome:
    """Everything a trial found; `judge` turns it into a verdict.

    Attributes:
        evaluations: during training: index of the next step, accuracy of the board and of the reference.
        power: readings of the meter in every energy window.
        sram: use of all RAM; of each watermark the larger one of agent and probe.
        figures: the reported figures and their second sources.
        gradients: None if the reference shows none.
        trained: the network file with the weights after the last compared step, which board and reference agree on, of
            a network that was given by path.
        budgets: of rig.toml.
        earlier: gives the figures of earlier nights, for relative budgets; None without a history.
        judgements: every budget of the trial, after `judge`.
        began: time in UTC.
        place: labgrid place of the board, or its `id` in rig.toml; empty without either.
        executed: the code that the board has executed since it was flashed; None if the board cannot say it.
    """

    spec: TrialSpec
    prepared: Prepared | None = None
    reality: str | None = None
    flash: Flashed | None = None
    clock_hz: int | None = None
    steps: list[StepRow] = field(default_factory=list)
    difference: Difference | None = None
    final_digests: tuple[int, ...] = ()
    work: Work | None = None
    selection: list[Tried] = field(default_factory=list)
    profile: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    energy: EnergyResult | None = None
    power: list[Capture] = field(default_factory=list)
    laps_s: list[float] = field(default_factory=list)
    latency: Latency | None = None
    autonomous: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None
    reference_after: float | None = None
    evaluated: int = 0
    evaluations: list[tuple[int, float, float]] = field(default_factory=list)
    sram: RamUse | None = None
    sram_probe: Watermarks | None = None
    probe_checks: int = 0
    probe_agreed: int = 0
    link: Counters | None = None
    wall_s: float = 0.0
    verdict: str = "interrupted"
    reason: str = NOT_ENDED
    stage: str = ""
    notes: list[str] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)
    gradients: GradientMaps | None = None
    trained: bytes | None = None
    budgets: Budgets = field(default_factory=dict)
    earlier: Earlier | None = None
    judgements: list[Judgement] = field(default_factory=list)
    began: str = ""
    place: str = ""
    executed: Executed | None = None
    _ended: bool = False

    def begin(self, prepared: Prepared) -> None:
        """Store the prepared trial."""
        self.prepared = prepared

    def again(self, note: str) -> Outcome:
        """Return the outcome of a trial that starts again, with a note that says why."""
        return Outcome(
            self.spec,
            self.prepared,
            self.reality,
            notes=[*self.notes, note],
            budgets=self.budgets,
            earlier=self.earlier,
            began=self.began,
            place=self.place,
        )

    def block(self, blocked: Blocked) -> None:
        """Set the verdict `blocked`: the rig could not tell."""
        self._end("blocked", blocked.reason)
        self.stage = blocked.stage

    def interrupt(self, reason: str) -> None:
        """Set the verdict `interrupted`: the trial was stopped before its end."""
        self._end("interrupted", reason)

    def fail(self, reason: str) -> None:
        """Set the verdict `fail`: the device under test is wrong."""
        self._end("fail", reason)

    def _end(self, verdict: str, reason: str) -> None:
        self.verdict, self.reason, self._ended = verdict, reason, True

    @property
    def bit_exact(self) -> bool | None:
        """Whether all compared steps agreed; None if none was compared."""
        if self.difference is not None:
            return False
        return True if self.steps else None

    def judge(self) -> None:
        """Set the verdict, unless a fault has set it; a trial passes only if all its steps were compared."""
        if self._ended:
            return
        if self.difference is None and not 0 < len(self.steps) == self.spec.steps:
            self.block(
                Blocked(
                    "judge",
                    f"{len(self.steps):,} of {self.spec.steps:,} steps were compared: this is a defect of the rig, "
                    "report it.",
                )
            )
            return
        reasons = [] if self.difference is None else [self.difference.sentence() + "."]
        self.judgements = judged(self)
        reasons += self.figures.wrong.values()
        reasons += [one.sentence for one in self.judgements if one.verdict == FAIL]
        gain = (self.accuracy_after or 0.0) - (self.accuracy_before or 0.0)
        if self.difference is None and self._accuracy_must_rise() and gain < CHANCE_MARGIN:
            reasons.append(
                f"accuracy went from {self.accuracy_before:.1%} to {self.accuracy_after:.1%}, "
                f"less than {CHANCE_MARGIN:.0%} above the untrained network."
            )
        self.verdict, self.reason = ("fail", " ".join(reasons)) if reasons else ("pass", "")

    def _accuracy_must_rise(self) -> bool:
        return (
            self.accuracy_after is not None
            and self.spec.checkpoint is None  # a checkpoint may have learnt already
            and self.spec.variant in find_method(self.spec.method).learning_variants
            and len(self.steps) >= LEARNING_STEPS
        )
