"""Boards on which no trial can run."""

from __future__ import annotations

from pathlib import Path

from hil.rig import Rig
from hil.rig_toml import read_bench
from hil.trial import TrialSpec, run_trial


def test_no_trial_runs_on_a_command(tmp_path: Path) -> None:
    table = '[[board]]\nname = "mps2-an386"\nreality = "simulator"\nrun = ["false", "{elf}"]\n'
    (tmp_path / "rig.toml").write_text(table)
    with Rig(read_bench(tmp_path / "rig.toml")) as rig:
        outcome = run_trial(TrialSpec("mps2-an386", "cls1", steps=1, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, outcome.stage) == ("blocked", "bench"), outcome.reason
    assert outcome.reason == (
        "mps2-an386 is a command in rig.toml, and no trial can run on it: test it with hil_dut, or name a board of the "
        "catalogue."
    )
