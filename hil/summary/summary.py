"""What a run found, in the order in which people ask: is it fine, is it the board or the rig, where, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hil.record import Run, TrialRecord, quantities
from hil.record.since_last_good import SinceLastGood, read_since
from hil.report.damage import damage_reported
from hil.report.judgement import Judgement, Problem, judgement_of, problems_of, sentence_of
from hil.report.overview import Cost, costs, quarantined

REALITIES: Mapping[str | None, str] = {
    "hardware": "attached board",
    "virtual": "virtual board, a stand-in",
    "qemu": "QEMU, a stand-in",
    "renode": "Renode, a stand-in",
    None: "not reached",
}


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
class Place:
    """A board and what stood for it; the number of its trials, and of those that passed."""

    board: str
    reality: str | None
    trials: int
    passed: int


@dataclass(frozen=True)
class Summary:
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
    places: list[Place]
    missing: list[str]
    costs: list[Cost]
    since: SinceLastGood | None = None
    quarantined: tuple[str, ...] = ()


def summary_of(run: Run) -> Summary:
    """Return the summary of a run.

    Raises:
        RigError: the content of its record makes no sense.
    """
    problems, judgement = problems_of(run), judgement_of(run)
    with damage_reported(f"the summary of {run.folder}"):
        found = costs([quantities(trial) for trial in run.trials])
    return Summary(
        run=run.facts["id"],
        time=run.facts["time"],
        seconds=_seconds(run),
        commit=run.facts["commit"],
        judgement=judgement,
        sentence=sentence_of(run, judgement, problems),
        counts=dict(run.totals["tests"]),  # type: ignore[arg-type]  # all values of the TypedDict are int
        expected=sum(test.expected for test in run.tests),
        steps_compared=sum(trial.steps_compared for trial in run.trials),
        problems=problems,
        budgets=[missed for trial in run.trials for missed in _missed(trial)],
        unjudged=sum(_is_unjudged(trial) for trial in run.trials),
        places=_places(run.trials),
        missing=list(run.facts["missing"]),
        costs=found,
        since=read_since(run.folder),
        quarantined=tuple(quarantined(run)),
    )


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


def _is_unjudged(trial: TrialRecord) -> bool:
    return trial.latency is not None and trial.latency["budget_ms"] is not None and trial.latency["judged"][:3] == "not"


def _places(trials: Sequence[TrialRecord]) -> list[Place]:
    verdicts: dict[tuple[str, str | None], list[str]] = {}
    for trial in trials:
        verdicts.setdefault((trial.board, trial.reality), []).append(trial.verdict)
    return [Place(*place, len(found), found.count("pass")) for place, found in verdicts.items()]


def _seconds(run: Run) -> float | None:
    facts: Mapping[str, Any] = run.facts
    try:
        return (datetime.fromisoformat(facts["ended"]) - datetime.fromisoformat(facts["time"])).total_seconds()
    except (TypeError, ValueError):  # not ended, or a record that was made by hand
        return None
