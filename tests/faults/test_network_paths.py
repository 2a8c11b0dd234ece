"""Trials whose board is behind a network, its port exported by the real ser2net: the same verdict, weights, cycles and windows."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from hil.rig import Bench, Rig
from hil.trial import EnergyWindows, TrialSpec, run_trial
from hil.trial.callbacks import Watch
from tests.faults.lines.exported import OverNetwork, program
from tests.faults.lines.path import Path

NIGHTLY = pytest.mark.tier("nightly")
SPEC = TrialSpec("stm32h7b3", "cls1", batch=2, steps=2, evaluate=0)
MEASURED = TrialSpec(
    "stm32h7b3", "cls1", batch=8, steps=6, evaluate=16, energy=EnergyWindows(windows=2, steps=2, idle_ms=20)
)
# round trip in s, chance of a lost segment
NETWORKS = [(0.001, 0.0), (0.02, 0.0), (0.1, 0.0), (0.02, 0.01), (0.1, 0.01)]


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    program("ser2net")
    with Rig(Bench(), tmp_path_factory.mktemp("benches"), reality="virtual") as rig:
        yield rig


@pytest.fixture
def over(rig, tmp_path):
    """Run a trial over a network and return its outcome."""

    def run(spec, kind, round_s, loss=0.0, watch=None, probe=False):
        seeds = itertools.count()
        path = lambda: Path(round_s / 2, jitter_s=round_s / 20, loss=loss, seed=next(seeds))  # noqa: E731
        network = OverNetwork(rig, kind, path, tmp_path, probe)
        return run_trial(spec, network, tmp_path, watch=watch(network) if watch else Watch())

    return run


@pytest.mark.parametrize("kind", ["rfc2217", pytest.param("socket", marks=NIGHTLY)])
def test_a_trial_over_a_network(over, kind):
    outcome = over(SPEC, kind, 0.02)
    assert outcome.verdict == "pass", outcome.reason


@NIGHTLY
def test_a_trial_whose_probe_is_behind_the_network_too(over):
    outcome = over(SPEC, "rfc2217", 0.02, probe=True)
    assert outcome.verdict == "pass", outcome.reason


@pytest.fixture(scope="module")
def local(rig, tmp_path_factory):
    outcome = run_trial(MEASURED, rig, tmp_path_factory.mktemp("local"))
    assert outcome.verdict == "pass", outcome.reason
    return outcome


@NIGHTLY
@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
@pytest.mark.parametrize(("round_s", "loss"), NETWORKS)
def test_latency_changes_neither_cycles_nor_energy_windows(over, local, kind, round_s, loss, record_property):
    """The board's own marks bound a window, so its length is the board's, on a path of any length."""
    started = time.monotonic()
    outcome = over(MEASURED, kind, round_s, loss)
    record_property("seconds", time.monotonic() - started)
    record_property("frames repeated", outcome.link.frames_repeated)
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.final_digests == local.final_digests
    # in a step that takes more than a second of real time, the host's polls interrupt the core, on any line
    for ours, theirs in zip(outcome.steps, local.steps, strict=True):
        assert ours.cycles["total"] == pytest.approx(theirs.cycles["total"], rel=1e-3)
    # the windows are silent
    assert outcome.laps_s == pytest.approx(local.laps_s, rel=1e-6)
    for ours, theirs in zip(outcome.energy.windows, local.energy.windows, strict=True):
        assert ours.duration == pytest.approx(theirs.duration, rel=1e-3), "the meter dates both edges in its own time"
    assert outcome.energy.per_step == pytest.approx(local.energy.per_step, rel=0.05)


def after_a_step(act):
    """Do something with the network once, after the first step."""

    def watch(network):
        once = threading.Event()

        def step(_):
            if not once.is_set():
                once.set()
                act(network)

        return Watch(step=step)

    return watch


@pytest.mark.parametrize("kind", ["socket", pytest.param("rfc2217", marks=NIGHTLY)])
def test_a_connection_that_is_cut_in_a_trial_blocks_it(over, kind):
    outcome = over(SPEC, kind, 0.001, watch=after_a_step(lambda network: network.serial.cut()))
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
    assert f"the connection to {kind}://127.0.0.1:" in outcome.reason and "was cut" in outcome.reason


@NIGHTLY
@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_network_that_goes_silent_in_a_trial_blocks_it(over, kind):
    outcome = over(SPEC, kind, 0.001, watch=after_a_step(lambda network: network.serial.stop()))
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
