"""What a device test judged, against the fields from which its sentences follow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hil.gates import FIGURES, BudgetedFigure, FigureGate, begin_of
from hil.gates.judgement import COVERAGE
from hil.quantity import Provenance, Quantity
from hil.record.checks.recorded import RESULTS, RecordedRun
from hil.record.checks.verdicts import FAIL, PASS
from hil.record.contradiction import Contradiction, differ
from hil.record.device_test import Compared, DeviceFigure, DeviceTest, FigureBudget
from hil.record.safe_paths import safe_file, safe_folder

SERIAL_LOG = "serial.log"
MATCHED = "the device printed what was expected, "
ENDED = re.compile(r"(?:device \d+: )?the test read how the .+ ended: (?P<how>exit code \d+|signal \d+)\b.*")
BY_TEST = "compared by the rig."  # the end of the sentences of a test of which only its own assertions were judged
STAND_INS = ("renode", "qemu", "virtual")  # their logs say a fault without a probe


def check_judged(run: RecordedRun, record: DeviceTest) -> Iterator[Contradiction]:
    """Check what was judged, what came from the device and how it ended against each other."""
    for comparison in record.comparisons:
        yield from _tolerance(record, comparison)
    for figure in record.figures:
        yield from _sentences(record, figure)
    yield from _printed(run, record)
    known = len(record.others) + 1
    if record.devices and record.devices != known:
        name, where = f"devices of {record.folder}", f"{RESULTS} (others)"
        yield differ(RESULTS, name, record.devices, where, known, record.folder)
    if record.verdict == PASS:
        yield from _sources(record)
        yield from _ends(record)
        yield from _faults(record)


def _sources(record: DeviceTest) -> Iterator[Contradiction]:
    """Check that a pass rests on all that was judged, and on nothing else."""
    name = f"judged of {record.folder}"
    times = "once" if record.matches == 1 else f"{record.matches:,} times"
    wanted = [comparison["sentence"] for comparison in record.comparisons]
    wanted += [sentence for learning in record.learning for sentence in learning["judged"]]
    wanted += [
        budget["sentence"] for figure in record.figures for budget in figure["budgets"] if budget["verdict"] == PASS
    ]
    wanted += [f"{MATCHED}{times}."] if record.matches else []
    reports = [report["sentence"] for report in record.reports if report["verdict"] == PASS]
    plain = [re.sub(r"^device \d+: ", "", said) for said in record.judged]
    for sentence in wanted:
        if sentence not in record.judged:
            yield differ(RESULTS, name, "without it", f"{RESULTS} (its fields)", sentence, record.folder)
    for sentence in reports:
        if sentence not in plain:
            yield differ(RESULTS, name, "without it", f"{RESULTS} (its reports)", sentence, record.folder)
    for said, bare in zip(record.judged, plain, strict=True):
        if said not in wanted and bare not in reports and not ENDED.fullmatch(said) and not said.endswith(BY_TEST):
            there = f"{record.matches} matches" if said.startswith(MATCHED) else "nothing that was judged so"
            yield differ(RESULTS, name, said, f"{RESULTS} (its fields)", there, record.folder)


def _printed(run: RecordedRun, record: DeviceTest) -> Iterator[Contradiction]:
    """Check that what matched came, at least a byte for each match, and that what came is in the log."""
    if record.matches > record.received:
        there = f"{record.matches} matches"
        yield differ(RESULTS, f"received of {record.folder}", record.received, RESULTS, there, record.folder)
    log = safe_file(safe_folder(run.folder, record.folder), SERIAL_LOG)
    if log is None or not record.received or record.devices != 1:
        return
    with log.open(encoding="ascii", errors="replace") as lines:
        if not any(" < " in line for line in lines):
            place = f"{record.folder}/{SERIAL_LOG}"
            yield differ(RESULTS, f"received of {record.folder}", record.received, place, "no byte", record.folder)


def _ends(record: DeviceTest) -> Iterator[Contradiction]:
    """Check that a test that passed has read how its program ended, if that was no success.

    A program that the test has started again may have the exit code of the run before; the first reset is the rig's.
    """
    codes = [record.exit_code, *(other["exit_code"] for other in record.others)]
    words = [f"exit code {code}" if code >= 0 else f"signal {-code}" for code in codes if code is not None]
    read = [found["how"] for said in record.judged if (found := ENDED.fullmatch(said))]
    starts = sum(one["resets"] + one["power_cycles"] for one in record.others) + record.resets + record.power_cycles
    for how in words:
        if how != "exit code 0" and how not in read and starts <= record.devices:
            yield differ(RESULTS, f"exit_code of {record.folder}", how, f"{RESULTS} (verdict)", PASS, record.folder)
    for how in read:
        if how not in words:
            there = " and ".join(words) or "no end"
            yield differ(RESULTS, f"judged of {record.folder}", how, f"{RESULTS} (exit_code)", there, record.folder)


def _faults(record: DeviceTest) -> Iterator[Contradiction]:
    """Check that a fault of a device was seen: by a probe, or by a stand-in of the house."""
    probes = [record.probe, *(other["probe"] for other in record.others)]
    if record.faults and not any(probes) and record.reality not in STAND_INS and (record.attached or record.command):
        yield differ(
            RESULTS, f"faults of {record.folder}", record.faults[0], f"{RESULTS} (probe)", "no probe", record.folder
        )


def _tolerance(record: DeviceTest, found: Compared) -> Iterator[Contradiction]:
    """Check the words of the tolerances against their numbers."""
    from hil.comparison.tolerance import words_of  # a run without a comparison need not load it

    for tensor in found["tensors"]:
        words, name = words_of(tensor["tolerance_fields"]), f"tolerance of {tensor['tensor']} of {record.folder}"
        if words != tensor["tolerance"]:
            yield differ(RESULTS, name, tensor["tolerance"], f"{RESULTS} (tolerance_fields)", words, record.folder)
        if words is not None and words not in found["tolerance"]:
            place = f"{RESULTS} (its tensors)"
            yield differ(RESULTS, f"tolerance of {record.folder}", found["tolerance"], place, words, record.folder)


def _sentences(record: DeviceTest, figure: DeviceFigure) -> Iterator[Contradiction]:
    """Check the sentences of budgets that passed or failed against figure and limit."""
    value = Quantity(figure["value"], figure["unit"], Provenance(figure["provenance"]), figure["uncertainty"])
    for budget in figure["budgets"]:
        if budget["verdict"] not in (PASS, FAIL):
            continue
        possible = [f"{begin}." for begin in _begins(figure, budget, value)]
        if budget["sentence"] not in possible:
            yield differ(
                RESULTS, f"the budget of {figure['name']}", budget["sentence"], f"{RESULTS} (its value and limit)",
                possible[0], record.folder,
            )  # fmt: skip


def _begins(figure: DeviceFigure, budget: FigureBudget, value: Quantity) -> list[str]:
    """Return how the sentence may be: a budget of the test in its own words, or one that the bench has for all."""
    name, unit, upper = figure["name"], figure["unit"], budget["upper"]
    own = [
        BudgetedFigure(f"figures.{name}", unit, upper, f"{name} is", plain)
        for plain in sorted((False, True), reverse="%" not in budget["sentence"])
    ]
    known = FIGURES.get(name)
    named = [*own, *([None] if known is not None and (known.unit, known.upper) == (unit, upper) else [])]
    limit = None if budget["relative"] is not None else budget["limit"]
    gates = [FigureGate(name, budget["source"], limit, budget["relative"], each) for each in named]
    return [begin_of(gate, value, COVERAGE, budget["limit"], budget["verdict"]) for gate in gates]
