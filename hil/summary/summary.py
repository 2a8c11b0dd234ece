"""What a run found, in the order in which people ask: is it fine, is it the board or the rig, where, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from hil.record import AskedTest, Run, TrialRecord
from hil.report.overview import BAD, ORDER, banner

Judgement = Literal["fine", "not fine", "cannot tell"]
Where = Literal["device", "test", "request", "run", "rig"]

# What is at fault, with the words of the sentence for one test and for several.
PHRASES: Mapping[Where, tuple[str, str]] = {
    "device": ("fails on the device", "fail on the device"),
    "test": ("fails in the test itself", "fail in the test itself"),
    "request": ("is refused", "are refused"),
    "run": ("did not end", "did not end"),
    "rig": ("is blocked by the rig", "are blocked by the rig"),
}
OF_VERDICT: Mapping[str, Where] = {"refused": "request", "interrupted": "run", "blocked": "rig"}
REALITIES: Mapping[str | None, str] = {
    "hardware": "attached board",
    "virtual": "virtual board, a stand-in",
    "qemu": "QEMU, a stand-in",
    "renode": "Renode, a stand-in",
    None: "not reached",
}


@dataclass(frozen=True)
class Problem:
    """A test that did not pass and was neither skipped nor expected to fail."""

    verdict: str
    where: (
        Where  # what is at fault: the device under test, the test's own code, its request, the end of the run, the rig
    )
    stage: str  # at which the rig blocked it; empty if it did not, or before any trial
    test: str  # pytest's node id
    file: str
    board: str | None
    reality: str | None
    reason: str
    repeat: str  # the command that runs the test again


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


def summary_of(run: Run) -> Summary:
    """Return the summary of a run."""
    trials = {trial.folder: trial for trial in run.trials}
    problems = [
        _problem(test, [trials[folder] for folder in test.trials])
        for test in sorted(run.tests, key=lambda test: ORDER.index(test.verdict))
        if test.verdict in (*BAD, "blocked") and not test.expected
    ]
    judgement = _judgement(run)
    return Summary(
        run=run.facts["id"],
        time=run.facts["time"],
        seconds=_seconds(run),
        commit=run.facts["commit"],
        judgement=judgement,
        sentence=_sentence(run, judgement, problems),
        counts=dict(run.totals["tests"]),  # type: ignore[arg-type]  # all values of the TypedDict are int
        expected=sum(test.expected for test in run.tests),
        steps_compared=sum(trial.steps_compared for trial in run.trials),
        problems=problems,
        budgets=[missed for trial in run.trials for missed in _missed(trial)],
        unjudged=sum(_is_unjudged(trial) for trial in run.trials),
        places=_places(run.trials),
        missing=list(run.facts["missing"]),
    )


def _judgement(run: Run) -> Judgement:
    if banner(run).kind == "bad":
        return "not fine"
    count = run.totals["tests"]
    return "cannot tell" if count["blocked"] or not count["pass"] else "fine"


def _sentence(run: Run, judgement: Judgement, problems: Sequence[Problem]) -> str:
    """Return the judgement, on what it rests, and the number of tests by what is at fault."""
    count = run.totals["tests"]
    said = []
    for where, (one, several) in PHRASES.items():
        number = sum(problem.where == where for problem in problems)
        said += [f"{number} {one if number == 1 else several}"] if number else []
    expected = sum(test.expected for test in run.tests)
    said += [f"{expected} {'fails' if expected == 1 else 'fail'} as expected"] if expected else []
    said += [f"{count['skipped']} {'is' if count['skipped'] == 1 else 'are'} skipped"] if count["skipped"] else []
    said += [f"{count['pass']} {'passes' if count['pass'] == 1 else 'pass'}"] if count["pass"] else []
    tests = (
        f"of {count['all']} {'test' if count['all'] == 1 else 'tests'} {', '.join(said)}"
        if said
        else "no test ran a trial"
    )
    if count["all"] == count["pass"] > 1:
        tests = f"all {count['all']} tests pass"
    return f"{judgement.capitalize()}{_on(run.trials)}: {'; '.join([*_cut_short(run), tests])}."


def _on(trials: Sequence[TrialRecord]) -> str:
    """Return what the judgement rests on, if that is not silicon alone."""
    realities = {trial.reality for trial in trials} - {None}
    if not realities or realities == {"hardware"}:
        return ""
    return ", partly on stand-ins" if "hardware" in realities else ", on stand-ins only"


def _cut_short(run: Run) -> list[str]:
    state = run.facts["state"]
    said = [] if state == "ended" else ["the run was interrupted" if state == "interrupted" else "the run did not end"]
    return said + (["a part of the record is missing"] if run.facts["missing"] else [])


def _problem(test: AskedTest, trials: Sequence[TrialRecord]) -> Problem:
    guilty = next((trial for trial in trials if trial.verdict == test.verdict), None)
    shown = guilty or (trials[-1] if trials else None)
    return Problem(
        verdict=test.verdict,
        where=OF_VERDICT.get(test.verdict) or ("device" if guilty is not None else "test"),
        stage=guilty.stage if guilty is not None else "",
        test=test.test,
        file=test.test.partition("::")[0],
        board=test.board or (shown.board if shown is not None else None),
        reality=shown.reality if shown is not None else None,
        reason=test.reason,
        repeat=test.repeat,
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
