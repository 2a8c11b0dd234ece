"""The rates of methods, without timing anything."""

from __future__ import annotations

import pytest

from hil.benchmarks import method_rates, one_core


@pytest.mark.parametrize("case", method_rates.CASES, ids=lambda case: f"{case.spec.method}-{case.spec.variant}")
def test_a_rate_counts_what_a_step_trains(monkeypatch: pytest.MonkeyPatch, case: method_rates.Case) -> None:
    """With one step a second: the samples of its batch, or two passes of each of them."""
    outcomes = []
    monkeypatch.setattr(one_core, "best_rate", lambda step, given: outcomes.append(step(*given[0])) or 1.0)
    passes = 2 if case.unit == "passes/s" else 1
    assert method_rates.rate_of(case, 1) == case.spec.batch * passes
    assert [outcome.step for outcome in outcomes] == [0] and outcomes[0].digests


def test_a_row_names_method_network_and_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_core, "printed_by", lambda module: [1.0, 2.0, 3.0, 4.0])
    rows = list(method_rates.rows())
    assert [(row.value, row.unit) for row in rows] == [
        (1.0, "samples/s"),
        (2.0, "passes/s"),
        (3.0, "samples/s"),
        (4.0, "samples/s"),
    ]
    assert (rows[2].benchmark, rows[2].note) == ("reference, fqt uint8", "fqt-cnn-uint8, batch 48, one core")
