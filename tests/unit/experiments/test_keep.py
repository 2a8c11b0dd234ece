"""The record of an experiment without its weights: what is kept, and that a run which was cut goes on from it."""

from __future__ import annotations

import json
import runpy
from itertools import islice
from pathlib import Path

import pytest

from hil.training.experiments.curve import complete, read_curve
from hil.training.experiments.train import Training

from .folders import untimed

TOOL = Path(__file__).parents[3] / "tools" / "keep_experiment.py"


def test_a_cut_run_goes_on_from_its_record_and_a_whole_one_has_no_weights(begun, tmp_path: Path) -> None:
    keep = runpy.run_path(str(TOOL))["keep"]
    whole, cut = begun("out/runs", variant="cls1"), begun("out/runs", variant="full-bp")
    begun("out/runs", variant="cls2")
    list(Training(whole).epochs())
    list(islice(Training(cut).epochs(), 3))
    (tmp_path / "out" / "table.md").write_text("a table")
    for _ in range(2):  # the second replaces the first
        keep(tmp_path / "out", tmp_path / "record")
    files = sorted(str(path.relative_to(tmp_path / "record")) for path in (tmp_path / "record").rglob("*.*"))
    runs = [f"runs/{folder.name}" for folder in (whole, cut)]
    assert files == sorted(
        [
            "table.md",
            *(f"{run}/{name}" for run in runs for name in ("curve.json", "run.json")),
            f"{runs[1]}/epoch-002.npz",
        ]
    ), "nothing of a run that has not begun"
    kept = tmp_path / "record" / runs[1]
    list(Training(kept).epochs())
    list(Training(cut).epochs())
    assert untimed(kept) == untimed(cut) and read_curve(kept)[-1].digest is not None
    assert complete(tmp_path / "record" / runs[0])
    (tmp_path / "out" / "results.json").write_text(json.dumps({"runs": [{"name": whole.name}, {"name": cut.name}]}))
    (tmp_path / "out" / "curves.parquet").write_text("the curves")
    keep(tmp_path / "out", tmp_path / "record")
    assert sorted(path.name for path in (tmp_path / "record").iterdir()) == [
        "curves.parquet",
        "results.json",
        "table.md",
    ], "all are whole: results alone"


def test_results_without_their_curves_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they were written when results.json had the curves: a record of them would have none."""
    (tmp_path / "out" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "results.json").write_text(json.dumps({"runs": [], "curves": {}}))
    monkeypatch.setattr("sys.argv", ["keep_experiment.py", str(tmp_path / "out"), str(tmp_path / "record")])
    with pytest.raises(SystemExit):
        runpy.run_path(str(TOOL))["main"]()
    said = capsys.readouterr().err
    assert "out holds results.json without curves.parquet: `hil experiment NAME --resume` writes both." in said
    assert not (tmp_path / "record").exists()


def test_costs_are_kept_with_and_without_runs(tmp_path: Path) -> None:
    keep = runpy.run_path(str(TOOL))["keep"]
    source = tmp_path / "out"
    (source / "trials" / "rp2040").mkdir(parents=True)
    for name in ("costs.json", "costs.md"):
        (source / name).write_text(name)
    for folder in ((), ("runs",)):
        for name in folder:
            (source / name).mkdir()
        keep(source, tmp_path / "record")
        assert sorted(path.name for path in (tmp_path / "record").iterdir()) == ["costs.json", "costs.md"]
