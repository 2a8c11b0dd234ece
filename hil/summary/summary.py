"""What a run found, in the order in which people ask: is it fine, is it the board or the rig, where, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hil.coverage import coverage_of
from hil.errors import RigError
from hil.record import Run, TrialRecord, quantities
from hil.record.device_test import DeviceTest
from hil.record.since_last_good import SinceLastGood, read_since
from hil.report.coverage_page import sentence
from hil.report.damage import damage_reported
from hil.report.judgement import Judgement, Problem, judgement_of, problems_of, sentence_of
from hil.report.overview import CostRange, costs, quarantined

_REALITIES: Mapping[str | None, str] = {
    "hardware": "attached board",
    "virtual": "virtual board, a stand-in",
    "qemu": "QEMU, a stand-in",
    "renode": "Renode, a stand-in",
    None: "not reached",
}


def reality_words(reality: str | None) -> str:
    """Return what stood for a board; a stand-in is always called one."""
    return _REALITIES.get(reality, f"{reality}, a stand-in")


@dataclass(frozen=True)
class MissedBudget:
    """A figure above its budget, with its provenance."""

    trial: str
    board: str
    reality: str | None
    figure: str
    value: float
    budget: float
    unit: str
    provenance: str


@dataclass(frozen=True)
class BoardCounts:
    """A board and what stood for it; the number of its trials and device tests, and of those that passed."""

    board: str
    reality: str | None
    trials: int
    passed: int


@dataclass(frozen=True)
class RunSummary:
    """A run in brief.

    Attributes:
        run: its id.
        time: its start (UTC), as the record has it.
        seconds: from start to end; None if it did not end.
        judgement: `not fine` where the page's banner is red; `cannot tell` if nothing failed, but a test was blocked or
            none passed.
        sentence: the judgement with its numbers; it holds no text from the record.
        counts: number of tests by verdict, and `all`.
        expected: number of tests that are marked to fail and did.
        unjudged: number of latency budgets that were not judged because the cycles are modelled.
        missing: sentences that say what is missing from the record.
        costs: time, energy and SRAM of a step, each over all trials that have it; without text from the record.
        since: what the history said of the run when it ended; None if it was not asked.
        quarantined: a sentence for each board in quarantine, from the record.
        ram: a sentence for each memory of each board: its owners and the most bytes that a trial used, from the record.
        steps_of_devices: steps that device tests compared with references of their own, under their tolerances.
        still: folders of the trials whose steps changed no trained number, from the record.
        coverage: how much of the firmware the trials reached, or why that is not known; empty if none recorded it.
    """

    run: str
    time: str
    seconds: float | None
    commit: str | None
    judgement: Judgement
    sentence: str
    counts: dict[str, int]
    expected: int
    steps_compared: int
    problems: list[Problem]
    budgets: list[MissedBudget]
    unjudged: int
    places: list[BoardCounts]
    missing: list[str]
    costs: list[CostRange]
    since: SinceLastGood | None = None
    quarantined: tuple[str, ...] = ()
    ram: tuple[str, ...] = ()
    coverage: str = ""
    still: tuple[str, ...] = ()
    steps_of_devices: int = 0


def summary_of(run: Run) -> RunSummary:
    """Return the summary of a run.

    Raises:
        RigError: the content of its record makes no sense.
    """
    problems, judgement = problems_of(run), judgement_of(run)
    with damage_reported(f"the summary of {run.folder}"):
        found = costs([quantities(trial) for trial in run.trials])
    return RunSummary(
        run=run.facts["id"],
        time=run.facts["time"],
        seconds=_seconds(run),
        commit=run.facts["commit"],
        judgement=judgement,
        sentence=sentence_of(run, judgement, problems),
        counts=dict(run.totals["tests"]),  # type: ignore[arg-type]  # all values of the TypedDict are int
        expected=sum(test.expected for test in run.tests),
        steps_compared=sum(trial.steps_compared for trial in run.trials),
        steps_of_devices=sum(device.steps_compared for device in run.device_tests),
        problems=problems,
        budgets=[missed for trial in run.trials for missed in _missed(trial)]
        + [missed for device in run.device_tests for missed in _missed_by_device(device)],
        unjudged=sum(_is_unjudged(trial) for trial in run.trials),
        places=_places(run),
        missing=list(run.facts["missing"]),
        costs=found,
        since=read_since(run.folder),
        quarantined=tuple(quarantined(run)),
        ram=tuple(_ram(run.trials)),
        coverage=_coverage(run),
        still=tuple(trial.folder for trial in run.trials if trial.still),
    )


def _coverage(run: Run) -> str:
    try:
        found = coverage_of(run.folder, run.trials)
    except RigError:
        return "The coverage of the firmware is not known: `hil coverage` says why."
    return sentence(found) if found.boards else ""


def _missed(trial: TrialRecord) -> list[MissedBudget]:
    """Return the budgets that a trial missed, as the trial judged them: a modelled latency is not judged."""
    found = []
    total, limit = trial.sram["total"], trial.sram["budget"]
    of = (trial.folder, trial.board, trial.reality)
    if total is not None and limit is not None and total > limit:
        found.append(MissedBudget(*of, "SRAM in use", total, limit, "B", trial.sram_provenance["total"]))
    latency = trial.latency
    if latency is not None and latency["judged"] == "beyond" and latency["budget_ms"] is not None:
        p99_ms = 1e3 * latency["phases"]["total"]["p99"] / latency["clock_hz"]
        figure = "time a step, 99th percentile"
        found.append(MissedBudget(*of, figure, p99_ms, latency["budget_ms"], "ms", latency["provenance"]))
    return found


def _missed_by_device(device: DeviceTest) -> Iterator[MissedBudget]:
    """Yield the upper budgets that a device test missed; the reason of the test names the others."""
    for figure in device.figures:
        for budget in figure["budgets"]:
            if budget["verdict"] == "fail" and budget["upper"] and budget["limit"] is not None:
                yield MissedBudget(
                    device.folder, device.board or "", device.reality, figure["name"], figure["value"],
                    budget["limit"], figure["unit"], figure["provenance"],
                )  # fmt: skip


def _is_unjudged(trial: TrialRecord) -> bool:
    return trial.latency is not None and trial.latency["budget_ms"] is not None and trial.latency["judged"][:3] == "not"


def _places(run: Run) -> list[BoardCounts]:
    verdicts: dict[tuple[str, str | None], list[str]] = {}
    for trial in run.trials:
        verdicts.setdefault((trial.board, trial.reality), []).append(trial.verdict)
    for device in run.device_tests:
        if device.board is not None:
            verdicts.setdefault((device.board, device.reality), []).append(device.verdict)
    return [BoardCounts(*place, len(found), found.count("pass")) for place, found in verdicts.items()]


def _ram(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """Yield a sentence for each memory of each board, such as `rp2040: sram: stack 2,376 of 8,192 B, ...`."""
    most: dict[tuple[str, str], dict[str, tuple[int, int | None]]] = {}
    for trial in trials:
        sizes: dict[tuple[str, str], tuple[int, int | None]] = {}
        for row in trial.sram.get("regions", ()):
            size, used = sizes.get((row["memory"], row["claimed_by"]), (0, 0))
            both = None if used is None or row["used"] is None else used + row["used"]
            sizes[row["memory"], row["claimed_by"]] = (size + row["size"], both)
        for (memory, owner), (size, used) in sizes.items():
            owners = most.setdefault((trial.board, memory), {})
            before = owners.get(owner, (0, None))
            owners[owner] = (max(size, before[0]), max((n for n in (used, before[1]) if n is not None), default=None))
    for (board, memory), owners in most.items():
        words = (
            f"{owner} {'not compared, ' if used is None else f'{used:,} of '}{size:,} B"
            for owner, (size, used) in owners.items()
        )
        yield f"{board}: {memory}: {', '.join(words)}"


def _seconds(run: Run) -> float | None:
    facts: Mapping[str, Any] = run.facts
    try:
        return (datetime.fromisoformat(facts["ended"]) - datetime.fromisoformat(facts["time"])).total_seconds()
    except (TypeError, ValueError):  # not ended, or a record that was made by hand
        return None
