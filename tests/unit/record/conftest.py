"""A recorded run with a passed, a failed and a blocked trial, made from outcomes as a trial leaves them."""

import numpy as np
import pytest

from hil.errors import Blocked
from hil.record import RunWriter
from hil.step_digest import step_digest
from hil.training.trial.difference import BoardDifference
from hil.training.trial.lockstep_outcome import AccuracyPoint, LockStepOutcome, StepRow
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import steps_table, trial_record
from hil.training.trial.watermarks import RamUse, Watermarks
from hil.trial import TrialSpec


def _trained(variant):
    spec = TrialSpec("stm32h7b3", variant, steps=30)
    found = LockStepOutcome(prepare(spec), "virtual", 280_000_000)
    cycles = {"perturb": 1, "forward": 70, "backward": 5, "update": 3, "digest": 1, "total": 80}
    found.final_digests = (1, 2, 3, 4, 5)
    digest = step_digest(found.final_digests)
    for step, plus in enumerate(np.linspace(19, 9, 30)):
        losses = (plus, plus - 0.5) * 3
        found.steps.append(StepRow(step, *losses, 1, True, True, digest, cycles))
    found.before, found.after = AccuracyPoint(0, 0.1, 0.1), AccuracyPoint(30, 0.6, 0.6)
    found.sram = RamUse(Watermarks(18_704, 138_000, 1_200))
    return Outcome(spec, reality="virtual", compared=found)


@pytest.fixture
def outcomes():
    passed, failed, blocked = _trained("cls1"), _trained("cls2"), Outcome(TrialSpec("stm32h7b3", "full-zo"))
    failed.compared.difference = BoardDifference(29, "conv2", 113, 12, -12, "weight")
    blocked.block(Blocked("bench", "the probe <script>alert(1)</script> is not attached: plug it in."))
    for outcome in (passed, failed, blocked):
        outcome.judge()
    return passed, failed, blocked


@pytest.fixture
def recorded(tmp_path, outcomes):
    run = RunWriter.begin(tmp_path / "reports")
    for outcome in outcomes:
        run.write_trial(trial_record(outcome), steps_table(outcome), run.trial_folder(outcome.spec.name))
    run.finish()
    return run
