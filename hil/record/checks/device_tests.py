"""Device tests: each against its file, its test, its tables, and its own fields."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hil.bounded_read import read_json
from hil.record.checks.device_facts import check_facts
from hil.record.checks.device_judged import check_judged
from hil.record.checks.entries import close, different
from hil.record.checks.provenance import BENCH_LOG
from hil.record.checks.recorded import RESULTS, RecordedRun
from hil.record.checks.verdicts import BLOCKED, FAIL, PASS, SKIPPED
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.device_test import DEVICE_TEST, Compared, DeviceFigure, DeviceTest
from hil.record.device_tests import LARGEST
from hil.record.parquet import places_by_word, read_columns
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import RERUN, check_name, safe_file, safe_folder
from hil.record.trial_writer import json_fields

COUNTED = ("measured", "counted")  # other figures neither pass nor fail a budget


def check_device_tests(run: RecordedRun) -> Iterator[Contradiction]:
    """A device test is its file, its verdict fits what was compared, and no test is better than its last attempt."""
    records = run.results.get("device_tests", [])
    if run.results["run"]["state"] == RUNNING:
        return  # they were read from their files
    tests = {test.test: test for test in run.results["tests"]}
    last = {record.test: record for record in records}
    for record in records:
        yield from _file(run, record)
        yield from _verdict(record)
        log = safe_file(safe_folder(run.folder, record.folder), BENCH_LOG)
        if record.reality == "hardware" and log is not None:
            place = f"{record.folder}/{BENCH_LOG}"
            yield differ(RESULTS, f"reality of {record.folder}", "hardware", place, "a stand-in's", record.folder)
        yield from check_judged(run, record)
        for comparison in record.comparisons:
            yield from _comparison(run, record, comparison)
        for figure in record.figures:
            yield from _figure(record, figure)
        test = tests.get(record.test)
        yield from check_facts(run, record, test, record is last[record.test])
        if test is None:
            yield differ(RESULTS, f"the test of {record.folder}", record.test, RESULTS, NOTHING, record.folder)
        elif record is last[record.test] and record.verdict not in (PASS, SKIPPED) and test.verdict in (PASS, SKIPPED):
            # a plugin may repeat a test, whose last attempt counts
            name = f"verdict of {record.test}"
            yield differ(RESULTS, name, test.verdict, f"its device test {record.folder}", record.verdict, record.folder)


def _file(run: RecordedRun, record: DeviceTest) -> Iterator[Contradiction]:
    """Compare the entry with device_test.json, field by field."""
    path = safe_file(safe_folder(run.folder, record.folder), DEVICE_TEST)
    if path is None:
        said = any(sentence.startswith(f"{record.folder}: ") for sentence in run.results["run"]["missing"])
        if not said and not run.is_kept:
            yield differ(RESULTS, f"a device test in {record.folder}", "there", record.folder, NOTHING, record.folder)
        return
    other = read_json(path, LARGEST, RERUN)
    for place, here, there in different(json_fields(record), other, "", exact=True):
        where = f"{record.folder}/{DEVICE_TEST}"
        yield differ(RESULTS, f"{place} of {record.folder}", here, where, there, record.folder)


def _verdict(record: DeviceTest) -> Iterator[Contradiction]:
    """Check that a pass rests on something, and that nothing in it failed."""
    file = f"{RESULTS} (verdict of {record.folder})"
    passed = record.verdict == PASS
    if passed != (not record.reason):
        yield differ(RESULTS, f"reason of {record.folder}", record.reason, file, record.verdict, record.folder)
    if passed != bool(record.judged):
        yield differ(RESULTS, f"judged of {record.folder}", record.judged, file, record.verdict, record.folder)
    if record.stage and record.verdict != BLOCKED:
        yield differ(RESULTS, f"stage of {record.folder}", record.stage, file, record.verdict, record.folder)
    if passed:
        yield from _all_good(record, file)
    yield from _reports(record)
    yield from _reality(record, file)


def _all_good(record: DeviceTest, file: str) -> Iterator[Contradiction]:
    """Check that nothing failed of a test that passed."""
    for comparison in record.comparisons:
        if comparison["verdict"] != PASS:
            said = comparison["verdict"]
            yield differ(RESULTS, f"a comparison of {record.folder}", said, file, PASS, record.folder)
    for report in record.reports:
        if report["verdict"] != PASS:
            name = f"the {report['format']} report of {record.folder}"
            yield differ(RESULTS, name, report["verdict"], file, PASS, record.folder)
    for figure in record.figures:
        if any(budget["verdict"] == FAIL for budget in figure["budgets"]):
            yield differ(RESULTS, f"the budget of {figure['name']}", FAIL, file, PASS, record.folder)


def _reports(record: DeviceTest) -> Iterator[Contradiction]:
    """Check that the verdict of each report is that of its cases."""
    for report in record.reports:
        cases = [case["verdict"] for case in report["cases"]]
        good = PASS in cases and FAIL not in cases and not report["outside"]
        if good != (report["verdict"] == PASS):
            name = f"verdict of the {report['format']} report of {record.folder}"
            there = "a case that failed" if FAIL in cases else "no case that failed"
            yield differ(RESULTS, name, report["verdict"], f"{RESULTS} (its cases)", there, record.folder)


def _reality(record: DeviceTest, file: str) -> Iterator[Contradiction]:
    """Check that what the device was is known, and that silicon was a board of rig.toml."""
    if record.reality == "hardware" and not record.attached:
        yield differ(
            RESULTS,
            f"reality of {record.folder}",
            "hardware",
            file,
            "a board that rig.toml does not name",
            record.folder,
        )
    if record.reality is None and (record.image is not None or record.received or record.reads):
        yield differ(RESULTS, f"reality of {record.folder}", None, RESULTS, "a device that was used", record.folder)


def _comparison(run: RecordedRun, record: DeviceTest, found: Compared) -> Iterator[Contradiction]:
    """Check the sums of a comparison, its difference, and its drift."""
    name = f"comparison {found['name']} of {record.folder}" if found["name"] else f"comparison of {record.folder}"
    tensors, passed = found["tensors"], found["verdict"] == PASS
    fields: tuple[Literal["elements"], Literal["differing"]] = ("elements", "differing")
    for field in fields:
        total = sum(tensor[field] for tensor in tensors)
        if found[field] != total:
            yield differ(
                RESULTS, f"{field} of the {name}", found[field], f"{RESULTS} (its tensors)", total, record.folder
            )
    yield from _counts(record, found, name)
    if passed and (found["first_difference"] is not None or not found["steps"] or not found["elements"]):
        what = "a first difference" if found["first_difference"] is not None else "no step or element"
        yield differ(RESULTS, f"verdict of the {name}", PASS, RESULTS, what, record.folder)
    if found["drift"]:
        check_name(found["drift"], f"{record.folder}: the drift")
        path = safe_file(safe_folder(run.folder, record.folder), found["drift"])
        place = f"{record.folder}/{found['drift']}"
        if path is None:
            yield differ(RESULTS, f"drift of the {name}", "there", place, NOTHING, record.folder)
        else:
            yield from _drift(path, place, record, found, name)


def _counts(record: DeviceTest, found: Compared, name: str) -> Iterator[Contradiction]:
    """Check that no more differs than was compared, and that no more was compared than there was."""
    place = f"{RESULTS} (its tensors)"
    for tensor in found["tensors"]:
        said, there = f"of {tensor['tensor']} in the {name}", tensor["steps"] * math.prod(tensor["shape"])
        if tensor["steps"] > found["steps"]:
            yield differ(RESULTS, f"steps {said}", tensor["steps"], f"the {name}", found["steps"], record.folder)
        if tensor["elements"] != there:
            yield differ(RESULTS, f"elements {said}", tensor["elements"], place, there, record.folder)
        if tensor["differing"] > tensor["elements"]:
            yield differ(RESULTS, f"differing {said}", tensor["differing"], place, tensor["elements"], record.folder)
    steps = sum(tensor["steps"] for tensor in found["tensors"])
    if found["verdict"] == PASS and found["steps"] > steps:  # an error may end a step before its tensors are counted
        yield differ(RESULTS, f"steps of the {name}", found["steps"], place, steps, record.folder)
    first = found["first_difference"]
    if first is not None and first["step"] >= found["steps"] + ("index" not in first):  # of another form: not compared
        said = f"first_difference of the {name}"
        yield differ(RESULTS, said, f"at step {first['step']}", f"the {name}", f"{found['steps']} steps", record.folder)


def _drift(path: Path, place: str, record: DeviceTest, found: Compared, name: str) -> Iterator[Contradiction]:
    table = read_columns(path, words=("tensor",))
    places = places_by_word(table["tensor"])
    by_name: Mapping[str, Mapping[str, Any]] = {each["tensor"]: each for each in found["worst"]}
    for tensor in found["tensors"]:
        own = places.get(tensor["tensor"], np.empty(0, int))
        for field, value in (("elements", tensor["elements"]), ("differing", tensor["differing"])):
            total = int(np.nansum(table[field][own]))
            if total != value:
                said = f"{field} of {tensor['tensor']} in the {name}"
                yield differ(RESULTS, said, value, place, total, record.folder)
        for field in ("max_ulp", "max_relative", "max_abs"):
            largest = by_name.get(tensor["tensor"], {}).get(field)
            if len(own) and largest is not None and not close(largest, there := float(table[field][own].max())):
                said = f"{field} of {tensor['tensor']} in the {name}"
                yield differ(RESULTS, said, largest, place, there, record.folder)
    if found["verdict"] == PASS and not bool(table["within"].all()):
        yield differ(RESULTS, f"verdict of the {name}", PASS, place, "a tensor outside its tolerance", record.folder)


def _figure(record: DeviceTest, figure: DeviceFigure) -> Iterator[Contradiction]:
    """Check the provenance of a figure, and the verdicts of its budgets."""
    name, value = f"{figure['name']} of {record.folder}", figure["value"]
    if figure["provenance"] == "measured" and record.reality != "hardware":
        yield differ(
            RESULTS, f"provenance of {name}", "measured", f"{RESULTS} (reality)", record.reality, record.folder
        )
    for budget in figure["budgets"]:
        limit, said = budget["limit"], budget["verdict"]
        if figure["provenance"] not in COUNTED and said in (PASS, FAIL):
            yield differ(
                RESULTS, f"the budget of {name}", said, f"{RESULTS} (provenance)", figure["provenance"], record.folder
            )
        elif limit is not None and said in (PASS, FAIL):
            within = value <= limit if budget["upper"] else value >= limit
            if within != (said == PASS):
                yield differ(RESULTS, f"the budget of {name}", said, RESULTS, f"{value} of {limit}", record.folder)
