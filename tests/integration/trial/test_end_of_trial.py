"""What changes in the board's memory after the last compared step is found at the end of the trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.rig import Rig
from hil.trial import LatencySteps, TrialSpec, Watch, run_trial

STEPS = 2


@pytest.mark.parametrize("latency", [None, LatencySteps(1)], ids=["steps", "latency"])
def test_a_bit_that_flips_after_the_last_digest(virtual_rig: Rig, tmp_path: Path, latency: LatencySteps | None) -> None:
    """The board's agent writes the byte, so that the moment is certain: after the digests of the last step or run."""
    seen = []

    def flip(trial, tensor=1, index=5):  # of the bytes, which are those of float32
        data = bytearray(trial.device.tensor(tensor, trial.p.method.plan.tensors[tensor].size))
        data[index] ^= 0x40
        trial.device.write(tensor, bytes(data))
        seen.append(trial.p.method.plan.tensors[tensor].name)

    trials = []
    watch = Watch(
        agreed=lambda trial: (trials.append(trial), flip(trial) if len(trials) == STEPS and not latency else None),
        part=lambda done, of: flip(trials[-1]) if latency and done == of else None,
    )
    # in `bfp8` an agent writes no tensors
    spec = TrialSpec(
        "stm32h7b3", "cls1", "lenet5-float32", "elasticzo-fp32", batch=2, steps=STEPS, evaluate=0, latency=latency
    )
    outcome = run_trial(spec, virtual_rig, tmp_path, watch=watch)
    assert seen and outcome.verdict == "fail", outcome.reason
    assert f"at the end of the trial, weight {seen[0]}[1] is" in outcome.reason
