"""A run on disk as a reader of the report gets it, built from trial records alone."""

import numpy as np
import pandas as pd
import pytest

from hil.record import RunWriter, TrialRecord

CYCLES = {"perturb": 3_383_361, "forward": 32_601_119, "backward": 504_653, "update": 2_867_450, "digest": 128_286}
SRAM = {"static": 18_720, "arena_peak": 182_592, "stack_peak": 1_220, "total": 202_532}
LIMITS = {"budget": 262_144, "planned": 182_592, "analytic": 503_430}
LAYERS = ["conv1", "conv2", "fc1", "fc2", "fc3"]
DIGESTS = ["0badf00d", "11111111", "22222222", "33333333", "44444444"]


def make_steps(count, seed=1):
    """Losses that fall with noise, the same on both sides, as float32 sums over a batch of 8."""
    noise = np.random.default_rng(seed).normal(0, 1.5, count)
    plus = np.float32(18.4 - 9 * np.arange(count) / max(count, 1) + noise).astype(float)
    table = {"step": range(count), "loss_plus": plus, "loss_minus": plus - 0.1}
    table |= {"reference_loss_plus": plus, "reference_loss_minus": plus - 0.1, "sign": 1, "match": True}
    return pd.DataFrame(table | {f"cycles_{phase}": mean for phase, mean in CYCLES.items()})


def make_trial(**changes):
    fields = {
        "board": "stm32h7b3", "core": "cortex-m7", "reality": "virtual", "network": "lenet5",
        "method": "elasticzo-int8", "variant": "cls1", "data": "fashion-mnist-1k", "batch": 8, "seed": 1,
        "steps": 200, "bit_exact": True, "steps_compared": 200, "first_difference": None, "final_digest": "9d1c02ab",
        "accuracy": {"before": 0.096, "after": 0.668, "reference_after": 0.668, "n": 500}, "sram": SRAM | LIMITS,
        "sram_provenance": dict.fromkeys(SRAM, "counted") | dict.fromkeys(LIMITS, "analytic"),
        "cycles": CYCLES | {"total": sum(CYCLES.values())}, "cycles_provenance": "modelled",
        "clock_hz": 280_000_000, "step_time_s": sum(CYCLES.values()) / 280e6,
        "image_sha256": "a" * 64, "network_sha256": "b" * 64, "data_sha256": "c" * 64, "verdict": "pass", "reason": "",
        "settings": {"partition": 3, "b_zo": 1, "r_max": 7}, "layers": LAYERS, "digests": DIGESTS,
        "probe_checks": 4, "probe_agreed": 4, "sram_probe": {name: SRAM[name] for name in list(SRAM)[:3]},
        "link": {"frames_sent": 3_040, "naks": 0, "bytes_sent": 2_186_681}, "wall_s": 41.2,
    }  # fmt: skip
    return TrialRecord(**(fields | changes))


def blocked_trial(reason):
    nothing = {"bit_exact": None, "steps_compared": 0, "final_digest": None, "cycles": {}, "clock_hz": None}
    nothing |= {"step_time_s": None, "digests": [], "sram_probe": None, "link": {}, "probe_checks": 0}
    accuracy = {"before": None, "after": None, "reference_after": None, "n": 0}
    sram = dict.fromkeys(SRAM) | LIMITS
    return make_trial(
        verdict="blocked", stage="bench", reason=reason, reality=None, accuracy=accuracy, sram=sram, **nothing
    )


@pytest.fixture
def record(tmp_path):
    """Record trials, given as (record, steps) pairs, and return the folder of the run."""

    def write(*pairs):
        run = RunWriter(tmp_path / "reports")
        for trial, steps in pairs:
            run.write_trial(trial, steps, run.trial_folder(f"{trial.board}-{trial.variant}"))
        return run.folder

    return write
