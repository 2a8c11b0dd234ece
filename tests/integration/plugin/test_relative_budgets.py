"""Budgets relative to the nights before, in a session on a virtual board beside a history of a few nights."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from user_project import Done, Project

from hil.history.address import Address, address_of
from hil.history.rows import run_row, trial_rows
from hil.history.store import Store
from hil.record import TrialRecord
from hil.training.trial.outcome import End, Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec
from tests.history_year import facts

pytest.importorskip("llvmlite", reason="the virtual board is of the extra `virtual`")

BOARD = "stm32h7b3"
SMALL, LARGE = 1 << 10, 1 << 30  # bytes that no trial here uses
NIGHTS = {  # SRAM in use in earlier nights, by the seed of the trial
    1: [LARGE] * 6,
    2: [SMALL] * 6,
    3: [SMALL, LARGE] * 3,
    4: [LARGE] * 2,
}
TEST = """
@pytest.mark.budget(sram="+2 %", step_time="+2 %")
@pytest.mark.parametrize("seed", SEEDS)
def test_training(hil_board, hil_trial, seed):
    hil_trial(spec(hil_board, seed=seed))
"""
NIGHTLY = pytest.mark.tier("nightly")


def night(seed: int, total: int) -> TrialRecord:
    """Return the record of a trial that passed, as a session with another use of memory writes it."""
    spec = TrialSpec(BOARD, "cls1", steps=1, evaluate=0, batch=1, seed=seed)
    record = trial_record(Outcome(spec, planned=prepare(spec), reality="virtual", end=End("pass")))
    record.folder, record.sram["total"] = spec.name, total
    return record


def write_nights(reports: Path, seeds: Sequence[int]) -> Address:
    reports.mkdir()
    records = {seed: night(seed, LARGE) for seed in seeds}
    address = address_of(None, reports)
    with Store(address) as store, store.transaction() as writer:
        for number in range(max(len(NIGHTS[seed]) for seed in seeds)):
            run = writer.run(run_row(facts(number), None))
            for seed in seeds:
                if number < len(NIGHTS[seed]):
                    records[seed].sram["total"] = NIGHTS[seed][number]
                    writer.trial(run, trial_rows(records[seed]))
    return address


def session(folder: Path, seeds: Sequence[int], *options: str) -> Done:
    project = Project(folder).write(TEST.replace("SEEDS", str(list(seeds))))
    return project.run(f"--board={BOARD}", "--reality=virtual", *options)


def gates(done: Done) -> dict[tuple[int, str], dict]:  # type: ignore[type-arg]
    return {(trial["seed"], gate["name"]): gate for trial in done.results()["trials"] for gate in trial["gates"]}


SPY = """
import hil.training.session.run_trial
from hil.errors import RigError

def spy(*_, earlier, **__):
    raise RigError(f"{earlier._reports} {earlier._bench!r} {earlier._uid}")

hil.training.session.run_trial.run_trial = spy
"""


@pytest.mark.parametrize("options", [pytest.param((), marks=NIGHTLY), ("-n", "1")])
def test_a_trial_may_ask_for_the_nights_of_this_bench_but_this_one(tmp_path: Path, options: tuple[str, ...]) -> None:
    project = Project(tmp_path).write(SPY, "conftest.py")
    project.write('[history]\nbench = "lab 2"\n', "rig.toml").write(TEST.replace("SEEDS", "[1]"))
    done = project.run(f"--board={BOARD}", "--report-dir=nights", *options)
    (results,) = (tmp_path / "nights").glob("2*/results.json")
    found = json.loads(results.read_text())
    assert f"nights 'lab 2' {found['run']['uid']}" in found["tests"][0]["reason"], done.out


@NIGHTLY
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_relative_budget_passes_fails_or_says_what_is_missing(tmp_path: Path, options: tuple[str, ...]) -> None:
    write_nights(tmp_path / "reports", list(NIGHTS))
    done = session(tmp_path, list(NIGHTS), *options)
    found = gates(done)
    assert {seed: found[seed, "sram"]["verdict"] for seed in NIGHTS} == {
        1: "pass", 2: "fail", 3: "inconclusive", 4: "inconclusive",
    }, done.out  # fmt: skip
    assert {seed: found[seed, "step_time"]["verdict"] for seed in NIGHTS} == dict.fromkeys(NIGHTS, "not judged")
    trials = {trial["seed"]: trial for trial in done.results()["trials"]}
    assert {seed: trial["verdict"] for seed, trial in trials.items()} == {1: "pass", 2: "fail", 3: "pass", 4: "pass"}
    assert done.code == 1 and found[2, "sram"]["sentence"] in trials[2]["reason"]
    assert math.isclose(found[1, "sram"]["limit"], 1.02 * LARGE)
    assert math.isclose(found[2, "sram"]["limit"], 1.02 * SMALL)
    assert "the uncertainty does not allow a verdict" in found[3, "sram"]["sentence"]
    assert (found[4, "sram"]["more"], found[4, "sram"]["more_of"]) == (3, "good nights")
    assert found[4, "sram"]["sentence"].endswith(
        "because 2 good nights are in the history so far; 3 more good nights would tell it."
    )
    assert done.out.count("inconclusive: stm32h7b3 cls1: SRAM in use is") == 2


@NIGHTLY
def test_a_history_that_cannot_be_read_costs_the_median_and_no_verdict(tmp_path: Path) -> None:
    address = write_nights(tmp_path / "reports", [2])
    with Store(address) as store, store.transaction() as writer:
        writer.connection.exec_driver_sql("UPDATE trainrig_version SET version_num = '9999'")
    done = session(tmp_path, [2])
    gate = gates(done)[2, "sram"]
    assert (done.code, gate["verdict"]) == (0, "inconclusive"), done.out
    assert gate["sentence"].endswith("the history was written by a newer trainrig (`hil history` says more).")


@NIGHTLY
def test_the_nights_of_a_session_are_those_that_the_next_ones_are_judged_by(tmp_path: Path) -> None:
    """What a session writes is the series that the gate of a later one asks for."""
    for count in range(6):
        done = session(tmp_path, [4])
        gate = gates(done)[4, "sram"]
        assert (gate["verdict"], gate["more"]) == (("inconclusive", 5 - count) if count < 5 else ("pass", None))
