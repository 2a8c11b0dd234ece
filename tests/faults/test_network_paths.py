"""Trials whose board is behind a network, its port exported by the real ser2net: the same verdict, weights, cycles and windows."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from functools import partialmethod

import pytest

from hil.link.pending_request import PendingRequest
from hil.link.transport import Transport
from hil.rig import Bench, Rig
from hil.training.trial.stages import Watch
from hil.trial import EnergyWindows, TrialSpec, run_trial
from tests.faults.lines.exported import OverNetwork, program
from tests.faults.lines.path import Path

NIGHTLY = pytest.mark.tier("nightly")
SPEC = TrialSpec("stm32h7b3", "cls1", batch=2, steps=2, evaluate=0)
MEASURED = TrialSpec(
    "stm32h7b3", "cls1", batch=8, steps=6, evaluate=16, energy=EnergyWindows(windows=2, steps=2, idle_ms=20)
)
POLL_CYCLES = 401  # of the virtual stm32h7b3, for the interrupt of a poll
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
@pytest.mark.parametrize("round_s", [0.02, 0.1])
def test_a_trial_whose_probe_is_behind_the_network_too(over, round_s):
    outcome = over(SPEC, "rfc2217", round_s, probe=True)
    assert outcome.verdict == "pass", outcome.reason


@contextlib.contextmanager
def silent():
    """Let the host poll no step: on a busy computer one takes more than the second after which it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PendingRequest, "is_poll_due", lambda request, now: False)
        yield


@pytest.fixture(scope="module")
def local(rig, tmp_path_factory):
    with silent():
        outcome = run_trial(MEASURED, rig, tmp_path_factory.mktemp("local"))
    assert outcome.verdict == "pass", outcome.reason
    return outcome


@NIGHTLY
@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
@pytest.mark.parametrize(("round_s", "loss"), NETWORKS)
def test_latency_changes_neither_cycles_nor_energy_windows(over, local, kind, round_s, loss, record_property):
    """The board's own marks bound a window, so its length is the board's, on a path of any length."""
    started = time.monotonic()
    with silent():
        outcome = over(MEASURED, kind, round_s, loss)
    record_property("seconds", time.monotonic() - started)
    record_property("frames repeated", outcome.link.frames_repeated)
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.final_digests == local.final_digests
    assert [row.cycles for row in outcome.steps] == [row.cycles for row in local.steps], "to the cycle"
    assert outcome.laps_s == pytest.approx(local.laps_s, rel=1e-6)
    for ours, theirs in zip(outcome.energy.windows, local.energy.windows, strict=True):
        assert ours.duration == pytest.approx(theirs.duration, rel=1e-3), "the meter dates both edges in its own time"
    assert outcome.energy.per_step == pytest.approx(local.energy.per_step, rel=0.05)


@NIGHTLY
def test_a_poll_costs_the_step_that_it_interrupts_one_receive_interrupt(rig, tmp_path, monkeypatch):
    """docs/bench.md: what makes the cycles of a compared step differ, on any line."""
    spec = TrialSpec("stm32h7b3", "cls1", batch=8, steps=4, evaluate=0)
    (tmp_path / "silent").mkdir()
    with silent():
        undisturbed = run_trial(spec, rig, tmp_path / "silent")
    monkeypatch.setattr(Transport, "request", partialmethod(Transport.request, poll_after_s=0.02))
    (tmp_path / "polled").mkdir()
    polled = run_trial(spec, rig, tmp_path / "polled")
    assert (undisturbed.verdict, polled.verdict) == ("pass", "pass")
    more = [
        ours.cycles[phase] - theirs.cycles[phase]
        for ours, theirs in zip(polled.steps, undisturbed.steps, strict=True)
        for phase in ours.cycles
        if phase != "total"
    ]
    assert sum(more) >= POLL_CYCLES
    # a poll at the end of half a ring of the DMA interrupts twice
    assert sum(each % POLL_CYCLES == 0 for each in more) >= len(more) - 2, more


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
