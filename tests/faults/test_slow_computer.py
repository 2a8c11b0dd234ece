"""On a computer ten times slower than this one a stand-in is slow, not blocked; one that is stopped is found, and named."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from hil.dut import opened
from hil.errors import Blocked
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.targets import probe
from hil.trial import TrialSpec, Watch, run_trial
from tests.faults.slowed import children, ten_times_slower

BOARD, QEMU = "rp2040", "mps2-an500"
SPEC = TrialSpec(BOARD, "cls1", batch=1, steps=2, evaluate=0)


@pytest.fixture
def virtual() -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def test_a_slow_stand_in_starts_and_its_probe_connects(
    virtual: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadlines are short, so that they end within the test if they do not follow what the processes can do."""
    monkeypatch.setattr(probe, "DEADLINES_S", dict.fromkeys(probe.DEADLINES_S, 2.0))
    with (
        ten_times_slower(),
        Rig(Bench(), reality="virtual") as rig,
        opened(rig, BOARD, None, tmp_path) as dut,
    ):
        dut.connect()
        dut.reset()
        assert len(dut.probe.read(0x20000000, 4096)) == 4096


@pytest.mark.tier("nightly")
def test_a_trial_on_a_slow_computer(virtual: None, tmp_path: Path) -> None:
    with ten_times_slower(), Rig(Bench(), reality="virtual") as rig:
        outcome = run_trial(SPEC, rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason


@pytest.mark.tier("nightly")
def test_a_trial_on_qemu_on_a_slow_computer(tmp_path: Path) -> None:
    with ten_times_slower(), Rig(Bench(), reality="qemu") as rig:
        outcome = run_trial(TrialSpec(QEMU, "cls1", batch=1, steps=2, evaluate=0), rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason


def stopped(spec: TrialSpec, reality: str, which: str, stage: str, folder: Path) -> str:
    """Stop the processes of which the command line has a word when a stage begins; return the reason of the trial."""

    def stop(name: str) -> None:
        if name != stage:
            return
        for pid in children(os.getpid()):
            if which in Path("/proc", str(pid), "cmdline").read_text():
                os.kill(pid, signal.SIGSTOP)

    with Rig(Bench(), reality=reality) as rig:
        outcome = run_trial(spec, rig, folder, watch=Watch(stage=stop))
    assert outcome.verdict == "blocked", outcome.reason
    return outcome.reason


@pytest.mark.parametrize("stage", ["connect", "flash", pytest.param("train", marks=pytest.mark.tier("nightly"))])
def test_a_virtual_board_that_is_stopped_is_named(virtual: None, tmp_path: Path, stage: str) -> None:
    reason = stopped(SPEC, "virtual", "hil.standins.virtual", stage, tmp_path)
    assert f"{BOARD} is stopped: continue its process with `kill -CONT " in reason


def test_a_qemu_that_is_stopped_is_named(tmp_path: Path) -> None:
    reason = stopped(
        TrialSpec(QEMU, "cls1", batch=1, steps=2, evaluate=0), "qemu", "qemu-system-arm", "train", tmp_path
    )
    assert "the stand-in qemu-system-arm is stopped: continue its process with `kill -CONT " in reason


def test_a_process_of_the_probe_that_is_stopped_is_named(virtual: None, tmp_path: Path) -> None:
    reason = stopped(SPEC, "virtual", "hil.targets.probe_child", "flash", tmp_path)
    assert "the process of the probe" in reason and "was stopped by a signal: run again" in reason


def test_no_advice_names_what_a_stand_in_has_not(virtual: None, tmp_path: Path) -> None:
    """A request that its probe never answers: pyOCD waits for a word of a server that has gone."""
    with Rig(Bench(), reality="virtual") as rig, opened(rig, BOARD, None, tmp_path) as dut:
        dut.connect()
        assert dut.endpoints.process is not None
        os.kill(dut.endpoints.process, signal.SIGKILL)
        with pytest.raises(Blocked) as blocked:
            dut.probe.read(0x20000000, 4096)
    assert "bench.log" in blocked.value.reason
    for word in ("cable", "unplug", "pyocd server", "port"):
        assert word not in blocked.value.reason
