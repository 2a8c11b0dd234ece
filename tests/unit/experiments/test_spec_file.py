"""Experiments of one's own: what a file makes, and what is refused in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.errors import RigError
from hil.training.experiments.curve import complete, read_run, write_run
from hil.training.experiments.float_runs import FloatRun
from hil.training.experiments.qzo_runs import QzoRun
from hil.training.experiments.render import as_latex, escaped
from hil.training.experiments.spec_file import read_spec
from hil.training.experiments.summary import summarise

DOCS = Path(__file__).parents[3] / "docs" / "experiments.md"
SMALL = """
name = "scales"
title = "Two scales"
epochs = 1
batch = 250
variant = "cls1"
[[row]]
name = "r3"
settings = { r_max = 3 }
[[row]]
name = "r7-zero-sum"
settings = { r_max = 7, logit_error = "zero-sum" }
[[column]]
name = "float"
[[column]]
name = "integer"
settings = { loss = "integer", loss_fraction = 6 }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_and_columns_are_merged(tmp_path: Path) -> None:
    table = read_spec(written(tmp_path, SMALL), seeds=2, epochs=None, batch=None)
    assert len(table.runs) == len({run.name for run in table.runs}) == 2 * 2 * 2
    run = table.cells["fashion-mnist-1k", "integer", "r7-zero-sum"][1]
    chosen = run.settings(0, ())
    assert (chosen.loss, chosen.loss_fraction, chosen.logit_error, chosen.r_max, chosen.batch, chosen.seed) == (
        "integer", 6, "zero-sum", 7, 250, 2,
    )  # fmt: skip
    assert read_spec(written(tmp_path, SMALL), 1, epochs=3, batch=20).runs[0].epochs == 3


def test_qzo_ff_is_trained_by_its_own_runs(tmp_path: Path) -> None:
    text = SMALL.replace('variant = "cls1"', 'method = "qzo-ff"\nnetwork = "lenet5-w16a8"\nvariant = "linear-probe"')
    text = text.replace("r_max = 3", "directions = 3").replace('r_max = 7, logit_error = "zero-sum"', "directions = 7")
    text = text.replace('loss = "integer", loss_fraction = 6', "normalise = 1")
    table = read_spec(written(tmp_path, text), seeds=1, epochs=None, batch=None)
    run = table.cells["fashion-mnist-1k", "integer", "r3"][0]
    assert isinstance(run, QzoRun) and run.on_board and run.trial("stm32h7b3").network == "lenet5-w16a8"
    chosen = run.settings(0, ())
    assert (chosen.directions, chosen.normalise, chosen.last_layers, chosen.eta, chosen.batch) == (3, 1, 1, 0.01, 250)
    with pytest.raises(RigError, match="qzo-ff trains no network 'lenet5'"):
        read_spec(written(tmp_path, text.replace('network = "lenet5-w16a8"', "")), 1, None, None)
    with pytest.raises(RigError, match="setting epsilon is"):
        read_spec(written(tmp_path, text.replace("normalise = 1", "epsilon = 1e-9")), 1, None, None)


def test_elasticzo_in_float32_is_trained_by_its_own_runs(tmp_path: Path) -> None:
    text = SMALL.replace('variant = "cls1"', 'method = "elasticzo-fp32"\nnetwork = "lenet5-float32"\neta = 0.01')
    text = text.replace("settings = { r_max = 3 }", 'variant = "cls2"')
    text = text.replace('r_max = 7, logit_error = "zero-sum"', "epsilon = 0.01")
    text = text.replace('loss = "integer", loss_fraction = 6', "g_clip = 2.0")
    table = read_spec(written(tmp_path, text), seeds=2, epochs=10, batch=None)
    assert len(table.runs) == len({run.name for run in table.runs}) == 2 * 2 * 2 and table.certified == table.runs
    run = table.cells["fashion-mnist-1k", "integer", "r7-zero-sum"][1]
    assert isinstance(run, FloatRun) and not run.has_state
    assert (run.variant, run.seed, run.epochs, run.eta) == ("cls1", 2, 10, 0.01), "cls1 if the file names no variant"
    chosen = run.settings(0, ())
    assert (chosen.epsilon, chosen.g_clip, chosen.partition, chosen.batch) == (0.01, 2.0, 3, 250)
    assert [step for step, _ in run.schedule(40)] == list(range(4, 40, 4)), "a tenth of the epochs"
    assert table.cells["fashion-mnist-1k", "float", "r3"][0].variant == "cls2"
    write_run(tmp_path, run, "")
    assert read_run(tmp_path)[0] == run
    for old, new, said in (
        ("eta = 0.01\n", "eta = 17.0\n", "setting eta is 17.0"),
        ("eta = 0.01\n", "eta = 1e-12\n", "setting eta is 1e-12: most weights of"),
        ("epsilon = 0.01", "epsilon = 1e-9", "setting epsilon is 1e-09: choose a number of 2^-24 to 1"),
        ("epsilon = 0.01", "r_max = 3", "the method has no setting 'r_max'"),
        ('network = "lenet5-float32"', 'network = "lenet5"', "elasticzo-fp32 trains no network 'lenet5': it is one of"),
        ('variant = "cls2"', 'variant = "bp"', "the method has no variant 'bp'"),
    ):
        with pytest.raises(RigError, match=re.escape(said)):
            read_spec(written(tmp_path, text.replace(old, new)), 1, None, None)


def test_the_command_trains_it_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One seed of four cells; certification finds no board of that name in the place of minutes on a stand-in."""
    from hil.training.experiments import command

    monkeypatch.setattr(command, "segments", lambda runs, folder: iter(()))
    spec, out = written(tmp_path, SMALL), tmp_path / "out"
    assert cli.main(["experiment", "--spec", str(spec), "--seeds=1", "--out", str(out)]) == 0
    assert all(complete(folder) for folder in (out / "runs").iterdir())
    said = capsys.readouterr().out
    assert "# Two scales" in said and "| r7-zero-sum |" in said
    table = read_spec(spec, 1, None, None)
    latex = as_latex(summarise(table, out / "runs", {}))
    assert latex == (out / "table.tex").read_text()
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 2 and all(line.endswith(r"\\") and line.count("&") == 2 for line in body)
    assert re.search(r"r3 & \$\d+\.\d\d\$ & \$\d+\.\d\d\$ ", body[0])


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8").split("## An experiment of your own")[1].split("\n## ")[0]
    block = "\n".join(
        line[4:]
        for line in text.split("\n\n")
        for line in line.splitlines()
        if line.startswith("    ") and "hil experiment" not in line
    )
    table = read_spec(written(tmp_path, block), 1, None, None)
    assert len(table.runs) == len(table.rows) * len(table.columns)


@pytest.mark.parametrize(
    "old, new, said",
    [
        (
            'variant = "cls1"',
            'variant = "cls9"',
            "row r3, column float: the method has no variant 'cls9': did you mean",
        ),
        ('variant = "cls1"', 'varriant = "cls1"', "varriant: extra inputs are not permitted"),
        ("epochs = 1", "epochs = 0", "epochs: input should be greater than or equal to 1"),
        ("epochs = 1", 'epochs = "one"', "epochs: input should be a valid integer"),
        ("batch = 250", "batch = 2000", "a batch of 2000 is larger than the 1000 training images"),
        ("r_max = 3", "r_max = 300", "row r3, column float: setting r_max is 300: choose a whole number in 1..127"),
        ("r_max = 3", "rmax = 3", "the method has no setting 'rmax'"),
        ('name = "r7-zero-sum"', 'name = "r3"', "two rows are called 'r3'"),
        ('name = "r3"', 'name = "../r3"', "row.1.name: string should match pattern"),
        ("epochs = 1", 'data = "nothing"', "there is no data set 'nothing'"),
        ("epochs = 1", 'network = "resnet-tiny"', "elasticzo-int8 trains no network 'resnet-tiny': it is one of"),
        ("epochs = 1", 'method = "mezzo"', "there is no method 'mezzo': did you mean"),
        ("epochs = 1", "eta = 0.1", "elasticzo-int8 has no learning rate"),
        ("[[row]]", "[[row", "give a TOML file as docs/experiments.md describes it"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(RigError, match=re.escape(said)) as caught:
        read_spec(written(tmp_path, SMALL.replace(old, new, 1)), 1, None, None)
    assert "mine.toml" in str(caught.value) and "\n" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "needs either a name or --spec FILE"),
        (["elasticzo-table1", "--spec=x.toml"], "needs either a name or --spec FILE"),
        (["--spec=missing.toml"], "--spec missing.toml cannot be read"),
        (["--spec=x.toml", "--queries=3"], "--queries cannot be combined with --spec"),
    ],
)
def test_what_the_command_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["experiment", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_latex_takes_no_character_for_itself() -> None:
    assert (
        escaped(r"a_b & 50 % of {x} \ ~^#$")
        == r"a\_b \& 50 \% of \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#\$"
    )
