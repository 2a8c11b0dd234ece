"""What board and reference showed beside each other in a trial, from the greeting of the agent on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hil.step_digest import step_digest
from hil.training.trial.difference import BoardDifference, differing_tensors, differing_terms
from hil.training.trial.second_sources.figures import Figures

if TYPE_CHECKING:
    from hil.energy.capture import Capture
    from hil.energy.step_energy import EnergyResult
    from hil.link.replies import CountedWork, Stepped
    from hil.training.reference.methods import StepOutcome
    from hil.training.trial.latency_counts import CountedLatency
    from hil.training.trial.prepare import Prepared
    from hil.training.trial.sample_gradients import GradientMaps
    from hil.training.trial.second_sources.checks import Profile
    from hil.training.trial.watermarks import RamUse, Watermarks

PHASES = ("perturb", "forward", "backward", "update", "digest", "total")


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


class AccuracyPoint(NamedTuple):
    """Accuracy on the test images before a step, of the board and of the reference."""

    step: int
    board: float
    reference: float


@dataclass(frozen=True)
class TriedBlock:
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
class LockStepOutcome:
    """What was found so far on a board that was greeted. It ends at the first difference.

    Attributes:
        prepared: the trial; after a selection, with the chosen block.
        reality: of the board, such as `virtual`.
        clock_hz: of its core, as the agent reports it and the catalogue has it.
        figures: the reported figures and their second sources.
        notes: what the reader of the figures has to know.
        selection: the blocks that were tried.
        steps: that were compared.
        final_digests: of the trained tensors after the last step or run.
        before, evaluations, after: accuracies before, during and after the compared steps.
        work, profile: of the first step; None if the method counts its work itself, or no cycles by layer are usable.
        gradients: None if the reference shows none.
        probed: of every comparison with memory that the probe read, whether both agreed.
        trained: the network file with the weights after the last compared step, of a network that was given by path.
        autonomous: steps that were trained in runs with a silent line.
        power: readings of the meter in every energy window.
        sram: use of all RAM; of each watermark the larger one of agent and probe.
        sram_probe: the watermarks by the probe.
    """

    prepared: Prepared
    reality: str
    clock_hz: int
    figures: Figures = field(default_factory=Figures)
    notes: list[str] = field(default_factory=list)
    selection: list[TriedBlock] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    difference: BoardDifference | None = None
    final_digests: tuple[int, ...] = ()
    before: AccuracyPoint | None = None
    evaluations: list[AccuracyPoint] = field(default_factory=list)
    after: AccuracyPoint | None = None
    work: CountedWork | None = None
    profile: Profile | None = None
    gradients: GradientMaps | None = None
    probed: list[bool] = field(default_factory=list)
    trained: bytes | None = None
    autonomous: int = 0
    latency: CountedLatency | None = None
    energy: EnergyResult | None = None
    power: list[Capture] = field(default_factory=list)
    sram: RamUse | None = None
    sram_probe: Watermarks | None = None

    @property
    def evaluated(self) -> int:
        """Test images of each evaluation; 0 without one."""
        return self.prepared.spec.evaluate if self.before is not None else 0

    def mean_cycles(self) -> dict[str, int]:
        """Return the mean cycles of a step by phase; empty without steps."""
        count = len(self.steps)
        return {phase: round(sum(row.cycles[phase] for row in self.steps) / count) for phase in PHASES if count}
