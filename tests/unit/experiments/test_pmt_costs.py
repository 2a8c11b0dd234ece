"""Costs of Poor Man's Training: the trials of tables 8 and 9, what does not fit, and the two files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.link.replies import CountedWork
from hil.training.experiments import command
from hil.training.experiments.costs import measure
from hil.training.experiments.pmt_costs import PmtCosts
from hil.training.methods.poor_mans_training import PoorMansTraining
from hil.training.networks import build
from hil.training.trial.lockstep_outcome import LockStepOutcome, StepRow
from hil.training.trial.outcome import End, Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.watermarks import RamUse, Watermarks
from hil.trial import TrialSpec

CYCLES = {"perturb": 1000, "forward": 2000, "backward": 3000, "update": 4000, "digest": 5000, "total": 15000}


def on_fake(spec: TrialSpec, folder: Path) -> Outcome:
    """A board of 1 MHz on which MCUTrain differs."""
    assert folder.is_dir() and (spec.batch, spec.steps) == (1, 1)
    found = LockStepOutcome(prepare(spec), "virtual", 1_000_000)
    found.sram, found.work = RamUse(Watermarks(1024, 1024, 1024)), CountedWork(12_300_000, 1, 1)
    found.steps.append(StepRow(0, 1, 1, 1, 1, 1, 1, 0, True, True, 0, CYCLES))
    end = End("fail", "a tensor differs.") if spec.method == "mcutrain" else End("pass")
    return Outcome(spec, reality="virtual", compared=found, end=end)


def test_the_trials_are_those_of_the_tables() -> None:
    full, sparse = (PmtCosts(f"pmt-table{number}") for number in (8, 9))
    assert (full.board, sparse.board) == ("stm32h7b3", "stm32f746") and full.network == "mcunet-128"
    spec = sparse.specification("pmt")
    assert (spec.method, spec.settings["train"], spec.settings["blocks"], spec.settings["queries"]) == (
        "poor-mans-training", "pointwise", 4, 50,
    )  # fmt: skip
    assert "queries" not in sparse.specification("mcutrain").settings
    method = PoorMansTraining.on(build(spec.network, 1), spec.variant, batch=1, **spec.settings)
    assert method.figures.step_macs() == 728_698_944, "docs/poor-mans-training.md"
    ours = PmtCosts("pmt-table9", "stm32f746", "mcunet-48", 10).analysed_row("pmt")
    assert ours.verdict == "not run" and ours.planned is not None and ours.in_flash


def test_what_does_not_fit_is_blocked_with_the_reason(tmp_path: Path) -> None:
    request = PmtCosts("pmt-table8", "stm32f746", "mcunet-48", 2)
    measure(request, tmp_path, on_fake, lambda _: None, {"time": "then"})
    costs = {cost["row"]: cost for cost in json.loads((tmp_path / "costs.json").read_text())["costs"]}
    assert costs["bp-int8"]["verdict"] == "blocked" and costs["bp-int8"]["planned"] is None
    page = (tmp_path / "costs.md").read_text()
    assert "- blocked: BP, INT8, all layers: plan: mcunet-48 by plain at batch 1 needs" in page


def test_figures_stand_beside_the_paper_s(tmp_path: Path) -> None:
    request = PmtCosts("pmt-table9", "stm32h7b3", "mcunet-48", 2)
    assert not measure(request, tmp_path, on_fake, lambda _: None, {"time": "then"}), "MCUTrain differs"
    costs = {cost["row"]: cost for cost in json.loads((tmp_path / "costs.json").read_text())["costs"]}
    assert costs["pmt"]["latency_ms"] == pytest.approx(10.0), "digests are the rig's"
    assert (costs["pmt"]["executed"], costs["pmt"]["provenance"]) == (12_300_000, "modelled")
    assert (costs["mcutrain"]["verdict"], costs["mcutrain"]["cycles"]) == ("fail", None)
    page = (tmp_path / "costs.md").read_text()
    (line,) = (line for line in page.splitlines() if line.startswith("| Poor Man's Training |"))
    assert "(209) |" in line and "(1,162.5) | 12.3 | 10,000 | 10 (9,939) | 500 | virtual, modelled |" in line
    assert "- fail: MCUTrain (BP, INT8, QAS, fixed layers): a tensor differs." in page


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "on_bench", on_fake)
    words = ["experiment", "pmt-table9", "--network=mcunet-48", "--queries=1", "--out", str(tmp_path / "out")]
    assert cli.main(words) in (0, 1)
    assert "Cost of sparse training (table 9 of Poor Man's Training), mcunet-48 on stm32f746" in capsys.readouterr().out
    assert cli.main(["experiment", "pmt-table9", "--images=10"]) == 2
    assert "--images is no option of pmt-table9, which trains nothing" in capsys.readouterr().err
