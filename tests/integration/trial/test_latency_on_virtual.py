"""Latency on virtual boards: every step counted, and a counter that wraps within a step loses nothing."""

import contextlib

import pytest

from hil.images import image_of
from hil.link.session import Session, fresh_nonce
from hil.standins import start_virtual
from hil.targets import connect_options
from hil.targets.pyocd_session import PyocdSession
from hil.targets.serial_port import open_serial
from hil.training.trial.device import Device
from hil.training.trial.latency_counts import LAP_PHASES
from hil.training.trial.lockstep import LockStep
from hil.training.trial.lockstep_outcome import LockStepOutcome
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import LatencySteps, TrialSpec, Watch, run_trial

DWT_CYCCNT = 0xE0001004  # ARM DDI 0403E.e, C1.8.8
SYSTICK_ROUND = 1 << 24
NIGHTLY = pytest.mark.tier("nightly")


@pytest.fixture(autouse=True)
def _bench_installed():
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


@contextlib.contextmanager
def on_virtual_board(spec, log):
    """A trial that has begun, and pyOCD beside it, which may write."""
    prepared = prepare(spec)
    stand_in = start_virtual(prepared.board, prepared.image, log)
    probe = PyocdSession()
    port = open_serial(stand_in.endpoints.serial, prepared.board.baud)
    try:
        probe.connect(stand_in.endpoints.probe, prepared.board.pyocd_target, connect_options.options(prepared.board))
        assert probe.program(prepared.image.segments, False) in ("held", "programmed")
        probe.reset()
        device = Device(Session(port, fresh_nonce()), prepared.board, prepared.image)
        found = LockStepOutcome(prepared, "virtual", device.clock_hz)
        trial = LockStep(found, device, None, Watch())
        trial.begin()
        yield trial, probe._target
    finally:
        port.close()
        probe.close()
        stand_in.stop()


def steps_of(board, log, preset, batch=1, steps=4):
    """Train some steps, the counter brought near its end before each; return their cycles."""
    with on_virtual_board(TrialSpec(board, "cls1", batch=batch, steps=steps, evaluate=0), log) as (trial, target):
        train, trial.device.step = trial.device.step, None

        def step(number, count):
            preset(target, number)
            return train(number, count)

        trial.device.step = step
        trial.train()
        assert trial.outcome.difference is None
        return [row.cycles for row in trial.outcome.steps]


@NIGHTLY
def test_a_dwt_counter_that_wraps_within_a_step(tmp_path):
    plain = steps_of("stm32f746", tmp_path / "plain", lambda target, step: None)
    total = plain[0]["total"]
    ends = [50, total // 2, total * 9 // 10, 1]  # cycles to go when the step begins, but for what the request takes
    wrapped = steps_of(
        "stm32f746", tmp_path / "wrapped", lambda target, step: target.write32(DWT_CYCCNT, 2**32 - ends[step] - 100_000)
    )
    for found, expected in zip(wrapped, plain, strict=True):
        for phase, cycles in expected.items():
            assert found[phase] == pytest.approx(cycles, rel=1e-4, abs=200), "but for an interrupt or two"


@NIGHTLY
def test_systick_counts_on_through_its_wraps_and_those_of_32_bits(tmp_path):
    image = image_of("rp2040")
    wraps = image.symbols["wraps"]
    plain = steps_of("rp2040", tmp_path / "plain", lambda target, step: None, 8, 2)
    wrapped = steps_of("rp2040", tmp_path / "wrapped", lambda target, step: target.write32(wraps, 0xFF), 8, 2)
    single = steps_of("rp2040", tmp_path / "single", lambda target, step: None)
    for found, expected in zip(wrapped, plain, strict=True):
        assert found["total"] == pytest.approx(expected["total"], rel=1e-4)
        assert found["total"] > SYSTICK_ROUND, "every step wraps, and is the one in which the 32 bits do"
        assert found["forward"] == pytest.approx(8 * single[0]["forward"], rel=0.1), (
            "eight samples; a wrap that is lost is seven tenths of them"
        )


@pytest.mark.parametrize(("layers", "steps"), [(False, 40), (True, 3)])
def test_a_trial_with_latency(virtual_rig, tmp_path, layers, steps):
    spec = TrialSpec("stm32h7b3", "cls1", batch=1, steps=1, evaluate=0, latency=LatencySteps(steps, layers))
    outcome = run_trial(spec, virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    latency = outcome.latency
    assert latency.steps == steps and latency.counter == "dwt"
    assert outcome.autonomous == steps + 1, "in one more, the probe watches the calls of the layers"
    assert len(latency.digests) == (steps if layers else 2), "one a run"
    assert latency.booking.least > 0
    compared = outcome.steps[0].cycles
    assert min(latency.laps["forward"]) == pytest.approx(compared["forward"], rel=0.1)
    if layers:
        for way in ("forward", "backward"):
            assert [sum(step) for step in zip(*latency.layers[way].values(), strict=True)] == latency.laps[way]


@pytest.mark.parametrize(("method", "variant", "settings"), [
    ("poor-mans-training", "adaptive", {"queries": 2}), pytest.param("poor-mans-training", "model-node", {"queries": 2, "fused": 1}, marks=NIGHTLY),
    pytest.param("deepzero", "last-sparse", {}, marks=NIGHTLY), ("mcutrain", "block3", {"consumed": 1}),
])  # fmt: skip
def test_a_graph_s_steps_are_counted_with_their_readings(virtual_rig, method, variant, settings, tmp_path):
    """One reading at least for each run of a layer; what is told of the whole is what the phases come to, less the readings."""
    spec = TrialSpec(
        "stm32h7b3", variant, "resnet-tiny", method, batch=1, steps=1, evaluate=0, settings=settings, latency=LatencySteps(3, layers=True),
    )  # fmt: skip
    outcome = run_trial(spec, virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    latency = trial_record(outcome).latency
    readings = outcome.latency.bookings
    assert latency["steps"] == len(readings) == 3 and min(readings) >= outcome.work.layer_runs
    total = latency["phases"]["total"]
    assert total["subtracted"] == min(readings) * latency["booking"]["least"]
    assert sum(latency["phases"][phase]["mean"] for phase in LAP_PHASES) - total["subtracted"] == pytest.approx(
        total["mean"]
    )
    layers = sum(layer["mean"] for of_direction in latency["layers"].values() for layer in of_direction.values())
    assert layers == pytest.approx(latency["phases"]["forward"]["mean"] + latency["phases"]["backward"]["mean"])


def test_a_step_that_trains_reads_its_counter_more_often_than_one_that_ranks(virtual_rig, tmp_path):
    """The first step of TinyTrain ranks: its readings are no bound on those of other passes."""
    spec = TrialSpec(
        "stm32h7b3", "budget", "resnet-tiny", "tinytrain", batch=2, steps=1, evaluate=0, latency=LatencySteps(2)
    )
    outcome = run_trial(spec, virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    assert len(set(outcome.latency.bookings)) == 1
    assert min(outcome.latency.bookings) > outcome.work.bookings, "outcome.work is that of the step that ranks"
