"""`hil campaign` as a user types it; nothing here starts a board."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hil.commands.main import main
from hil.training.campaign.folder import locked
from hil.training.campaign.plan import NAME, CampaignPlan, TrialRequest
from hil.training.trial.prepare import prepare


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan(folder: Path, **changes: object) -> None:
    folder.mkdir(parents=True)
    CampaignPlan(7, TrialRequest(steps=20, **changes), 1, 1000, "0" * 64, "0" * 64).write(folder)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["status"], "there is no campaign in reports/campaigns: `hil campaign start` begins one"),
        (["stop", "nowhere"], "nowhere holds no campaign"),
        (["resume", "nowhere"], "nowhere holds no campaign"),
        (["start", "--board", "stm32h7b4"], "the catalogue has no board 'stm32h7b4': did you mean stm32h7b3"),
        (["start", "--steps", "0"], "steps is 0"),
        (["start", "--set", "r_max=300"], "r_max"),
        (["start", "--spec", "none.toml"], "--spec none.toml cannot be read"),
        (["start", "--checkpoint", "none.npz"], "the checkpoint none.npz cannot be read"),
        (
            ["start", "--method", "poor-mans-training", "--network", "resnet-tiny", "--variant", "selected"],
            "a campaign trains one variant",
        ),
    ],
)
def test_a_wrong_request_is_one_sentence_and_makes_no_folder(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1
    assert not list(Path().iterdir())


def test_momentum_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--method", "mcutrain", "--network", "resnet-tiny", "--batch", "1"]
    assert main(["campaign", "start", *options]) == 2
    assert "momentum is state in addition to the weights, which a checkpoint lacks" in capsys.readouterr().err


@pytest.mark.parametrize("variant", ["budget", "whole"])
def test_the_choice_of_tinytrain_is_refused(variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--method", "tinytrain", "--network", "resnet-tiny", "--variant", variant, "--set", "momentum=0"]
    assert main(["campaign", "start", *options]) == 2
    said = capsys.readouterr().err
    assert "the choice of layers and channels is state in addition to the weights, which a checkpoint lacks" in said


@pytest.mark.parametrize(
    ("switch", "what"),
    [
        ("guide=128", "the momentum of guided sampling is state .*: set guide to 0"),
        ("optimizer=adamw", "what adamw keeps is state .*: set optimizer to plain"),
        ("sparse=top", "the mask of the first weights is state .*: set sparse to off or random"),
    ],
)
def test_what_qzo_ff_keeps_between_steps_is_refused(switch: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--method", "qzo-ff", "--network", "lenet5-w16a8", "--variant", "linear-probe", "--set", switch]
    assert main(["campaign", "start", *options]) == 2
    assert re.search(what, capsys.readouterr().err)


def test_a_spec_file_s_mistake_is_named_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text('board = "stm32h7b3"\nsteps = "many"\n')
    assert main(["campaign", "start", "--spec", "mine.toml"]) == 2
    assert "--spec mine.toml: steps: input should be a valid integer" in capsys.readouterr().err


def test_status_of_one_that_has_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    plan(Path("reports/campaigns/mine"))
    assert main(["campaign", "status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["state"], status["steps_done"], status["steps"], status["digest"], status["checkpoint"]) == (
        "cut",
        0,
        20,
        None,
        None,
    )


def test_of_two_campaigns_one_is_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    plan(Path("reports/campaigns/a"))
    plan(Path("reports/campaigns/b"))
    assert main(["campaign", "status"]) == 2
    assert "there are 2 campaigns in reports/campaigns: name one of a, b" in capsys.readouterr().err
    assert main(["campaign", "status", "reports/campaigns/b"]) == 0


def test_a_folder_that_is_held_is_running_and_refused_to_others(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("mine")
    plan(folder)
    program = "import sys, time; from pathlib import Path; from hil.training.campaign.folder import locked\nwith locked(Path('mine')): print('held', flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        assert main(["campaign", "resume", "mine"]) == 2
        assert f"the campaign in mine runs already (process {process.pid})" in capsys.readouterr().err
        assert main(["campaign", "status", "mine", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["state"] == "running"
        killer = threading.Timer(1.0, process.kill)
        killer.start()
        assert main(["campaign", "stop", "mine"]) == 0  # waits until nobody holds it, however that comes about
        killer.join()
        assert not (folder / "stop").exists()
    finally:
        process.kill()
        process.wait()
    with locked(folder):
        assert (folder / "running.json").exists()
    assert not (folder / "running.json").exists()


def test_stopping_what_does_not_run_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    plan(Path("mine"))
    assert main(["campaign", "stop", "mine"]) == 2
    assert "does not run: there is nothing to stop" in capsys.readouterr().err


def test_other_data_than_it_was_begun_with_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    plan(Path("mine"))
    Path("rig.toml").write_text("")
    assert main(["campaign", "resume", "mine"]) == 2
    assert "the data set fashion-mnist-1k is not the one that the campaign started with" in capsys.readouterr().err


def test_a_campaign_of_a_version_with_another_network_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    plan(Path("mine"))
    fields = json.loads((Path("mine") / NAME).read_text())
    data = prepare(TrialRequest(steps=20).trial()).data
    (Path("mine") / NAME).write_text(json.dumps(fields | {"data_sha256": data.sha256}))
    Path("rig.toml").write_text("")
    assert main(["campaign", "resume", "mine"]) == 2
    said = capsys.readouterr().err
    sentence = "the network file of lenet5 is not the one that the campaign started with: use the version of trainrig"
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema": 9}', '{"schema": 1}', '{"schema": 1, "asked": 3}', "\0", "[" * 100_000]
)
def test_a_damaged_plan_is_one_sentence(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan(Path("mine"))
    (Path("mine") / NAME).write_text(text)
    assert main(["campaign", "status", "mine"]) == 2
    assert "campaign.json" in (said := capsys.readouterr().err) and said.count("\n") == 1


def test_a_folder_with_other_things_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    (Path("mine") / "thesis.tex").write_text("")
    assert main(["campaign", "start", "mine", "--steps", "2"]) == 2
    assert "mine is not empty" in capsys.readouterr().err
    plan(Path("other"))
    assert main(["campaign", "start", "other", "--steps", "2"]) == 2
    assert "other holds a campaign already: `hil campaign resume other` continues it" in capsys.readouterr().err


def test_the_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", w0=np.zeros(1, np.int8))
    wanted = TrialRequest(
        board="rp2040", settings={"r_max": 15, "loss": "integer"}, schedule=[{"step": 3, "settings": {"b_zo": 2}}]
    )
    made = CampaignPlan(2**32 - 1, wanted, 5, 0, "a" * 64, "b" * 64)
    made.write(tmp_path)
    from hil.training.campaign.plan import read_plan

    assert read_plan(tmp_path) == made
    assert made.trial(tmp_path).schedule == ((3, {"b_zo": 2}),)
