"""What a sparse backward pass of FQT costs beside the dense one, in instructions, which the virtual board counts."""

from statistics import fmean

import pytest

from hil.trial import LatencySteps, TrialSpec, run_trial

LEAST = 6.0  # docs/fqt.md has the figure, and what bounds it


def backward(rig, share, folder):
    """Mean instructions of the backward passes of a few steps of one sample, with such a share of the channels."""
    folder.mkdir()
    settings = {"last_layers": 5, "eta": 2.0**-20, "lambda_min": share, "lambda_max": share}
    spec = TrialSpec(
        "imxrt1062", "mixed", "mbednet-mixed", "fqt", batch=1, steps=1, evaluate=0, settings=settings, latency=LatencySteps(2)
    )  # fmt: skip
    outcome = run_trial(spec, rig, folder)
    assert outcome.verdict == "pass", outcome.reason
    return fmean(outcome.latency.laps["backward"])


def test_a_tenth_of_the_channels(virtual_rig, tmp_path):
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    dense, sparse = (backward(virtual_rig, share, tmp_path / f"{share:g}") for share in (1.0, 0.1))
    assert dense / sparse >= LEAST, f"{dense:.0f} / {sparse:.0f} = {dense / sparse:.2f}"
