"""`hil tune`: the runs are those of a trial, the grids are printed, and the choice comes with the lines to use it."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.training.data import batches, load
from hil.training.experiments.curve import checkpoint_path, read_checkpoint, read_curve, read_run, write_run
from hil.training.experiments.train import Training
from hil.training.experiments.trial_runs import TrialRun
from hil.training.reference.methods import reference_of
from hil.training.trial import TrialSpec
from hil.training.trial.choose import method_on_network

from .folders import by_slices, same

KNOWN = "fashion-mnist-1k+fog-5@40-20"  # 40 images to train on, 20 held out
COMMAND = ["tune", "int8-bp", "lenet5-tflite", "--variant=qas", f"--data={KNOWN}", "--steps=4", "--seeds=2", "--jobs=1"]
FEW = "fewer than 500 images decide nothing"


def begin(folder: Path, run: TrialRun) -> Path:
    (folder / run.name).mkdir(parents=True)
    write_run(folder / run.name, run, load(run.data).sha256)
    return folder / run.name


@pytest.mark.parametrize(
    ("network", "method", "variant", "given"),
    [
        ("lenet5-tflite", "int8-bp", "qas", (("momentum", 0.5),)),
        ("lenet5-tflite", "deepzero", "last-sparse", (("sparsity", 240),)),
        ("lenet5-float32", "elasticzo-fp32", "full-bp", ()),
        ("lenet5-8w8a", "qzo-ff", "linear-probe", ()),
    ],
)
def test_a_run_has_the_steps_of_its_trial(
    tmp_path: Path, network: str, method: str, variant: str, given: tuple[tuple[str, float], ...]
) -> None:
    run = TrialRun(KNOWN, "tune", variant, 2, 2, 5, network, method, 2, given, eta=0.02)
    whole, cut = begin(tmp_path / "whole", run), begin(tmp_path / "cut", run)
    rows = list(Training(whole).epochs())
    assert by_slices(cut) and read_run(whole)[0] == run
    same(whole, cut)
    assert [row.step for row in rows] == [0, 2, 4]
    spec = run.trial("stm32h7b3")
    assert spec == TrialSpec(
        "stm32h7b3", variant, network=network, method=method, data=KNOWN, batch=5, seed=2, evaluate=0,
        settings={**dict(given), "eta": 0.02},
    )  # fmt: skip
    plain, data = reference_of(method_on_network(spec)), load(KNOWN)
    for chosen in islice(batches(data, 5, 2), 4):
        outcome = plain.step(data.train_images[chosen], data.train_labels[chosen])
    assert tuple(read_checkpoint(checkpoint_path(whole, 2)).digests[-1]) == outcome.digests


def test_the_grids_are_printed_with_the_lines_to_use_the_choice(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    more = ["--rates=0.01,0.03", "--momentum=0,0.5", f"--out={tmp_path}", "--no-cache"]
    assert cli.main([*COMMAND, *more]) == 0
    out = capfd.readouterr().out
    record = json.loads((tmp_path / "tune.json").read_text())
    assert len(record["searches"]) == 2 and out.count(FEW) == 2
    best = max(max(sum(rate["right"]) for rate in search["rates"]) for search in record["searches"])
    for search in record["searches"]:
        assert search["images"] == 40
        for rate in search["rates"]:
            said = f"| {rate['eta']:g} | {sum(rate['right'])} | 40 | {rate['held_out_loss']:.4f} |"
            assert said in out
            ends = [read_curve(one)[-1] for one in (tmp_path / "runs").glob(f"*-eta{rate['eta']:g}-seed?")]
            assert rate["right"][0] in {row.right for row in ends}
    (chosen,) = re.findall(r"^chosen: momentum (\S+), eta (\S+) \((?:inside|at an end of) its grid\)$", out, re.M)
    (spec,) = re.findall(r"TrialSpec\(.*\)$", out, re.M)
    found = eval(spec, {"TrialSpec": TrialSpec, "board": "stm32h7b3"})
    assert found.settings == {"momentum": float(chosen[0]), "eta": float(chosen[1])} and found.steps == 4
    assert method_on_network(found).settings.momentum == float(chosen[0]) and best > 0
    assert f"    settings = {{ momentum = {float(chosen[0])}, eta = {float(chosen[1])} }}" in out
    assert cli.main([*COMMAND, *more]) == 2
    assert "holds a search already: add --resume" in capfd.readouterr().err
    assert cli.main([*COMMAND, *more, "--resume"]) == 0
    assert spec in capfd.readouterr().out


def test_rates_that_move_nothing_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without QAS the steps of small rates round to nothing; a grid that may not grow further says so."""
    rates = ",".join(f"{1e-6 * 1.5**place:g}" for place in range(16))
    few = [one for one in COMMAND if not one.startswith(("--variant", "--seeds", "--steps"))]
    assert cli.main([*few, "--variant=plain", "--seeds=1", "--steps=1", f"--rates={rates}", f"--out={tmp_path}"]) == 0
    said = (
        r"No rate of the grid moves a weight, from (\S+) on one moves in the first step that trains: give larger ones"
    )
    (least,) = re.findall(said, capfd.readouterr().out)
    assert float(least) > 1e-6 * 1.5**15


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["elasticzo-int8", "lenet5"], "elasticzo-int8 has no learning rate"),
        (["fqt", "mbednet-vibration-uint8", "--momentum=0.9"], "fqt has no setting momentum: leave it out."),
        (["int8-bp", "lenet5-tflite", "--rates=0"], "--rates is '0': give positive numbers"),
        (["int8-bp", "lenet5-tflite", "--rates=0.1,nan"], "--rates is '0.1,nan'"),
        (["int8-bp", "lenet5-tflite", "--momentum=1"], "momentum is 1.0: choose a number from 0 on"),
        (["int8-bp", "lenet5-tflite", "--batch=900"], "--batch is 900, larger than the 800 training images"),
        (["int8-bp", "lenet5-tflite", "--variant=qass"], "no variant 'qass'"),
        (["int8-bp", "lenet5-tflite", "--setting=steps"], "'steps' is not NAME=VALUE"),
        (["int8-bp", "lenet5-tflite", "--setting=quieries=3"], "the method has no setting 'quieries'"),
        (["int8-bp", "lenet5"], "trains no network 'lenet5'"),
    ],
)
def test_a_wrong_request_is_one_sentence(arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(["tune", *arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, error = capfd.readouterr()
    assert code == 2 and out == "" and said in error
