"""What the overview of a run says: whether it is fine, what it cost, and a line a trial, those that need a look first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hil.quantity import Quantity
from hil.record import AskedTest, Run, TrialRecord, quantities
from hil.report.figures import drawn_losses
from hil.report.formats import figure, kib, seconds, span
from hil.report.sparkline import sparkline

ORDER = ("fail", "refused", "interrupted", "blocked", "skipped", "pass")
ASKED = ("data", "seed", "steps")  # what a trial may differ in beside its settings
SHOWN = ("loss", "perturb", "scope")  # settings that every line says in words
BAD = ("fail", "refused", "interrupted")
COSTS = (("time a step", "step_time_s"), ("energy a step", "energy.per_step"), ("SRAM in use", "sram.total"))


@dataclass(frozen=True)
class Line:
    """One line of the overview: a trial, or a test that came to none.

    Attributes:
        verdict, reason: of the test where it is worse than that of its only trial.
        test: what asked; None where that is not known.
        trial: None for a test without a trial.
        found: the figures of the trial.
        spark: its loss as a small drawing.
        apart: what tells the trial from others of the same network, method and board, such as `seed 2, eta 0.01`.
    """

    verdict: str
    reason: str
    test: AskedTest | None
    trial: TrialRecord | None
    found: dict[str, Quantity]
    spark: Markup | None
    apart: str = ""

    @property
    def expected(self) -> bool:
        """Whether the test is marked to fail, and did."""
        return self.test is not None and self.test.expected


@dataclass(frozen=True)
class Cost:
    """The range of one figure over the trials that have it, and the words for where it comes from."""

    name: str
    said: str
    words: list[str]
    trials: int


@dataclass(frozen=True)
class Banner:
    """What the first lines say. `kind`: `bad` (something failed or is missing), `open` (nothing failed, not all is proven) or `fine`."""

    kind: str
    sentences: list[str]


def lines_of(run: Run) -> list[Line]:
    """Return the lines in the order in which they want to be read."""
    trials = {trial.folder: (trial, steps) for trial, steps in zip(run.trials, run.steps, strict=True)}
    apart = told_apart(run.trials)
    lines = []
    for test in run.tests:
        its = [trials[folder] for folder in test.trials]
        worst = min((trial.verdict for trial, _ in its), key=ORDER.index, default=None)
        for trial, steps in its:
            worse = len(its) == 1 and test.verdict != worst
            verdict, reason = (test.verdict, test.reason) if worse else (trial.verdict, trial.reason or test.reason)
            spark = sparkline(drawn_losses(trial, steps), trial)
            lines.append(Line(verdict, reason, test, trial, quantities(trial), spark, apart[trial.folder]))
        if len(its) != 1 and test.verdict != worst:
            lines.append(Line(test.verdict, test.reason, test, None, {}, None))
    return sorted(lines, key=lambda line: ORDER.index(line.verdict))


def told_apart(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Return by folder what tells trials from each other whose lines would read alike; nothing of a trial that stands alone."""
    groups: dict[tuple[Any, ...], list[TrialRecord]] = {}
    for trial in trials:
        line = trial.board, trial.network, trial.method, trial.variant, trial.batch, *map(trial.settings.get, SHOWN)
        groups.setdefault(line, []).append(trial)
    apart = {}
    for group in groups.values():
        asked = {trial.folder: {name: getattr(trial, name) for name in ASKED} | trial.settings for trial in group}
        names = dict.fromkeys(name for fields in asked.values() for name in fields)
        differ = [name for name in names if len({str(fields.get(name)) for fields in asked.values()}) > 1]
        for folder, fields in asked.items():
            apart[folder] = ", ".join(f"{name} {_written(fields[name])}" for name in differ if name in fields)
    return apart


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def banner(run: Run) -> Banner:
    """Say whether the run is fine: red where something failed, was refused, interrupted or is missing."""
    count = run.totals["tests"]
    expected = sum(test.expected for test in run.tests)
    bad = [test.verdict for test in run.tests if test.verdict in BAD and not test.expected]
    sentences = (
        [_count(count, [verdict for verdict in ORDER if verdict != "pass"])] if count["all"] > count["pass"] else []
    )
    if expected:
        sentences.append(f"{expected} of them {'is' if expected == 1 else 'are'} marked to fail, and did.")
    if not count["all"]:
        sentences.append("No test asked for a trial: this run proves nothing.")
    if run.facts["state"] != "ended":
        word = {"running": "has not ended: it goes on, or it was killed", "interrupted": "was interrupted"}[
            run.facts["state"]
        ]
        sentences.append(f"The run {word}; what is below is what it had recorded by then.")
    sentences += run.facts["missing"]
    if bad or not run.facts["whole"] or not count["all"]:
        return Banner("bad", sentences)
    return Banner("open" if count["blocked"] or count["skipped"] else "fine", sentences)


def _count(count: dict[str, int], verdicts: Iterable[str]) -> str:
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in verdicts if count[verdict]) + f" of {count['all']}."


def costs(lines: Sequence[Line]) -> list[Cost]:
    """Return what a step costs, over all trials that found it out."""
    found = []
    for name, path in COSTS:
        figures = [line.found[path] for line in lines if path in line.found]
        if figures:
            low, high = min(figures, key=lambda one: one.value), max(figures, key=lambda one: one.value)
            words = list(dict.fromkeys(one.provenance.value for one in figures))
            found.append(Cost(name, span(_said(low), _said(high)), words, len(figures)))
    return found


def _said(quantity: Quantity) -> str:
    if quantity.unit == "B":
        return kib(quantity.value)
    return seconds(quantity.value) if quantity.unit == "s" else figure(quantity.to_json() | {"uncertainty": None})
