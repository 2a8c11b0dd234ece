"""The record of device tests: written, read again, checked against its files and itself; absent from other runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from hil.comparison import Drift, compare
from hil.errors import RigError
from hil.history.device_rows import device_rows
from hil.record import AskedTest, RunWriter, read_entries, schema
from hil.record.contradiction import Contradicted
from hil.record.device_test import DEVICE_TEST, DeviceTest
from hil.record.device_tests import write_device_test, write_drift
from hil.record.sums import sums_of, write_sums
from hil.report import render
from hil.session.device_use import largest_errors

TEST, FOLDER, DRIFT = "test_mine.py::test_engine[mps2-an386]", "mps2-an386-test_engine", "drift-1.parquet"


class Reference:
    """One ulp beside the device from step 1 on."""

    def step(self, index: int) -> dict[str, np.ndarray]:
        return {"w": np.nextafter(np.ones(3, np.float32), np.float32(2 if index else 1))}


def compared() -> tuple[dict[str, Any], Drift]:
    run = compare(Reference(), ulp=1)
    for step in range(4):
        run.step(step, {"w": np.ones(3, np.float32)})
    return run.check().to_json() | {"worst": largest_errors(run.drift), "drift": DRIFT}, run.drift


def entry(**changes: Any) -> DeviceTest:
    budget = {
        "source": "in the test", "limit": 20.0, "relative": None, "upper": True, "verdict": "pass",
        "sentence": "parameters is 12, and the budget in the test is at most 20.",
    }  # fmt: skip
    figure = {
        "name": "parameters", "value": 12, "unit": "1", "uncertainty": None, "provenance": "counted", "note": "",
        "source": "hil_figure", "budgets": [budget],
    }  # fmt: skip
    comparison, _ = compared()
    fields: dict[str, Any] = {
        "test": TEST, "folder": FOLDER, "board": "mps2-an386", "core": "cortex-m4", "reality": "qemu",
        "attached": False, "image": {"file": "mine.elf", "sha256": "a" * 64, "own": True, "compilers": ["GNU C11 13.2 -Og"]}, "flash": "loaded",
        "clock_hz": 25_000_000, "received": 90, "matches": 5, "comparisons": [comparison], "figures": [figure],
        "judged": [comparison["sentence"], budget["sentence"], "the device printed what was expected, 5 times."], "verdict": "pass", "reason": "",
        "began": "2026-11-28T12:00:00+00:00", "wall_s": 2.5,
    }  # fmt: skip
    return DeviceTest(**(fields | changes))


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(record: DeviceTest | None, test: AskedTest | None = None, ended: bool = True) -> Path:
        run = RunWriter.begin(tmp_path)
        asked = test or AskedTest(test=TEST, board="mps2-an386", verdict="pass", reason="", outcome="passed")
        run.plan([asked])
        if record is not None:
            (run.folder / record.folder).mkdir()
            write_device_test(run.folder, record)
            (run.folder / record.folder / "bench.log").write_text("QEMU\n")
            write_drift(run.folder / record.folder / DRIFT, compared()[1].table())
        run.finish() if ended else run.update()
        return run.folder

    return write


def edited(folder: Path, edit: Callable[[dict[str, Any]], object], also_file: bool = True) -> None:
    """Edit the entry in results.json, and in its own file, and write SHA256SUMS again as a forger would."""
    results = json.loads((folder / "results.json").read_text())
    edit(results["device_tests"][0])
    (folder / "results.json").write_text(json.dumps(results))
    if also_file:
        (folder / FOLDER / DEVICE_TEST).write_text(json.dumps(results["device_tests"][0]))
    write_sums(folder, sums_of(folder, results["run"], False))


def test_it_is_read_as_it_was_written_and_fits_its_schema(written):
    folder = written(entry())
    assert read_entries(folder).device_tests == [entry()]
    jsonschema.validate(json.loads((folder / "results.json").read_text()), schema("results"))
    jsonschema.validate(json.loads((folder / FOLDER / DEVICE_TEST).read_text()), schema("device_test"))
    assert (folder / "SHA256SUMS").read_text().count(FOLDER) == 3


def test_a_run_without_one_is_as_before(written):
    folder = written(None, AskedTest(test="t.py::a", verdict="skipped", reason="not today", outcome="skipped"))
    results = json.loads((folder / "results.json").read_text())
    assert list(results) == ["schema", "run", "totals", "tests", "trials"] and read_entries(folder).device_tests == []


def test_a_killed_run_has_it_as_interrupted(written):
    begun = entry(verdict="interrupted", reason="the run ended before this test did.", judged=[], comparisons=[])
    folder = written(begun, AskedTest(test=TEST), ended=False)
    (found,) = read_entries(folder).device_tests
    assert found.verdict == "interrupted"
    render(folder)
    assert "GNU C11 13.2 -Og" in (folder / FOLDER / "index.html").read_text()
    assert "interrupted" in (folder / FOLDER / "index.html").read_text()


@pytest.mark.parametrize(("edit", "words"), [
    (lambda e: e.update(reason="?"), "reason of .* is '\\?'"),
    (lambda e: e.update(judged=[]), "judged of"),
    (lambda e: e.update(reality=None), "reality of .*'a device that was used'"),
    (lambda e: e.update(stage="probe"), "stage of"),
    (lambda e: e.update(reality="hardware"), "'a board that rig.toml does not name'"),
    (lambda e: e.update(reality="hardware", attached=True), "bench.log has \"a stand-in's\""),
    (lambda e: e["comparisons"][0].update(elements=13), "elements of the comparison"),
    (lambda e: e["comparisons"][0].update(verdict="fail"), "a comparison of .* is 'fail'"),
    (lambda e: e["comparisons"][0].update(steps=0), "verdict of the comparison"),
    (lambda e: e["comparisons"][0]["worst"][0].update(max_abs=1e-9), "max_abs of w"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(differing=3) or e["comparisons"][0].update(differing=3),
     "differing of w in the comparison"),
    (lambda e: e["comparisons"][0].update(drift="drift-9.parquet"), "drift of the comparison"),
    (lambda e: e["figures"][0].update(provenance="measured"), "provenance of parameters"),
    (lambda e: e["figures"][0].update(provenance="declared"), "the budget of parameters"),
    (lambda e: e["figures"][0].update(value=21), "the budget of parameters .* '21 of 20.0'"),
    (lambda e: e["figures"][0]["budgets"][0].update(verdict="fail"), "the budget of parameters"),
    (lambda e: e["figures"][0].update(value=11), "the budget of parameters .*'parameters is 12, .*'parameters is 11,"),
    (lambda e: e["figures"][0]["budgets"][0].update(limit=30.0), "the budget of parameters .* is at most 30"),
    (lambda e: e["judged"].__setitem__(1, "parameters is 2, and the budget in the test is at most 20."), "judged of"),
    (lambda e: e["judged"].__setitem__(2, "the device printed what was expected, 99 times."), "99 times.* '5 matches'"),
    (lambda e: e.update(matches=1), "judged of .*expected, once"),
    (lambda e: e.update(matches=0), "judged of .*'0 matches'"),
    (lambda e: e["judged"].append("all is well."), "judged of .*'all is well.'"),
    (lambda e: e["judged"].pop(0), "judged of .*'without it'"),
    (lambda e: e.update(received=0), "received of .* is 0, .*'5 matches'"),
    (lambda e: e.update(received=4), "received of .* is 4, .*'5 matches'"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(differing=13) or e["comparisons"][0].update(
        differing=13, drift=""), "differing of w in the comparison .* is 13, .* has 12"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(elements=14) or e["comparisons"][0].update(
        elements=14, drift=""), "elements of w in the comparison .* is 14, .* has 12"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(steps=5), "steps of w in the comparison .* is 5, .* has 4"),
    (lambda e: e["comparisons"][0].update(steps=400), "steps of the comparison .* is 400, .* has 4"),
    (lambda e: e["comparisons"][0].update(first_difference={
        "step": 4, "tensor": "w", "device": "2", "reference": "1", "index": [0], "outside": 1, "elements": 3,
        "sentence": "step 4 differs."}), "first_difference of the comparison .* is 'at step 4', .*'4 steps'"),
    (lambda e: e.update(exit_code=3), "exit_code of .*'exit code 3'"),
    (lambda e: e.update(exit_code=-11), "exit_code of .*'signal 11'"),
    (lambda e: e["judged"].append("the test read how the command ended: exit code 3."), "judged of .*'no end'"),
    (lambda e: e.update(faults=["HardFault"], reality="host", command=["train"]), "faults of .*'HardFault'.*'no probe'"),
    (lambda e: e["comparisons"][0].update(tolerance="ulp=9"), "tolerance of .*'ulp=9'.*'ulp=1'"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(tolerance="exact"), "tolerance of w .*'exact'.*'ulp=1'"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(tolerance_fields={"kind": "odd"}), "tolerance of w"),
    (lambda e: e.update(test="test_mine.py::other"), "the test of mps2-an386-test_engine"),
])  # fmt: skip
def test_an_edit_of_every_copy_is_named(written, edit, words):
    folder = written(entry())
    edited(folder, edit)
    with pytest.raises(Contradicted) as seen:
        read_entries(folder)
    assert any(re.search(words, one.sentence) for one in seen.value.found), seen.value.found


def test_an_edit_of_one_copy_is_named(written):
    folder = written(entry())
    edited(folder, lambda e: e.update(received=91), also_file=False)
    with pytest.raises(Contradicted, match="received of mps2-an386-test_engine is 91, but .*device_test.json has 90"):
        read_entries(folder)


def test_a_test_is_no_better_than_its_device_test(written):
    failed = entry(verdict="fail", reason="step 1 differs.", judged=[])
    with pytest.raises(Contradicted, match="verdict of test_mine.py::test_engine.* is 'pass'"):
        read_entries(written(failed))


@pytest.mark.parametrize(("name", "value"), [("folder", "../../etc"), ("drift", "../results.json")])
def test_no_name_leads_outside(written, name, value):
    folder = written(entry())
    edited(folder, lambda e: (e if name == "folder" else e["comparisons"][0]).update({name: value}), also_file=False)
    with pytest.raises(RigError, match="no plain name"):
        read_entries(folder)


def test_names_of_a_test_and_a_tensor_are_escaped_on_the_page(written):
    hostile = "<script>alert(1)</script>"
    comparison, _ = compared()
    comparison["tensors"][0]["dtype"] = comparison["name"] = comparison["reference"] = hostile
    folder = written(entry(comparisons=[comparison], warnings=[hostile], faults=[hostile]))
    render(folder)
    page = (folder / FOLDER / "index.html").read_text()
    assert hostile not in page and page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 5


def test_the_history_row_is_a_series_of_its_own_and_nothing_without_a_board():
    rows = device_rows(entry())
    assert rows is not None and rows.ended and rows.row["network"] == "test_mine.py::test_engine"
    assert [(each.name, each.value) for each in rows.figures] == [
        ("drift.w.max_relative", pytest.approx(1.19e-7, rel=1e-2)), ("drift.w.max_ulp", 1.0),
        ("figures.parameters", 12.0), ("steps_compared", 4.0), ("tolerance.w.ulp", 1.0),
    ]  # fmt: skip
    assert device_rows(entry(board=None)) is None and device_rows(entry(verdict="refused", reason="?")) is None


def test_a_log_without_a_byte_contradicts_what_came(written) -> None:
    for log, good in (("0.1 < 'ready'\n", True), ("", False), ("0.1 > 'ready'\n", False)):
        folder = written(entry(received=5))
        (folder / FOLDER / "serial.log").write_text(log)
        edited(folder, lambda e: None)
        if good:
            read_entries(folder)
            continue
        with pytest.raises(Contradicted) as seen:
            read_entries(folder)
        assert any("received of" in one.sentence and "'no byte'" in one.sentence for one in seen.value.found)


READ = "the test read how the command ended: exit code 3."


@pytest.mark.parametrize(
    "changes",
    [
        {"exit_code": 3, "judged": [*entry().judged, READ]},
        {"exit_code": 0, "judged": [*entry().judged, READ.replace("3", "0")]},
        {"exit_code": 3, "resets": 2},  # the test has started it again
        {"exit_code": -11, "judged": [*entry().judged, READ.replace("exit code 3", "signal 11 (SIGSEGV)")]},
        {"faults": ["HardFault"], "probe": "GDB stub of qemu"},
        {"faults": ["QEMU has stopped"]},
    ],
)
def test_what_a_passed_test_may_have_is_no_contradiction(written, changes) -> None:
    read_entries(written(entry(**changes)))
