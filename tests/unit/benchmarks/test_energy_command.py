"""`hil bench energy --json` as README names it, with fewer trials: a process that prints rows, whatever windows were spoiled on the way."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="virtual instruments are of the extra `virtual`")
from hil.benchmarks.energy import rows as energy_rows
from hil.benchmarks.energy.rows import ALGORITHM, WITHIN, judged, summary
from hil.benchmarks.energy.trial import Judged
from hil.cluster import CORE, Workers
from hil.cluster.task import carry_out
from hil.errors import Blocked, RigError
from hil.standins.virtual.meter.keysight_34465a import VirtualKeysight34465A


def test_the_command_of_the_readme_prints_its_rows():
    command = [
        sys.executable,
        "-m",
        "hil.commands.main",
        "bench",
        "energy",
        "--json",
        "--trials",
        "2",
        "--jobs",
        "1",
        "--meter",
        "keysight-34465a",
        "--meter",
        "lpm01a",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert [(row["meter"], row["blocked"]) for row in found] == [("keysight-34465a", 0)] * 3 + [("lpm01a", 0)] * 3
    assert all(row["spoiled"] >= 0 and row["trials"] == 2 for row in found)


def test_the_trial_that_ended_the_benchmark_is_measured():
    """An instrument without errors, whose sleep has no noise at all."""
    (found,) = judged("keysight-34465a", ALGORITHM, [7])
    assert isinstance(found, Judged) and found.error < 1e-3


def test_a_spoiled_window_is_taken_again_and_counted(monkeypatch):
    """One window of the first trial loses its timing, as the instrument says."""
    right, left = VirtualKeysight34465A._event, [1]

    def once(self, argument):
        answer, left[0] = right(self, argument), left[0] - 1
        return "+4" if left[0] == 0 else answer

    monkeypatch.setattr(VirtualKeysight34465A, "_event", once)
    found = summary("keysight-34465a", WITHIN, judged("keysight-34465a", WITHIN, range(2)))
    assert (found.trials, found.spoiled, found.blocked) == (2, 1, 0)


def test_trials_that_give_nothing_are_counted_and_all_of_them_are_an_error(monkeypatch):
    good = judged("lpm01a", WITHIN, [0])
    found = summary("lpm01a", WITHIN, [*good, Blocked("energy", "no")])
    assert (found.trials, found.blocked) == (1, 1) and np.isfinite(found.max_error)
    with pytest.raises(RigError, match="none of 1 trials of lpm01a"):
        summary("lpm01a", WITHIN, [Blocked("energy", "no")])


class Inline(Workers):
    """Workers that are this process, and answer the last task first."""

    def run(self, tasks, resource=CORE):
        for task in reversed(list(tasks)):
            call, arguments = pickle.loads(pickle.dumps((task.call, task.arguments)))
            yield task, carry_out(call, arguments, None)


def test_parts_of_rows_come_in_any_order_and_give_the_rows_of_one_part(monkeypatch, capsys):
    monkeypatch.setattr(energy_rows, "PART", 2)
    right = energy_rows.try_once

    def third_is_blocked(sheet, case, number, seed=1):
        if number == 2:
            raise Blocked("energy", "no windows")
        return right(sheet, case, number, seed)

    monkeypatch.setattr(energy_rows, "try_once", third_is_blocked)
    found = list(energy_rows.rows(["lpm01a"], 5, Inline(1)))
    wanted = list(energy_rows.requests(["lpm01a"], 5))
    assert [(one.meter, one.case) for one in found] == [one[:2] for one in wanted] and len(found) == 3
    for one, (key, case, trials) in zip(found, wanted, strict=True):
        assert one == summary(key, case, judged(key, case, range(trials))) and one.blocked == 1
    assert capsys.readouterr().err.count("trial 2: energy: no windows") == 3


def test_a_trial_that_cannot_be_carried_out_is_named(monkeypatch):
    monkeypatch.setattr(energy_rows, "try_once", lambda *_: 1 / 0)
    with pytest.raises(RigError, match="lpm01a, .*, trials 0 to 1 could not be carried out .ZeroDivisionError"):
        list(energy_rows.rows(["lpm01a"], 2, Inline(1)))
