"""A run as a user makes it: pytest on the virtual board, in a process of its own, with trials of several kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hil_output import Hil

from hil.commands.main import main
from hil.record.weights import write_weights
from hil.training.graph.file import encode
from hil.training.networks import build
from tests.built_once import built_once

HANG_S = 1500  # on a busy machine
TESTS = """
import pytest
from hil.trial import EnergyWindows, LatencySteps, TrialSpec

@pytest.mark.budget(sram="512 KiB", step_time="9 s")
def test_measured(hil_board, hil_trial):
    energy = EnergyWindows(windows=2, steps=2)
    spec = TrialSpec(hil_board, "cls1", steps=4, batch=2, evaluate=20, evaluate_every=2, energy=energy, latency=LatencySteps(3))
    assert hil_trial(spec).verdict == "pass"

def test_integers(hil_board, hil_trial):
    settings = {"loss": "integer", "perturb": "exact"}
    hil_trial(TrialSpec(hil_board, "cls2", batch=4, slots=2, steps=3, evaluate=0, settings=settings, schedule=((1, {"b_bp": 4}),)))

def test_graph(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "block2", network="resnet-tiny", method="poor-mans-training", batch=1, steps=2, evaluate=0, settings={"queries": 2}))

def test_fqt(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "uint8", network="fqt-cnn-uint8", method="fqt", batch=2, steps=2, evaluate=0))

def test_float(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls2", network="lenet5-float32", method="elasticzo-fp32", batch=2, steps=2, evaluate=0))

def test_own_network(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", network="OWN", data="DATA", batch=2, steps=2, evaluate=0, keep="ram"))

def test_checkpoint(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", batch=2, steps=2, evaluate=0, first_step=5, checkpoint="CHECKPOINT"))

def test_asserts(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "full-bp", batch=1, steps=1, evaluate=0))
    assert 1 == 2

@pytest.mark.xfail(reason="it is known")
def test_expected(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "full-zo", batch=1, steps=1, evaluate=0))
    assert 1 == 2

def test_refused(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "no-such-variant", steps=1, evaluate=0))
"""
COMMAND = (
    "-m", "pytest", "test_kinds.py", "--board=stm32h7b3", "-p", "no:cacheprovider", "-q", "--junitxml=reports/junit.xml",
    "--report-dir=reports", "-n", "0",
)  # fmt: skip


def project_in(folder: Path) -> None:
    """Write tests, a network, data and a checkpoint."""
    network = build("lenet5", 3)
    (folder / "own.hnet").write_bytes(encode(network))
    write_weights(folder / "start.npz", [layer.weights for layer in build("lenet5", 9).trained])
    rng = np.random.default_rng(5)
    images = rng.integers(0, 256, (24, 28, 28), dtype=np.uint8)
    labels = np.arange(24) % 10
    np.savez(folder / "own.npz", train_x=images[:20], train_y=labels[:20], test_x=images[20:], test_y=labels[20:])  # fmt: skip
    names = {"OWN": "own.hnet", "DATA": str(folder / "own.npz"), "CHECKPOINT": "start.npz"}
    text = TESTS
    for word, name in names.items():
        text = text.replace(f'"{word}"', repr(name))
    (folder / "test_kinds.py").write_text(text)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after its run, made once for all workers; nobody may write into it."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

    def make(folder: Path) -> Path:
        project_in(folder)
        done = subprocess.run(
            [sys.executable, *COMMAND], cwd=folder, capture_output=True, text=True, timeout=HANG_S,
            env=os.environ | {"PYTEST_ADDOPTS": ""}, check=False,
        )  # fmt: skip
        assert "7 passed" in done.stdout, done.stdout + done.stderr
        return folder

    return built_once(tmp_path_factory, "kinds", make)


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of the folder of the run that a test may edit."""
    copy = tmp_path / "reports" / "latest-copy"
    shutil.copytree((made / "reports/latest").resolve(), copy, symlinks=True)
    return copy


@pytest.fixture
def hil(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Hil]:
    """The command `hil` in the folder of the project, where its network and data are. It runs in this process."""

    def call(*words: object, cwd: Path = made) -> Hil:
        monkeypatch.chdir(cwd)
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        return Hil(code, *capsys.readouterr())

    return call


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A key pair as OpenSSL makes it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    private, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    for words in (["genpkey", "-algorithm", "ed25519", "-out", private], ["pkey", "-in", private, "-pubout", "-out", public]):  # fmt: skip
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
    return private, public
