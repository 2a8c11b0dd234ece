"""A night of 200 trials on four boards, with names that would be markup, and what the history says of it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np

from hil.record import AskedTest, Run, read_run
from hil.record.since_last_good import SinceLastGood, nothing_known
from hil.record.verdicts import totals
from hil.report.page import overview_page
from hil.report.views import overview_view

from .conftest import figure_of, make_steps, make_trial

TRIALS = 200
EVIL = "<img src=x onerror=alert(1)>"
BOARDS = ("stm32h7b3", "stm32f746", "nrf52840", "rp2040")
NETWORKS = (("lenet5", "elasticzo-int8"), ("resnet-tiny", "poor-mans-training"), ("lenet5-w16a8", "qzo-ff"), ("fqt-cnn-mixed", "fqt"), (EVIL, "mezo"))  # fmt: skip
VARIANTS = tuple(f"v{number}" for number in range(TRIALS // len(BOARDS) // len(NETWORKS)))
BAD = {7: "fail", 90: "blocked"}  # by number of the trial


def budget(name, path, value, limit, unit, verdict="pass", provenance="measured"):
    return {
        "name": name, "source": "in rig.toml", "path": path, "unit": unit, "verdict": verdict, "sentence": "A sentence.",
        "value": value, "uncertainty": None, "provenance": provenance, "limit": limit, "relative": None, "more": None,
        "more_of": "",
    }  # fmt: skip


def trials():
    """The records: a larger number is faster, needs more SRAM, and learns better."""
    found = []
    for number, (board, (network, method), variant) in enumerate(itertools.product(BOARDS, NETWORKS, VARIANTS)):
        seconds, total = 0.2 - number / 1200, 100_000 + 500 * number
        verdict = BAD.get(number, "pass")
        energy = {"per_step": figure_of(seconds / 5, "J", seconds / 900, "measured"), "rules": None}
        gates = [budget("sram", "sram.total", total, 262_144, "B", provenance="counted"), budget("step_time", "step_time_s", seconds, 0.25, "s")]  # fmt: skip
        trial = make_trial(
            board=board, network=network, method=method, variant=variant, reality="hardware", cycles_provenance="measured",
            step_time_s=seconds, verdict=verdict, reason="" if verdict == "pass" else f"it did not go: {EVIL}", gates=gates,
            folder=f"{board}-{number}", test=f"hil/suite/test_many.py::test_{method}[{board}-{network}-{variant}]",
        )  # fmt: skip
        trial.energy = energy if number % 3 else None
        trial.sram = trial.sram | {"total": total}
        trial.accuracy = trial.accuracy | {"after": 0.4 + number / 500}
        found.append(trial)
    return found


def since(run: Run) -> SinceLastGood:
    """What the history says: a failure, a slower trial, a flaky test, and thirty nights of every trial."""
    rng = np.random.default_rng(1)
    first = run.trials[7]
    word = {"test": first.test, "board": first.board, "folder": "", "what": "verdict", "before": "pass", "after": "fail"}  # fmt: skip
    figure = {
        "test": first.test, "folder": first.folder, "name": "energy.per_step", "unit": "J", "provenance": "measured",
        "before": 0.02, "before_uncertainty": 1e-4, "after": 0.022, "after_uncertainty": 1e-4, "low": 0.0017,
        "high": 0.0023, "relative": 0.1, "shown": True, "sentence": "higher",
    }  # fmt: skip
    flaky = {
        "test": run.trials[90].test, "board": run.trials[90].board, "bad": 2, "nights": 30, "low": 0.018, "high": 0.21,
        "fault": "rig", "stages": {"flash": 2},
    }  # fmt: skip
    histories = [
        {"folder": trial.folder, "name": "step_time_s", "unit": "s", "provenance": "measured", "values": list(trial.step_time_s * (1 + rng.normal(0, 0.01, 30)))}
        for trial in run.trials
    ]  # fmt: skip
    return nothing_known("Since the last good night 1 verdict, 1 figure changed (200 trials compared).") | {
        "good": {"run": "20261126T220000Z-0aa1", "time": "2026-11-26T22:00:00+00:00", "commit": "a" * 40}, "commits": f"{'a' * 40}..{'b' * 40}",
        "compared": TRIALS, "words": [word], "figures": [figure], "flaky": [flaky], "histories": histories,
    }  # fmt: skip


def many(folder: Path) -> Run:
    """The run of all trials, in the folder of a recorded run; only the pages of its trials are not there."""
    run, steps = read_run(folder), make_steps(200)
    found = trials()
    tests = [
        AskedTest(test=trial.test, board=trial.board, verdict=trial.verdict, reason=trial.reason, trials=[trial.folder])
        for trial in found
    ]
    verdicts = totals(test.verdict for test in tests)
    return replace(
        run, trials=found, tests=tests, steps=[steps] * TRIALS, totals={"tests": verdicts, "trials": verdicts}
    )


def write_overview(run: Run) -> Path:
    """Write the overview into the folder of the run."""
    path = run.folder / "index.html"
    path.write_text(overview_page(run, overview_view(run, single=False)), encoding="utf-8")
    return path
