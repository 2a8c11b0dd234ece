"""Whether a run is fine, in one sentence, and what is at fault: for its page and its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from hil.record import AskedTest, Run, TrialRecord
from hil.record.device_test import DeviceTest
from hil.report.overview import BAD, ORDER, against_mark, banner, quarantined

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
# As the reason of a test begins that ended by its own assertion, or an error in it (hil/session/tracker.py).
OF_TEST = ("the test failed", "the test itself is wrong")
OF_VERDICT: Mapping[str, Where] = {"refused": "request", "interrupted": "run", "blocked": "rig"}


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


def problems_of(run: Run) -> list[Problem]:
    """Return the tests that ended badly without being expected to, the worst first."""
    trials = {trial.folder: trial for trial in run.trials}
    devices = {each.test: each for each in run.device_tests}  # the last of each test
    return [
        _problem(test, [trials[folder] for folder in test.trials], devices.get(test.test))
        for test in sorted(run.tests, key=lambda test: ORDER.index(test.verdict))
        if test.verdict in (*BAD, "blocked") and not test.expected
    ]


def judgement_of(run: Run) -> Judgement:
    """Return the judgement; it is `not fine` where the page's banner is red."""
    if banner(run).kind == "bad":
        return "not fine"
    count = run.totals["tests"]
    return "cannot tell" if count["blocked"] or not count["pass"] else "fine"


def sentence_of(run: Run, judgement: Judgement, problems: Sequence[Problem]) -> str:
    """Return the judgement, on what it rests, and the number of tests by what is at fault."""
    count = run.totals["tests"]
    said = []
    for where, (one, several) in PHRASES.items():
        number = sum(problem.where == where for problem in problems)
        said += [f"{number} {one if number == 1 else several}"] if number else []
    kept = len(quarantined(run))
    said += [f"{kept} {'board is' if kept == 1 else 'boards are'} in quarantine"] if kept else []
    expected = sum(test.expected for test in run.tests)
    said += [f"{expected} {'fails' if expected == 1 else 'fail'} as expected"] if expected else []
    said += [f"{count['skipped']} {'is' if count['skipped'] == 1 else 'are'} skipped"] if count["skipped"] else []
    said += [f"{count['pass']} {'passes' if count['pass'] == 1 else 'pass'}"] if count["pass"] else []
    against = against_mark(run)
    said += [f"{against} of these in spite of an xfail mark"] if against else []
    tests = (
        f"of {count['all']} {'test' if count['all'] == 1 else 'tests'} {', '.join(said)}"
        if said
        else "no test ran a trial"
    )
    if count["all"] == count["pass"] > 1 and not against:
        tests = f"all {count['all']} tests pass"
    realities = {trial.reality for trial in run.trials} | {each.reality for each in run.device_tests}
    return f"{judgement.capitalize()}{_on(realities - {None})}: {'; '.join([*_cut_short(run), tests])}."


def _on(realities: Set[str | None]) -> str:
    """Return what the judgement rests on, if that is not silicon alone."""
    if not realities or realities == {"hardware"}:
        return ""
    return ", partly on stand-ins" if "hardware" in realities else ", on stand-ins only"


def _cut_short(run: Run) -> list[str]:
    state = run.facts["state"]
    said = [] if state == "ended" else ["the run was interrupted" if state == "interrupted" else "the run did not end"]
    return said + (["a part of the record is missing"] if run.facts["missing"] else [])


def _problem(test: AskedTest, trials: Sequence[TrialRecord], device: DeviceTest | None) -> Problem:
    guilty = next((trial for trial in trials if trial.verdict == test.verdict), None)
    shown: TrialRecord | DeviceTest | None = guilty or (trials[-1] if trials else device)
    judged = device is not None and device.verdict == test.verdict and not device.reason.startswith(OF_TEST)
    return Problem(
        verdict=test.verdict,
        where=OF_VERDICT.get(test.verdict) or ("device" if guilty is not None or judged else "test"),
        stage=guilty.stage if guilty is not None else device.stage if device is not None else "",
        test=test.test,
        file=test.test.partition("::")[0],
        board=test.board or (shown.board if shown is not None else None),
        reality=shown.reality if shown is not None else None,
        reason=test.reason,
        repeat=test.repeat,
    )
