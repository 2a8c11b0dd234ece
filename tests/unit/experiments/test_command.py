"""`hil experiment` from end to end on small data, and what it refuses."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.training.experiments import command
from hil.training.experiments.builder import ExperimentRequest
from hil.training.experiments.exponents import ExponentRun
from hil.training.experiments.options import add_paper_options, selected_table
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES
from hil.trial import TrialSpec
from hil.trial.outcome import Outcome

from .test_certify import on_fake

DATA = "fashion-mnist-1k@200-50"


def small(asked: ExperimentRequest) -> PaperTable:
    """Four rows on a part of the data set that comes along: 20 steps in an epoch of batches of 10."""
    cells = {}
    for row in ("full-zo", "cls2", "cls1", "full-bp"):
        runs = tuple(
            ExponentRun(DATA, "int8", row, seed, asked.epochs, 100, asked.batch, 15)
            for seed in range(1, asked.seeds + 1)
        )
        cells["fashion-mnist", "int8", row] = runs
    return PaperTable(
        "small",
        "A small table",
        (tuple(run for runs in cells.values() for run in runs),),
        cells,
        ("full-zo", "cls2", "cls1", "full-bp"),
        {},
        (),
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The command on the small table and the fake board; returns its line."""
    monkeypatch.setitem(TABLES, "elasticzo-table1", small)
    monkeypatch.setattr(command, "on_bench", on_fake)
    return [
        "experiment",
        "elasticzo-table1",
        "--data",
        "mnist",
        "--seeds=1",
        "--epochs=2",
        "--batch=10",
        "--jobs=2",
        "--out",
        str(tmp_path / "out"),
    ]


def test_from_end_to_end(here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(here) == 0
    said = capsys.readouterr().out
    facts = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [one["verdict"] for one in facts["certificates"]] == ["pass"] * 8
    assert "report: " in said and f"pass: {DATA}-int8-cls1-seed1-epoch001, 20 steps on stm32h7b3" in said
    assert cli.main(here) == 2
    assert "holds an experiment already: add --resume" in capsys.readouterr().err
    assert cli.main([*here, "--resume"]) == 0
    assert "pass: " not in capsys.readouterr().out.split("# A small table")[0], (
        "what is trained and certified is not done again"
    )
    assert cli.main([*here[:5], "--epochs=3", *here[6:], "--resume"]) == 2
    assert "was started with other settings" in capsys.readouterr().err


@pytest.mark.tier("nightly")
def test_what_was_trained_before_is_copied_and_certified_all_the_same(
    here: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert cli.main(here) == 0
    assert "trained before" not in capsys.readouterr().out
    assert cli.main([*here[:-1], str(tmp_path / "again")]) == 0
    said = capsys.readouterr().out
    assert said.count("trained before") == 4 and said.count("\npass: ") == 8, "copied, and certified all the same"
    assert cli.main([*here[:-1], str(tmp_path / "anew"), "--jobs=1", "--no-cache"]) == 0
    assert "trained before" not in capsys.readouterr().out
    digests = {
        tuple(row["digest"] for path in sorted(out.glob("runs/*/curve.json")) for row in json.loads(path.read_text()))
        for out in (tmp_path / "out", tmp_path / "again", tmp_path / "anew")
    }
    assert len(digests) == 1


def test_a_board_that_is_wrong_ends_with_1(here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(spec: TrialSpec, folder: Path) -> Outcome:
        return on_fake(spec, folder, spoil=7 if spec.variant == "cls1" else None)

    monkeypatch.setattr(command, "on_bench", wrong)
    here += ["--epochs=1", "--jobs=1"]
    assert cli.main(here) == 1
    verdicts = {
        (one["variant"], one["verdict"]) for one in json.loads((tmp_path / "out" / "certificates.json").read_text())
    }
    assert ("cls1", "fail") in verdicts and ("cls2", "pass") in verdicts
    monkeypatch.setattr(command, "on_bench", on_fake)
    assert cli.main([*here, "--certify-only"]) == 0


@pytest.mark.parametrize(
    "more, said",
    [
        (["--columns=fp16"], "--columns names 'fp16': known are: fp32, int8, int8star"),
        (["--board=nucleo"], "nucleo"),
        (["--queries=3"], "--queries is an option of pmt-*, not of elasticzo-table1"),
        (["--columns=int8", "--rates=0.1"], "--rates is of the column fp32, which --columns leaves out"),
        (["--columns=int8", "--data=furniture-clouds"], "--data names furniture-clouds, which only the column fp32"),
        (["--certify-only"], "are not trained to their end"),
        (["--scheduler=tls://lab:8786"], "--jobs is for workers of this computer, which --scheduler does not use"),
    ],
)
def test_what_is_refused(here: list[str], more: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main([*here, *more]) == 2
    assert said in capsys.readouterr().err


def test_rates_are_of_the_tables_with_fp32(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["experiment", "elasticzo-r-max", "--rates=0.1"]) == 2
    said = "--rates is an option of elasticzo-table1, elasticzo-table2, pmt-*, qzo-*, quzo-*, fqt-*, not of elasticzo-r-max"
    assert said in capsys.readouterr().err


def test_no_data_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path))
    assert cli.main(["experiment", "elasticzo-table2"]) == 2
    assert "run `hil data fetch mnist or hil data fetch fashion-mnist` first" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["experiment", "elasticzo-table1", "--seeds=0"])


@pytest.mark.parametrize(
    "more, said",
    [
        (
            "--columns=int8",
            "--columns is an option of elasticzo-*, fqt-figure4, fqt-figure6, fqt-figure7, fqt-figure8, not of pmt-table4",
        ),
        (
            "--data=mnist",
            "--data is an option of elasticzo-*, qzo-few-shot, qzo-ablation, fqt-*, pmt-table10, pmt-table11",
        ),
        ("--corruptions=fog,mist", "--corruptions names 'mist'"),
        ("--rates=0.1,fast", "--rates is '0.1,fast': give numbers above 0"),
        ("--rates=0", "--rates is '0': give numbers above 0"),
        ("--images=80", "a batch of 100 is larger than the 80 training images"),
    ],
)
def test_what_is_refused_of_poor_man_s_training(more: str, said: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["experiment", "pmt-table4", more]) == 2
    assert said in capsys.readouterr().err


def test_options_make_the_table() -> None:
    parser = argparse.ArgumentParser()
    add_paper_options(parser)
    options = parser.parse_args(
        ["--network=lenet5-tflite", "--corruptions=fog,snow", "--rates=0.1,0.01", "--queries=7"]
    )
    for name, value in {"experiment": "pmt-table4", "spec": None, "seeds": 2, "epochs": None, "batch": None}.items():
        setattr(options, name, value)
    table = selected_table(options)
    assert table.columns == (("lenet5-tflite", "weather"),) and len(table.certified) == 5 * 2 * 2
    run = table.cells["lenet5-tflite", "weather", "block2"][-1]
    assert (run.data, run.seed, run.epochs, run.batch) == ("fashion-mnist-1k+snow-5@1000", 2, 50, 100)
    assert dict(run.given)["queries"] == 7 and {one.eta for one in table.stages[0]} == {0.1, 0.01}
