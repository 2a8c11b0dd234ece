"""A partition of the user's own: `partition-C` on a virtual board, step by step beside the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.training.experiments.command import on_bench
from hil.trial import TrialSpec

BUDGETS = {"sram": "1 MiB"}  # that of the board in the catalogue is of ElasticZO's paper


@pytest.mark.parametrize(
    ("method", "network", "partition"),
    [("elasticzo-int8", "lenet5", 2), ("elasticzo-fp32", "lenet5-float32", 1)],
)
def test_the_board_trains_with_any_partition(method: str, network: str, partition: int, tmp_path: Path) -> None:
    spec = TrialSpec(
        "stm32h7b3", f"partition-{partition}", network, method, batch=2, steps=2, evaluate=0, budgets=BUDGETS
    )
    outcome = on_bench(spec, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.planned is not None and outcome.planned.settings.partition == partition
