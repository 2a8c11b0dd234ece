"""The overview of a run: a banner, the costs of a step, and a line for each trial, the bad ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hil.quantity import Quantity
from hil.record import AskedTest, Run, TrialRecord, quantities
from hil.record.device_test import DeviceTest
from hil.report.figures import drawn_losses
from hil.report.formats import figure, kib, seconds, span
from hil.report.sparkline import sparkline

ORDER = ("fail", "refused", "interrupted", "blocked", "skipped", "pass")
FIELDS = ("data", "seed", "steps")  # in which trials may differ, besides their settings
SHOWN = ("loss", "perturb", "scope")  # settings that every line shows
BAD = ("fail", "refused", "interrupted")
GIVEN = {"step_time": "s", "energy_per_step": "J", "sram": "B", "accuracy": "1"}  # shown in the columns of trials
COSTS = (("time a step", "step_time_s"), ("energy a step", "energy.per_step"), ("SRAM in use", "sram.total"))


@dataclass(frozen=True)
class ResultLine:
    """One line of the overview: a trial, or a test without one."""

    verdict: str  # of the trial, or of the test if its verdict is worse than that of its only trial
    reason: str
    test: AskedTest
    trial: TrialRecord | None  # None for a test without a trial
    found: dict[str, Quantity]  # the figures of the trial
    spark: Markup | None  # its loss curve as a small drawing
    differs: str = ""  # differences from trials of the same network, method and board, such as `seed 2, eta 0.01`
    device: DeviceTest | None = None  # what a test without a trial did with its device

    @property
    def given(self) -> dict[str, Mapping[str, Any]]:
        """The figures that a device test gave, by name, in the units of the columns."""
        figures = self.device.figures if self.device is not None else []
        return {each["name"]: each for each in figures if GIVEN.get(each["name"]) == each["unit"]}


@dataclass(frozen=True)
class CostRange:
    """The range of one figure over the trials that have it, with its provenances."""

    name: str
    value: str
    words: list[str]
    trials: int


@dataclass(frozen=True)
class Banner:
    """The first lines. `kind` is `bad` (a failure, or something missing), `open` (something to look at) or `fine`."""

    kind: str
    sentences: list[str]


def lines_of(run: Run) -> list[ResultLine]:
    """Return the lines, the worst verdicts first."""
    trials = {trial.folder: (trial, steps) for trial, steps in zip(run.trials, run.steps, strict=True)}
    found = differences(run.trials)
    devices = {each.test: each for each in run.device_tests}  # the last of each test
    lines = []
    for test in run.tests:
        its = [trials[folder] for folder in test.trials]
        worst = min((trial.verdict for trial, _ in its), key=ORDER.index, default=None)
        for trial, steps in its:
            worse = len(its) == 1 and test.verdict != worst
            verdict, reason = (test.verdict, test.reason) if worse else (trial.verdict, trial.reason or test.reason)
            spark = sparkline(drawn_losses(trial, steps), trial)
            lines.append(ResultLine(verdict, reason, test, trial, quantities(trial), spark, found[trial.folder]))
        if test.test in devices or (len(its) != 1 and test.verdict != worst):
            lines.append(ResultLine(test.verdict, test.reason, test, None, {}, None, device=devices.get(test.test)))
    return sorted(lines, key=lambda line: ORDER.index(line.verdict))


def kind_of(trial: TrialRecord) -> tuple[Any, ...]:
    """Return what the line of a trial shows of it: trials of one kind differ in other fields, if at all."""
    of = trial.board, trial.reality, trial.network, trial.method, trial.variant, trial.batch
    return *of, *(str(trial.settings.get(name)) for name in SHOWN)


def differences(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Return, by folder, the fields in which a trial differs from others with the same line."""
    groups: dict[tuple[Any, ...], list[TrialRecord]] = {}
    for trial in trials:
        groups.setdefault(kind_of(trial), []).append(trial)
    found = {}
    for group in groups.values():
        by_folder = {trial.folder: {name: getattr(trial, name) for name in FIELDS} | trial.settings for trial in group}
        names = dict.fromkeys(name for fields in by_folder.values() for name in fields)
        differ = [name for name in names if len({str(fields.get(name)) for fields in by_folder.values()}) > 1]
        for folder, fields in by_folder.items():
            found[folder] = ", ".join(f"{name} {_written(fields[name])}" for name in differ if name in fields)
    return found


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def banner(run: Run) -> Banner:
    """Return the banner; it is bad if a test failed, was refused or interrupted, or anything is missing.

    It is open if a test was blocked or skipped, or passed in spite of a mark.
    """
    count: Mapping[str, Any] = run.totals["tests"]
    expected = sum(test.expected for test in run.tests)
    bad = [test.verdict for test in run.tests if test.verdict in BAD and not test.expected]
    sentences = []
    if count["all"] > count["pass"]:
        words = ", ".join(f"{count[verdict]} {verdict}" for verdict in ORDER if verdict != "pass" and count[verdict])
        sentences.append(f"{words} of {count['all']}.")
    if expected:
        sentences.append(f"{expected} of them {'is' if expected == 1 else 'are'} marked to fail, and did.")
    against = against_mark(run)
    if against:
        sentences.append(f"{against} {'is' if against == 1 else 'are'} marked to fail, but passed: remove the mark.")
    sentences += quarantined(run)
    if not count["all"]:
        sentences.append("No test ran a trial: this run proves nothing.")
    if run.facts["state"] != "ended":
        how = "was interrupted" if run.facts["state"] == "interrupted" else "is still running, or was killed"
        sentences.append(f"The run {how}; below is what it had recorded by then.")
    sentences += run.facts["missing"]
    if bad or not run.facts["whole"] or not count["all"]:
        return Banner("bad", sentences)
    return Banner("open" if count["blocked"] or count["skipped"] or against else "fine", sentences)


def quarantined(run: Run) -> list[str]:
    """Return a sentence for each board that was in quarantine at the end of its last trial or device test."""
    ran: list[TrialRecord | DeviceTest] = [*run.trials, *run.device_tests]
    last = {(each.board, each.place): each for each in sorted(ran, key=lambda each: each.began or "") if each.attached}
    return [each.quarantine for each in last.values() if each.quarantine]


def against_mark(run: Run) -> int:
    """Return how many tests passed in spite of an xfail mark that is not strict; with a strict one they fail."""
    return sum(test.outcome == "xpassed" and test.verdict == "pass" for test in run.tests)


def choices(lines: Sequence[ResultLine]) -> dict[str, list[str]]:
    """Return the values by which the lines may be filtered, of those in which they differ."""
    trials = [line.trial for line in lines if line.trial is not None]
    found = {
        "verdict": [verdict for verdict in ORDER if any(line.verdict == verdict for line in lines)],
        "board": sorted({trial.board for trial in trials} | {line.test.board for line in lines if line.test.board}),
        "network": sorted({trial.network for trial in trials}),
        "method": sorted({trial.method for trial in trials}),
    }
    return {name: values for name, values in found.items() if len(values) > 1}


def costs(trials: Sequence[Mapping[str, Quantity]]) -> list[CostRange]:
    """Return the costs of a step over all trials that have them, from the figures of each trial."""
    found = []
    for name, path in COSTS:
        figures = [figures_of[path] for figures_of in trials if path in figures_of]
        if figures:
            low, high = min(figures, key=lambda one: one.value), max(figures, key=lambda one: one.value)
            words = list(dict.fromkeys(one.provenance.value for one in figures))
            found.append(CostRange(name, span(_formatted(low), _formatted(high)), words, len(figures)))
    return found


def _formatted(quantity: Quantity) -> str:
    if quantity.unit == "B":
        return kib(quantity.value)
    return seconds(quantity.value) if quantity.unit == "s" else figure(quantity.to_json() | {"uncertainty": None})
