"""Verdicts: of a trial against its own fields, of a test against its trials, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from hil.record.checks.recorded import RESULTS, RecordedRun, RecordedTrial
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.run_writer import ENDED as STATE_ENDED
from hil.record.run_writer import RUNNING, counts
from hil.record.verdicts import VERDICTS, WORST_FIRST, AskedTest
from hil.step_digest import step_digest

PASS, FAIL, BLOCKED, SKIPPED, INTERRUPTED = "pass", "fail", "blocked", "skipped", "interrupted"
EXIT_OK = 0
NUMBERED = re.compile(r"-\d+$")  # end of the folder of a trial whose name was taken


def check_trial_verdict(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """A trial that passed has no reason, difference, wrong figure or missed budget, and compared all its steps."""
    record, file = trial.record, trial.source
    passed = record.verdict == PASS
    wanted: dict[str, tuple[Any, Any]] = {}  # what a pass must have, by field
    if passed:
        wanted = {
            "reason": (record.reason, ""), "bit_exact": (record.bit_exact, True),
            "first_difference": (record.first_difference, None), "stage": (record.stage, ""),
            "wrong_figures": (dict(record.wrong_figures), {}), "steps_compared": (record.steps_compared, record.steps),
            "probe_agreed": (record.probe_agreed, record.probe_checks),
        }  # fmt: skip
    for field, (here, there) in wanted.items():
        if here != there:
            yield differ(file, field, here, f"{file} (verdict pass)", there, trial.name)
    for gate in record.gates:
        if passed and gate["verdict"] == FAIL:
            yield differ(file, f"the budget of {gate['name']}", FAIL, f"{file} (verdict)", PASS, trial.name)
    if not passed and not record.reason:
        yield differ(file, "reason", "", f"{file} (verdict)", record.verdict, trial.name)
    if (record.verdict == BLOCKED) != bool(record.stage):
        yield differ(file, "stage", record.stage, f"{file} (verdict)", record.verdict, trial.name)
    difference = record.first_difference is not None
    exact = False if difference else True if record.steps_compared else None
    if record.bit_exact is not exact:
        said = "a first_difference" if difference else f"no first_difference and steps_compared {record.steps_compared}"
        yield differ(file, "bit_exact", record.bit_exact, file, said, trial.name)


def check_digests(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The final digest is that of the digests of all trained tensors (docs/arithmetic.md, section 11)."""
    record, file = trial.record, trial.source
    # After latency and energy, the digests are those after the autonomous steps.
    autonomous = record.latency is not None or record.energy is not None or bool(record.wrong_figures)
    if record.digests and not autonomous:
        computed = f"{step_digest([int(digest, 16) for digest in record.digests]):08x}"
        if record.final_digest != computed:
            yield differ(file, "final_digest", record.final_digest, f"{file} (of its digests)", computed, trial.name)
        if len(record.digests) != len(record.layers):
            yield differ(
                file, "the number of digests", len(record.digests), f"{file} (layers)", len(record.layers), trial.name
            )


def check_totals(run: RecordedRun) -> Iterator[Contradiction]:
    """The totals count the verdicts of the tests and trials."""
    results = run.results
    if results["run"]["state"] == RUNNING:
        return  # the trials are those in the folder, and some ended after results.json was written
    right = counts(results["tests"], results["trials"])
    kinds: tuple[Literal["tests"], Literal["trials"]] = ("tests", "trials")
    for kind in kinds:
        listed: dict[str, Any] = dict(results["totals"][kind])
        found: dict[str, Any] = dict(right[kind])
        for verdict in ("all", *VERDICTS):
            if listed[verdict] != found[verdict]:
                yield differ(RESULTS, f"totals.{kind}.{verdict}", listed[verdict], f"its {kind}", found[verdict])


def check_tests(run: RecordedRun) -> Iterator[Contradiction]:
    """A test is no better than the worst of its trials, and every trial belongs to the test that it names."""
    results = run.results
    if results["run"]["state"] == RUNNING:
        return
    trials = {trial.folder: trial for trial in results["trials"]}
    devices = {record.test for record in results.get("device_tests", ())}
    named: dict[str, str] = {}
    for test in results["tests"]:
        for folder in test.trials:
            if folder in named:
                yield differ(RESULTS, f"the test of {folder}", test.test, RESULTS, named[folder], folder)
            named[folder] = test.test
            if folder in trials and trials[folder].test not in ("", test.test):
                yield differ(RESULTS, f"test of {folder}", trials[folder].test, RESULTS, test.test, folder)
        verdicts: list[str] = [trials[folder].verdict for folder in test.trials if folder in trials]
        yield from _of_test(test, verdicts, has_device=test.test in devices)
    for folder in trials:
        if folder not in named:
            yield differ(RESULTS, f"the test of {folder}", NOTHING, RESULTS, "the trial", folder)


def _of_test(test: AskedTest, verdicts: list[str], has_device: bool) -> Iterator[Contradiction]:
    """Check one test against the verdicts of its trials; what a device test says is checked with it."""
    name = f"verdict of {test.test}"
    # A plugin may repeat a test, whose last attempt counts: its trials have the same names with a number.
    repeated = any(NUMBERED.sub("", folder) in test.trials for folder in test.trials if NUMBERED.search(folder))
    bad = [each for each in (verdicts[-1:] if repeated else verdicts) if each != PASS]
    worst = min(bad, key=WORST_FIRST.index, default=None)
    if worst is not None and (
        test.verdict not in WORST_FIRST or WORST_FIRST.index(test.verdict) > WORST_FIRST.index(worst)
    ):
        yield differ(RESULTS, name, test.verdict, "the worst of its trials", worst)
    if test.verdict == PASS and not verdicts and not has_device:
        yield differ(RESULTS, name, PASS, RESULTS, "no trial of it")
    if (test.verdict == PASS) != (not test.reason):
        yield differ(RESULTS, f"reason of {test.test}", test.reason, f"{RESULTS} ({name})", test.verdict)
    if test.outcome in ("failed", "error") and test.verdict in (PASS, SKIPPED):
        yield differ(RESULTS, name, test.verdict, f"{RESULTS} (outcome)", test.outcome)
    if test.expected and test.outcome != "xfailed":
        yield differ(RESULTS, f"expected of {test.test}", True, f"{RESULTS} (outcome)", test.outcome)


def check_end(run: RecordedRun) -> Iterator[Contradiction]:
    """How the run ended fits its tests: state, time of the end, exit code, and whether it is whole."""
    facts, tests = run.results["run"], run.results["tests"]
    state, running = facts["state"], facts["state"] == RUNNING
    for field in ("ended", "exit_code"):
        if (facts[field] is None) != running:
            yield differ(RESULTS, f"run.{field}", facts[field], f"{RESULTS} (run.state)", state)
    whole = state == STATE_ENDED and not facts["missing"] and all(test.verdict != INTERRUPTED for test in tests)
    if facts["whole"] != whole:
        yield differ(RESULTS, "run.whole", facts["whole"], f"{RESULTS} (state, missing and tests)", whole)
    bad = [test for test in tests if test.verdict in WORST_FIRST and test.outcome is not None and not test.expected]
    if facts["exit_code"] == EXIT_OK and bad and state == STATE_ENDED:
        said = f"{bad[0].verdict} for {bad[0].test}"
        yield differ(RESULTS, "run.exit_code", EXIT_OK, f"{RESULTS} (tests)", said)
