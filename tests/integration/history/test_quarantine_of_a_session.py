"""The commands of docs/how-to/lab.md, and quarantine in sessions of pytest.

One board is not there, the other a virtual one that rig.toml names as if it were attached.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.commands.main import main
from hil.history.address import address_of
from hil.history.health import BoardKey
from hil.history.quarantine import quarantines
from hil.history.queries import History
from hil.images import image_of
from hil.record import read_run
from hil.rig import Rig
from hil.rig_toml import Bench, BenchBoard
from hil.standins import StandIn, start_virtual
from hil.summary import summary_of
from hil.summary.markdown import markdown
from hil.training.experiments.certify_on_workers import on_bench
from hil.trial import TrialSpec

BOARD = "stm32h7b3"
GONE = f'[lab]\nquarantine_after = 3\n[[board]]\nname = "{BOARD}"\nserial = "00112233445566"\n'  # not attached
TEST = """
import pytest
from hil.trial import TrialSpec

@pytest.mark.parametrize("seed", range({}))
def test_it(hil_board, hil_trial, seed):
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, evaluate=0, batch=1, seed=seed))
"""


DEVICE_TEST = """
import pytest

@pytest.mark.parametrize("number", range({}))
def test_it(hil_dut, number):
    hil_dut.serial.expect("ready")
"""


def session(folder: Path, rig: str, tests: int, *options: str, text: str = TEST) -> subprocess.CompletedProcess[str]:
    (folder / "rig.toml").write_text(rig)
    (folder / "test_mine.py").write_text(text.format(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--board={BOARD}", *options]
    environment = os.environ | {"TMPDIR": str(folder), "XDG_DATA_HOME": str(folder)}
    return subprocess.run(
        [*command, "test_mine.py"], cwd=folder, capture_output=True, text=True, timeout=400, env=environment
    )


def test_a_board_that_fails_as_a_rig_is_put_in_quarantine_and_the_night_is_not_green(tmp_path: Path) -> None:
    done = session(tmp_path, GONE, 4)
    assert done.returncode == 75 and "history:" not in done.stdout, done.stdout
    run = read_run(tmp_path / "reports" / "latest")
    assert [trial.stage for trial in run.trials] == ["bench", "bench", "bench", "quarantine"]
    assert [bool(trial.quarantine) for trial in run.trials] == [False, False, True, True]
    said = run.trials[-1].reason
    assert said == run.trials[-2].quarantine and said.endswith("mend it, then `hil lab release stm32h7b3`.")
    assert "because the serial port 00112233445566 that rig.toml names for stm32h7b3 is not attached)" in said
    summary = summary_of(run)
    assert "4 are blocked by the rig, 1 board is in quarantine" in summary.sentence
    assert summary.judgement == "cannot tell" and summary.quarantined == (said,)
    assert "### Boards in quarantine" in markdown(summary)
    page = (run.folder / "index.html").read_text()
    assert page.index("is in quarantine since") < page.index('id="verdicts"'), "on the first screen"
    with History.open(address_of(None, tmp_path / "reports")) as history:
        assert quarantines(history).keys() == {BoardKey("", BOARD, "")}


def test_device_tests_count_too(tmp_path: Path) -> None:
    done = session(tmp_path, GONE, 4, text=DEVICE_TEST)
    assert done.returncode == 75 and "history:" not in done.stdout, done.stdout
    run = read_run(tmp_path / "reports" / "latest")
    assert [each.verdict for each in run.device_tests] == ["blocked"] * 4
    assert [each.stage for each in run.device_tests][-1] == "quarantine"
    assert [bool(each.quarantine) for each in run.device_tests] == [False, False, True, True]
    assert summary_of(run).quarantined == (run.device_tests[-1].reason,)


@pytest.fixture
def attached(tmp_path: Path) -> Iterator[StandIn]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    stand_in = start_virtual(boards.load(BOARD), image_of(BOARD), tmp_path / "board.log")
    yield stand_in
    stand_in.stop()


@pytest.mark.tier("nightly")
def test_a_board_that_a_person_put_in_quarantine_runs_again_when_it_is_released(
    attached: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ends = attached.endpoints
    rig = f'[[board]]\nname = "{BOARD}"\nprobe = "{ends.probe}"\nserial = "{ends.serial}"\n'
    Path("rig.toml").write_text(rig)
    assert main(["lab", "quarantine", BOARD, "--why", "its cable is loose"]) == 0
    assert session(tmp_path, rig, 1).returncode == 75
    (trial,) = read_run(Path("reports/latest")).trials
    assert trial.stage == "quarantine" and "by hand since" in trial.reason and "(its cable is loose)" in trial.reason
    assert "QUARANTINE" in (main(["lab"]), capsys.readouterr().out)[1]
    assert main(["lab", "--page", "lab.html"]) == 0
    assert "<h1>Lab: 1 board, 1 in quarantine</h1>" in Path("lab.html").read_text()
    assert main(["lab", "release", BOARD]) == 0
    done = session(tmp_path, rig, 1, "--reflash")
    assert done.returncode == 0, done.stdout
    capsys.readouterr()
    assert main(["lab", "--json"]) == 0
    (board,) = json.loads(capsys.readouterr().out)["boards"]
    health = board["health"]
    assert board["quarantine"] is None and health["last"]["verdict"] == "pass" and health["programmed"] == 1
    assert health["failures"] == {"quarantine": 1} and health["use_s"] > 0 and health["nights"] == 2


@pytest.mark.parametrize(
    "words",
    [
        ("weights", "save", "w.npz"),
        ("campaign", "start", "mine", "--steps=2"),
        ("mlperf-tiny", "--network=resnet-tiny"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_use_a_board_refuse_one_in_quarantine(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a quarantine they say that the board is not attached, and make no history."""
    monkeypatch.chdir(tmp_path)
    Path("rig.toml").write_text(GONE)

    def said(*more: str) -> str:
        assert main([*words, f"--board={BOARD}", *more]) not in (0, 1)
        out = capsys.readouterr()
        return out.err + out.out

    monkeypatch.setattr("hil.training.campaign.run.PAUSE_S", 0.0)
    told = said()
    assert "is not attached" in told and "note:" not in told and not Path("reports/history.sqlite").exists()
    assert main(["lab", "quarantine", BOARD, "--why", "its cable is loose"]) == 0
    capsys.readouterr()
    shutil.rmtree("mine", ignore_errors=True)
    told = said()
    assert "stm32h7b3 is in quarantine by hand since" in told and "not attached" not in told
    assert "(its cable is loose): mend it, then `hil lab release stm32h7b3`." in told
    away = '[history]\nurl = "postgresql+psycopg://me:secret@127.0.0.1:1/night"\n'
    Path("rig.toml").write_text(GONE + away)
    shutil.rmtree("mine", ignore_errors=True)
    told = said()
    assert "is not attached" in told and told.count("note: whether a board is in quarantine is not known: ") == 1


def test_a_certificate_refuses_a_board_in_quarantine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rig.toml").write_text(GONE)
    assert main(["lab", "quarantine", BOARD, "--why", "its cable is loose"]) == 0
    outcome = on_bench(TrialSpec(BOARD, "cls1", steps=1, evaluate=0), tmp_path)
    assert (outcome.verdict, outcome.stage) == ("blocked", "quarantine")


def test_stand_ins_are_never_in_quarantine(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    bench = Bench(board=[BenchBoard(name=BOARD, serial="/dev/none")])
    with Rig(bench, reality="virtual", kept_off=lambda board, place: "never asked") as rig:
        assert not rig.attached(BOARD)
        with rig.take(boards.load(BOARD), image_of(BOARD), tmp_path / "log") as taken:
            assert taken.endpoints.reality == "virtual"


def test_each_error_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rig.toml").write_text(GONE)

    def hil(*words: str) -> tuple[int, str]:
        code = main(["lab", *words])
        out = capsys.readouterr()
        return code, out.err or out.out

    code, said = hil()
    assert code == 0 and "stm32h7b3  free" in said and said.count("there is no history at") == 1
    assert hil("quarantine", BOARD)[1].startswith("hil: hil lab quarantine NAME: say why")
    assert hil("release", BOARD, "--why", "x")[1].startswith("hil: hil lab release NAME: leave --why out")
    assert (
        hil("release")[1]
        == "hil: hil lab release needs the name of a board, its ID or its labgrid place: see `hil lab`.\n"
    )
    wrong = "hil: no board, board ID or labgrid place is called 'stm32h7': did you mean stm32h7b3?\n"
    assert hil("release", "stm32h7") == (2, wrong)
    assert hil("release", BOARD) == (0, "stm32h7b3 is not in quarantine.\n")
    Path("rig.toml").write_text(GONE.replace("= 3", "= 1"))
    assert "key quarantine_after" in hil()[1] and "greater than or equal to 2" in hil()[1]
    away = f'{GONE}[history]\nurl = "postgresql+psycopg://me:secret@127.0.0.1:1/night"\n'
    Path("rig.toml").write_text(
        away + '[[board]]\nname = "rp2040"\nplace = "x"\n[labgrid]\ncoordinator = "127.0.0.1:1"\n'
    )
    code, said = hil()
    assert code == 0 and "free" in said and "not known here" in said and "secret" not in said
    assert said.count("note: ") == 2 and "does not answer" in said and "labgrid" in said
