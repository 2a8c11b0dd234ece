"""Figures 4 to 7: memory by the equations beside plan and watermark, time by phase, FP32 divided by INT8."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.training.experiments import command
from hil.training.experiments.costs import KB, measure
from hil.training.experiments.elasticzo_costs import BATCHES, DECLARED, ROWS, ElasticzoCosts, ratios, shares
from hil.training.trial.lockstep_outcome import LockStepOutcome, StepRow
from hil.training.trial.outcome import End, Outcome
from hil.training.trial.watermarks import RamUse, Watermarks
from hil.trial import TrialSpec

BOARD = ElasticzoCosts("stm32h7b3")
CYCLES = {"perturb": 10, "forward": 80, "backward": 5, "update": 5, "digest": 100, "total": 200}


def on_fake(spec: TrialSpec, folder: Path) -> Outcome:
    """A board that needs twice the cycles and memory for FP32, and has no room for Full BP of PointNet."""
    outcome = Outcome(spec, reality="virtual")
    if (spec.network, spec.variant) == ("pointnet-float32", "full-bp"):
        outcome.fail("step 0 differs.")
        return outcome
    factor = 2 if spec.method == "elasticzo-fp32" else 1
    cycles = {phase: factor * count for phase, count in CYCLES.items()}
    found = LockStepOutcome(None, "virtual", 1_000_000)
    found.steps = [StepRow(step, *[0.0] * 6, 0, True, True, 0, cycles) for step in range(spec.steps)]
    found.sram = RamUse(Watermarks(0, 1000 * factor, 0))
    outcome.compared, outcome.end = found, End("pass")
    return outcome


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("row", ROWS)
def test_the_equations_give_the_paper_s_figures(batch: int, row: str) -> None:
    published = DECLARED["kb"][str(batch)]
    found = BOARD.analysed_cell("fp32", row).analytic[batch] / KB
    assert found == pytest.approx(published[row], rel=0.02)
    extra = (found * KB - BOARD.analysed_cell("fp32", "full-zo").analytic[batch]) / KB
    if row in ("cls2", "cls1"):
        assert extra == pytest.approx(published[row] - published["full-zo"], abs=0.15)


def test_memory_ratios_of_the_equations_are_the_paper_s() -> None:
    cells = [BOARD.analysed_cell(column, row) for column in ("fp32", "int8") for row in ROWS]
    for row in ("full-zo", "cls2", "cls1"):
        for batch in BATCHES:
            assert 1.45 <= ratios(cells)[row][f"equations, B = {batch}"] <= 1.61, "1.46-1.60 in the paper"


def test_shares_leave_the_digest_out() -> None:
    assert shares(CYCLES) == {"forward": 0.8, "backward": 0.05, "perturb and update": 0.15}
    assert shares(None) == shares({}) == {}


def test_the_files(tmp_path: Path) -> None:
    said: list[str] = []
    assert not measure(BOARD, tmp_path, on_fake, said.append, {"time": "then"})
    whole = json.loads((tmp_path / "costs.json").read_text())
    assert len(whole["cells"]) == len(said) == len(DECLARED["columns"]) * len(ROWS)
    assert whole["ratios"]["cls1"]["watermark"] == whole["ratios"]["cls1"]["time"] == 2.0
    assert whole["cells"][0]["planned"] and whole["cells"][0]["verdict"] == "pass"
    page = (tmp_path / "costs.md").read_text()
    assert "80.0% (84.3-84.8 %)" in page and "memory 1.46-1.60, time 1.38-1.42" in page
    assert "- fail: pointnet full-bp: step 0 differs." in page
    rows = [line for line in page.splitlines() if line.startswith("| PointNet FP32 | Full BP | (2)")]
    assert rows[0].endswith("| – | fail |"), "no reality beside a figure that is not there"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(command, "on_bench", on_fake)
    assert cli.main(["experiment", "elasticzo-costs", "--out", str(tmp_path)]) == 1, "a trial failed"
    assert "FP32 divided by INT8" in capsys.readouterr().out
    assert cli.main(["experiment", "elasticzo-costs", "--epochs=3"]) == 2
    assert "--epochs is no option of elasticzo-costs" in capsys.readouterr().err
