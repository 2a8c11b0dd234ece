"""A run on disk as a reader of the report gets it, built from trial records alone."""

import json

import numpy as np
import pytest

from hil.energy.capture import Capture, Edge
from hil.record import RunWriter, TrialExtras, TrialRecord
from hil.record.parquet import rows_of
from hil.record.sums import sums_of, write_sums
from hil.report.power import Trace
from hil.step_digest import step_digest

CYCLES = {"perturb": 3_383_361, "forward": 32_601_119, "backward": 504_653, "update": 2_867_450, "digest": 128_286}
SRAM = {"static": 18_720, "arena_peak": 182_592, "stack_peak": 1_220, "total": 202_532}
LIMITS = {"budget": 262_144, "planned": 182_592, "analytic": 503_430}
LAYERS = ["conv1", "conv2", "fc1", "fc2", "fc3"]
DIGESTS = ["0badf00d", "11111111", "22222222", "33333333", "44444444"]
FINAL = step_digest([int(digest, 16) for digest in DIGESTS])


def make_steps(count, seed=1):
    """Losses that fall with noise, the same on both sides, as float32 sums over a batch of 8."""
    noise = np.random.default_rng(seed).normal(0, 1.5, count)
    plus = np.float32(18.4 - 9 * np.arange(count) / max(count, 1) + noise).astype(float)
    table = {"step": range(count), "loss_plus": plus, "loss_minus": plus - 0.1}
    table |= {"reference_loss_plus": plus, "reference_loss_minus": plus - 0.1, "sign": 1, "match": True}
    cycles = CYCLES | {"total": sum(CYCLES.values())}
    table |= {f"cycles_{phase}": mean for phase, mean in cycles.items()}
    return {name: np.broadcast_to(column, count).copy() for name, column in table.items()}


def make_trial(**changes):
    fields = {
        "board": "stm32h7b3", "core": "cortex-m7", "reality": "virtual", "network": "lenet5",
        "method": "elasticzo-int8", "variant": "cls1", "data": "fashion-mnist-1k", "batch": 8, "seed": 1,
        "steps": 200, "bit_exact": True, "steps_compared": 200, "first_difference": None, "final_digest": f"{FINAL:08x}",
        "accuracy": {"before": 0.096, "after": 0.668, "reference_after": 0.668, "n": 500}, "sram": SRAM | LIMITS,
        "sram_provenance": dict.fromkeys(SRAM, "counted") | dict.fromkeys(LIMITS, "analytic"),
        "cycles": CYCLES | {"total": sum(CYCLES.values())}, "cycles_provenance": "modelled",
        "clock_hz": 280_000_000, "step_time_s": sum(CYCLES.values()) / 280e6,
        "image_sha256": "a" * 64, "network_sha256": "b" * 64, "data_sha256": "c" * 64, "verdict": "pass", "reason": "",
        "settings": {"partition": 3, "b_zo": 1, "r_max": 7}, "layers": LAYERS, "digests": DIGESTS,
        "probe_checks": 4, "probe_agreed": 4, "sram_probe": {name: SRAM[name] for name in list(SRAM)[:3]},
        "link": {"frames_sent": 3_040, "naks": 0, "bytes_sent": 2_186_681}, "wall_s": 41.2,
    }  # fmt: skip
    if changes.get("step_time_s") and "cycles" not in changes:  # the cycles follow from the time of a step
        total = changes["step_time_s"] * fields["clock_hz"]
        scale = total / fields["cycles"]["total"]
        fields["cycles"] = {phase: round(mean * scale) for phase, mean in fields["cycles"].items()} | {
            "total": round(total)
        }
    if changes.get("reality") == "hardware":
        fields["cycles_provenance"] = "measured"
    return TrialRecord(**(fields | changes))


def blocked_trial(reason, **changes):
    nothing = {"bit_exact": None, "steps_compared": 0, "final_digest": None, "cycles": {}, "clock_hz": None}
    nothing |= {"step_time_s": None, "digests": [], "sram_probe": None, "link": {}, "probe_checks": 0}
    accuracy = {"before": None, "after": None, "reference_after": None, "n": 0}
    nothing |= {"reality": None, "accuracy": accuracy, "sram": dict.fromkeys(SRAM) | LIMITS}
    return make_trial(**{"verdict": "blocked", "stage": "bench", "reason": reason} | nothing | changes)


def figure_of(value, unit, uncertainty=None, provenance="modelled"):
    return {"value": value, "unit": unit, "uncertainty": uncertainty, "provenance": provenance}


WINDOW = {
    "gross": 0.0881,
    "idle": 0.03242,
    "net": 0.05568,
    "burden": 1.6e-4,
    "idle_burden": 4e-5,
    "burden_share": 0.5,
    "duration": 0.281,
    "readings": 125,
}
ENERGY = {
    "per_step": figure_of(0.0278, "J", 9.3e-5) | {"coverage_factor": 2.0, "dof": 31.4, "interval": [0.0276, 0.028]}, "gross": figure_of(0.088, "J", 1e-5),
    "idle": figure_of(0.0324, "J", 6e-6), "net": figure_of(0.0556, "J", 1.9e-4), "idle_power": figure_of(0.1155, "W"),
    "active_power": figure_of(0.3131, "W"), "duration": figure_of(0.281, "s"), "steps_per_window": 2,
    "rules": None, "phases": {"seconds": {"perturb": 1e-3}, "refused": "too short."}, "windows": [WINDOW] * 6, "laps_s": [0.14, 0.141],
    "budget": [{"source": "current gain", "kind": "B", "standard_uncertainty": 9.3e-5, "share": 0.25}],
    "meter": {"name": "Keithley 2450", "identity": "MODEL 2450", "range": 0.1}, "assumptions": ["currents are assumed."],
    "flags": ["only 5 readings a step."],
}  # fmt: skip
PLAN = {
    "total": 300, "slots": ["conv1", "loss", "conv1 backward", "perturb, update"],
    "buffers": [
        {"name": "blob", "size": 200, "offset": 0, "first": 0, "last": 3}, {"name": "act[0]", "size": 100, "offset": 200, "first": 0, "last": 1},
        {"name": "err[0]", "size": 64, "offset": 200, "first": 2, "last": 2}, {"name": "noise", "size": 96, "offset": 200, "first": 3, "last": 3},
    ],
}  # fmt: skip
GRADIENTS = {
    "left_out": "", "steps": [0, 199],
    "layers": [
        {"layer": "conv1", "channels": 4, "weights": 5, "down": 2, "across": 3, "maps": [
            {"largest": 2.0, "kept": 4, "rows": ["10ff", "0080"]}, {"largest": 0.5, "kept": 1, "rows": ["", "ff80"]},
        ]},
        {"layer": "fc2", "channels": 2, "weights": 3, "down": 1, "across": 1, "maps": [
            {"largest": 1.5, "kept": 2, "rows": ["ff0000", "00007f"]}, {"largest": 0.75, "kept": 2, "rows": ["ff0000", "00007f"]},
        ]},
    ],
}  # fmt: skip
WHOLE = {
    "slots": 8, "memory_plan": PLAN, "sram": SRAM | LIMITS | {"planned": 300}, "energy": ENERGY, "profile": {"forward": {"conv1": 6_000_128}, "backward": {"conv1": 5_120}},
    "analytic": {"equation": "(15)", "bytes": 503_430, "macs_forward": 693_000, "weights": 107_550, "weights_by_zo": 96_630},
    "evaluations": [{"step": 0, "board": 0.096, "reference": 0.096, "n": 500}, {"step": 200, "board": 0.668, "reference": 0.668, "n": 500}],
    "schedule": [{"step": 50, "b_bp": 4}],
}  # fmt: skip


def make_captures(first_s=7.0):
    """What a meter saw of one window: asleep, two steps, asleep."""
    t = np.arange(-0.1, 0.38, 0.00225) + first_s
    power = np.where((t >= first_s) & (t < first_s + 0.281), 0.31, 0.115)
    edges = (Edge(first_s, 0.0, True), Edge(first_s + 0.281, 0.0, False))
    return [Capture(t, power, power / 3.3, np.full(len(t), 3.3), 0.00225, 0.00225, edges, 0.1, 0)]


def make_trace(end_s=0.281, half_s=0.0, aperture_s=0.00225):
    """The same as a page has it from power.parquet."""
    t = np.arange(-0.1, 0.38, 0.00225)
    busy = (t >= 0) & (t < 0.281)
    phase = np.where(t < 0, "idle before", np.where(busy, "steps", "idle after"))
    power = {"t_s": t, "power_w": np.where(busy, 0.31, 0.115), "phase": phase}
    return Trace(power, (Edge(0.0, half_s, True), Edge(end_s, half_s, False)), aperture_s)


def agreeing(trial, steps):
    """The trial and its table as a session writes them: with as many rows as steps, which end on the same digest."""
    if not trial.steps_compared:
        return trial, steps
    steps = dict(steps) if rows_of(steps) else make_steps(trial.steps_compared)
    count = rows_of(steps)
    steps["digest"] = np.full(count, FINAL)
    for phase, mean in trial.cycles.items():
        steps[f"cycles_{phase}"] = np.full(count, mean)
    changes = {"steps_compared": count}
    if trial.steps == trial.steps_compared:
        changes["steps"] = count
    if trial.evaluations and trial.evaluations[-1]["step"] == trial.steps:
        changes["evaluations"] = [*trial.evaluations[:-1], trial.evaluations[-1] | {"step": count}]
    return trial.model_copy(update=changes), steps


def list_again(run):
    """Write SHA256SUMS again, so that an edited file is read and not only named."""
    facts = json.loads((run / "results.json").read_text())["run"]
    write_sums(run, sums_of(run, facts, pages=False))


@pytest.fixture
def record(tmp_path):
    """Record trials, given as (record, steps) pairs, and what else was asked for, and return the folder of the run."""

    def write(*pairs, power=(), tests=(), **finished):
        run = RunWriter.begin(tmp_path / "reports")
        run.plan(tests)
        for trial, steps in pairs:
            trial, steps = agreeing(trial, steps)
            captures = list(power) * len(trial.energy["windows"]) if trial.energy else ()
            run.write_trial(trial, steps, run.trial_folder(f"{trial.board}-{trial.variant}"), TrialExtras(captures))
        bad = [test for test in run.tests if test.verdict in ("fail", "blocked", "refused", "interrupted")]
        run.finish(**{"exit_code": int(bool(bad))} | finished)
        return run.folder

    return write


def latency_group(mean, bookings=3):
    """One phase or layer as the record has it."""
    return {
        "n": 100, "mean": mean + 0.25, "median": mean + 1.0, "sd": 12.5, "least": mean - 20, "most": mean + 39, "p5": mean - 15.0,
        "p95": mean + 20.0, "p99": mean + 30.0, "bookings": bookings, "subtracted": 8 * bookings, "bound": 2 * bookings,
        "histogram": {"edges": [mean - 20, mean + 10, mean + 40], "counts": [60, 40]},
    }  # fmt: skip


def make_latency(**changes):
    """Latency of a variant that perturbs nothing."""
    phases = {"perturb": latency_group(0, 0), "forward": latency_group(9_000_000), "backward": latency_group(2_000_000)}
    phases |= {"update": latency_group(1_000_000), "total": latency_group(12_000_000), "digest": latency_group(128_000)}
    layers = {
        way: {"conv1": latency_group(4_000_000), "fc1": latency_group(5_000_000)} for way in ("forward", "backward")
    }
    return {
        "steps": 100, "run_steps": 32, "counter": "dwt", "clock_hz": 280_000_000, "provenance": "modelled", "phases": phases,
        "booking": {"n": 101, "least": 8, "median": 8, "most": 10}, "layers": layers, "budget_ms": 75, "judged": "not judged: modelled",
    } | changes  # fmt: skip
