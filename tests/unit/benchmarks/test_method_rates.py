"""The rates of methods, without timing anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil.training.benchmarks import method_rates, one_core

PASSES = {"qzo-ff full": 2, "poor-mans-training adaptive": 17 * 10, "poor-mans-training block3": 2 * 10}
"""Of a sample. Poor Man's Training has 10 queries for each of the 17 layers of resnet-tiny, or of 2 of MCUNet."""


@pytest.mark.parametrize("case", method_rates.CASES, ids=lambda case: case.name)
def test_a_rate_counts_what_a_step_trains(monkeypatch: pytest.MonkeyPatch, case: method_rates.RateCase) -> None:
    """With one step a second: the samples of its batch, or the passes of each of them."""
    outcomes, spec = [], case.spec
    monkeypatch.setattr(one_core, "best_rate", lambda step, given: outcomes.append(step(*given[0])) or 1.0)
    passes = PASSES[f"{spec.method} {spec.variant}"] if case.unit == "passes/s" else 1
    assert method_rates.rate_of(replace(case, steps=1)) == spec.batch * passes
    assert [outcome.step for outcome in outcomes] == [0] and outcomes[0].digests


def test_a_row_names_method_network_and_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_core, "printed_by", lambda module: [float(n) for n in range(1, 9)])
    rows = list(method_rates.rows())
    assert [(row.value, row.unit) for row in rows[:4]] == [
        (1.0, "samples/s"),
        (2.0, "passes/s"),
        (3.0, "samples/s"),
        (4.0, "samples/s"),
    ]
    assert (rows[2].benchmark, rows[2].note) == ("reference, fqt uint8", "fqt-cnn-uint8, batch 48, one core")
    assert (rows[7].benchmark, rows[7].note) == (
        "reference, poor-mans-training block3, NumPy",
        "mcunet-128, batch 1, one core",
    )
