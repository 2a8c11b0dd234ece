"""What a user of the plugin sees: messages, verdicts, exit codes. Every run here is a pytest of its own."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from hil.images import image_of
from hil.standins.renode import other_users_present


@pytest.fixture
def rig(tmp_path):
    def run(*options, rig_toml=None):
        if rig_toml is not None:
            (tmp_path / "rig.toml").write_text(rig_toml)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=junit.xml", *options]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
        )  # a hang, on a busy machine too

    return run


@pytest.fixture
def mine(tmp_path):
    """The name of a file with two tests of a board, as one test starts no workers; they run no trial."""
    (tmp_path / "test_mine.py").write_text(
        "def test_one(hil_board):\n    pass\n\n\ndef test_two(hil_board):\n    pass\n"
    )
    return "test_mine.py"


NIGHTLY = pytest.mark.tier("nightly")
QUICK, TRAININGS = 119, 6  # tests of the quick tier, and those of hil/suite/test_training.py
NAMED = '[[board]]\nname = "stm32h7b3"\nserial = "00112233445566"\n'


def test_a_named_board_that_is_gone_is_blocked_everywhere(rig, tmp_path):
    done = rig("--board=stm32h7b3", "-k", "test_training", rig_toml=NAMED)
    assert done.returncode == 75, done.stdout
    assert f"{TRAININGS} blocked" in done.stdout
    assert "00112233445566" in done.stdout and "not attached" in done.stdout
    results = json.loads((tmp_path / "reports/latest/results.json").read_text())
    assert {(trial["verdict"], trial["stage"], trial["reality"]) for trial in results["trials"]} == {
        ("blocked", "bench", "hardware")
    }
    assert (tmp_path / "reports/latest/index.html").is_file()
    assert (tmp_path / "reports/latest/junit.xml").read_bytes() == (tmp_path / "junit.xml").read_bytes()
    cases = ET.parse(tmp_path / "junit.xml").getroot().iter("testcase")
    properties = [{p.get("name"): p.get("value") for p in case.iter("property")} for case in cases]
    assert [p["verdict"] for p in properties] == ["blocked"] * TRAININGS


def test_the_nightly_tier_is_the_quick_one_and_more(rig):
    quick, nightly = (
        rig("--board=stm32h7b3", "--collect-only", "-q", tier).stdout for tier in ("--tier=quick", "--tier=nightly")
    )
    assert "test_long_training" not in quick
    assert quick.count("::") == QUICK
    assert set(quick.splitlines()[:QUICK]) < set(nightly.splitlines())


def test_hardware_alone_never_takes_a_stand_in(rig):
    done = rig("--board=stm32h7b3", "--reality=hardware", "-n", "0", "-k", "cls2", rig_toml="")
    assert done.returncode == 75
    assert "rig.toml does not name stm32h7b3" in done.stdout


@pytest.mark.parametrize(
    ("options", "rig_toml", "said"),
    [
        (["--board=stm32h7b3"], NAMED, "attached board"),
        (["--board=stm32h7b3"], None, "renode stand-in: no figure below was measured on silicon"),
        (
            ["--board=stm32h7b3", "--reality=virtual"],
            NAMED,
            "virtual stand-in: no figure below was measured on silicon",
        ),
        (["--board=mps2-an500"], None, "qemu stand-in"),
        (["--board=mps2-an500", "--reality=renode"], None, "blocked: mps2-an500 has no renode stand-in"),
        (
            ["--board=stm32h7b3", "--reality=hardware"],
            None,
            "blocked: --reality=hardware, but rig.toml does not name stm32h7b3",
        ),
    ],
)
def test_the_header_says_what_will_be_taken(rig, mine, tmp_path, monkeypatch, options, rig_toml, said):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/renode").write_text("#!/bin/sh\necho Renode v1.16.1.0\n")
    (tmp_path / "bin/renode").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    if other_users_present() and said.startswith("renode"):
        said = "blocked: other users work on this computer"
    assert said in rig(*options, "--collect-only", mine, rig_toml=rig_toml).stdout.splitlines()[2]


def test_the_header_says_why_an_installed_renode_is_not_used(rig, mine, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/renode").write_text("#!/bin/sh\necho 'renode: renames nodes'\n")
    (tmp_path / "bin/renode").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    taken, why = rig("--board=stm32h7b3", "--collect-only", mine).stdout.splitlines()[2:4]
    assert "virtual stand-in: no figure below was measured on silicon" in taken
    assert why.startswith("trainrig: Renode is not used, and virtual stands in for stm32h7b3: ")
    assert "its output is 'renode: renames nodes'" in why


@pytest.mark.parametrize(
    ("options", "rig_toml", "said"),
    [
        (["--board=stm32h7"], None, "did you mean stm32h7b3"),
        (["--board=stm32h7b3"], '[[board]]\nname = "stm32h7b3"\nprob = "1"\n', "rig.toml, line 3, key prob: unknown key: did you mean probe?"),
        (["--board=stm32h7b3"], '[[board]]\nname = "stm32h7b3"\nserial = 5\n', "rig.toml, line 3, key serial:"),
        (["--board=stm32h7b3", "--rig=typo.toml"], None, "--rig=typo.toml: there is no such file"),
        (["--board=stm32h7b3", "--elf=missing.elf"], None, "missing.elf cannot be read"),
        (["--board=stm32h7b3", "--elf=rig.toml"], "", "rig.toml is not an ELF file"),
        (["--board=stm32h7b3", f"--elf={image_of('stm32f746').path}"], None, "is built for stm32f746, not for stm32h7b3"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_one_sentence_and_starts_nothing(rig, tmp_path, options, rig_toml, said):
    done = rig(*options, rig_toml=rig_toml)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
    assert not (tmp_path / "reports").exists()


def test_an_image_that_does_not_match_the_manifest_is_refused(tmp_path, monkeypatch):
    from hil.errors import RigError
    from hil.images import image_of, images

    real = images.PREBUILT
    (tmp_path / "MANIFEST.toml").write_text((real / "MANIFEST.toml").read_text())
    elf = bytearray((real / "stm32h7b3.elf").read_bytes())
    elf[-1] ^= 1
    (tmp_path / "stm32h7b3.elf").write_bytes(elf)
    monkeypatch.setattr(images, "PREBUILT", tmp_path)
    with pytest.raises(RigError, match="does not match MANIFEST.toml"):
        image_of("stm32h7b3")


BOTH = NAMED + '\n[[board]]\nname = "rp2040"\nserial = "99AABBCC"\n'


SIX = """
import pytest
from hil.trial import TrialSpec, does_not_fit

@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("variant", ["cls1", "full-bp"])
def test_training(hil_board, hil_trial, variant, seed):
    spec = TrialSpec(hil_board, variant, seed=seed, steps=1, evaluate=0, batch=1)
    if does_not_fit(spec):
        pytest.skip(does_not_fit(spec))
    hil_trial(spec)
"""


@pytest.mark.parametrize(
    ("paths", "trials"),
    [
        pytest.param(["test_six.py"], {"stm32h7b3": 6, "rp2040": 3}, id="six tests"),
        pytest.param([], {"stm32h7b3": QUICK, "rp2040": QUICK - 1}, id="quick tier", marks=pytest.mark.tier("nightly")),
    ],
)
def test_two_boards_run_side_by_side_into_one_run(rig, tmp_path, paths, trials):
    if paths:
        (tmp_path / "test_six.py").write_text(SIX)
    done = rig("--board=stm32h7b3", "--board=rp2040", "-v", *paths, rig_toml=BOTH)
    assert done.returncode == 75, done.stdout  # a skip, of what does not fit, is no verdict
    results = json.loads((tmp_path / "reports/latest/results.json").read_text())
    there = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert there[1:] == ["history.sqlite", "latest"], "one run, the history, and `latest`"
    with contextlib.closing(sqlite3.connect(tmp_path / "reports/history.sqlite")) as history:
        folders = {folder for (folder,) in history.execute("SELECT folder FROM trials")}
    assert folders == {trial["folder"] for trial in results["trials"]}, "the trials of both workers"
    boards = [trial["board"] for trial in results["trials"]]
    assert {name: boards.count(name) for name in trials} == trials
    assert done.stdout.count("report: ") == 1
    workers = {
        name: {line.split("]")[0] for line in done.stdout.splitlines() if line.startswith("[gw") and f"[{name}" in line}
        for name in trials
    }
    assert all(len(at) == 1 for at in workers.values()), "an attached board stays with one worker"


SIDE_BY_SIDE = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="trials run side by side on two cores or more")


@SIDE_BY_SIDE
@pytest.mark.parametrize(
    ("options", "workers"),
    [
        ((), True),
        (("-q",), False),
        *(pytest.param(options, False, marks=NIGHTLY) for options in (("-s",), ("--pdb",), ("-n", "0"))),
    ],
)
def test_trials_of_a_stand_in_run_side_by_side_unless_one_looks_into_them(rig, mine, options, workers):
    done = rig("--board=stm32h7b3", "--reality=virtual", *options, mine)
    assert ("workers [" in done.stdout) == workers, done.stdout


def test_one_after_the_other_when_asked(rig):
    done = rig("--board=stm32h7b3", "--board=rp2040", "-n", "0", "-k", "cls2", rig_toml=BOTH)
    assert done.returncode == 75
    assert "workers" not in done.stdout


def test_without_xdist_all_is_as_before(rig):
    done = rig("--board=stm32h7b3", "-p", "no:xdist", "-k", "cls2", rig_toml=NAMED)
    assert done.returncode == 75, done.stderr


def test_a_board_in_use_is_blocked_with_its_holder(rig, tmp_path, monkeypatch):
    from hil.rig.locks import Locks

    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the run looks for locks
    locks = Locks(folder=tmp_path)
    locks.hold("stm32h7b3", ["00112233445566"])
    done = rig("--board=stm32h7b3", "-k", "cls2", rig_toml=NAMED)
    assert done.returncode == 75
    assert "stm32h7b3 is in use: 00112233445566 is held by" in done.stdout
    locks.release()
    assert "not attached" in rig("--board=stm32h7b3", "-k", "cls2", "--wait=5").stdout
