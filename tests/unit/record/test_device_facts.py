"""What a device was and what came from it: edits in every copy are named by what else the record has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.comparison import compare
from hil.record import AskedTest, RunWriter, read_entries
from hil.record.contradiction import Contradicted
from hil.record.device_test import DEVICE_TEST, DeviceTest
from hil.record.device_tests import write_device_test, write_drift
from hil.record.sums import sums_of, write_sums
from hil.session.device_tensors import KeptTensors
from hil.session.device_use import largest_errors

TEST, FOLDER = "test_mine.py::test_engine[mps2-an386]", "mps2-an386-test_engine"
LOG = "0.1 < 'ready\\n'\n0.2 > 't\\n'\n0.3 < 'step \\xff\\n'\n"
CAME = 6 + 7


class Reference:
    def step(self, index: int) -> dict[str, np.ndarray]:
        return {"w": np.full(3, index, np.float32)}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run with one device test, its log, and the tensors of its comparison."""
    writer = RunWriter.begin(tmp_path)
    writer.plan([AskedTest(test=TEST, board="mps2-an386", verdict="pass", reason="", outcome="passed", seconds=2.5)])
    folder = writer.folder / FOLDER
    folder.mkdir()
    kept = KeptTensors(folder / "tensors.npz")
    comparison = compare(Reference(), exact=True, seen=kept.step)
    for step in range(4):
        comparison.step(step, {"w": np.full(3, step, np.float32)})
    kept.close()
    write_drift(folder / "drift-1.parquet", comparison.drift.table())
    summary: dict[str, Any] = comparison.check().to_json()
    summary |= {"worst": largest_errors(comparison.drift), "drift": "drift-1.parquet"} | kept.to_json()
    (folder / "serial.log").write_text(LOG)
    entry = DeviceTest(
        test=TEST, folder=FOLDER, board="mps2-an386", core="cortex-m4", reality="qemu", attached=False, image=None,
        received=CAME, comparisons=[summary], judged=[summary["sentence"]], verdict="pass", reason="", wall_s=2.5,
        began="2026-11-28T12:00:00+00:00",
    )  # fmt: skip
    write_device_test(writer.folder, entry)
    writer.finish()
    assert read_entries(writer.folder).device_tests == [entry]
    return writer.folder


def contradictions(folder: Path, edit: Callable[[dict[str, Any]], object]) -> list[str]:
    """Edit every copy of the entry, write SHA256SUMS again as a forger would, and return what is named."""
    results = json.loads((folder / "results.json").read_text())
    edit(results["device_tests"][0])
    (folder / "results.json").write_text(json.dumps(results))
    (folder / FOLDER / DEVICE_TEST).write_text(json.dumps(results["device_tests"][0]))
    write_sums(folder, sums_of(folder, results["run"], False))
    with pytest.raises(Contradicted) as seen:
        read_entries(folder)
    return [one.sentence for one in seen.value.found]


@pytest.mark.parametrize(("edit", "words"), [
    (lambda e: e.update(board="stm32f746"), "board of .* is 'stm32f746', .* has 'mps2-an386'"),
    (lambda e: e.update(core="cortex-m7"), "core of .* is 'cortex-m7', .*catalogue has 'cortex-m4'"),
    (lambda e: e.update(attached=True, command=["train"]), "attached of"),
    (lambda e: e.update(wall_s=2.6), "wall_s of .* is 2.6, .* has 2.5"),
    (lambda e: e.update(wall_s=2.4), "wall_s of .* is 2.4, .* has 2.5"),
    (lambda e: e.update(received=CAME + 1), f"received of .* is 14, .*serial.log has '{CAME} bytes'"),
    (lambda e: e["comparisons"][0].update(reference_kind="recorded"), "reference_kind of .* is 'recorded'"),
    (lambda e: e["comparisons"][0]["worst"][0].update(max_ulp=500), "worst of w .* is 500"),
    (lambda e: e["comparisons"][0]["worst"][0].update(max_relative=0.5), "max_relative of w"),
    (lambda e: e["comparisons"][0]["worst"][0].update(max_ulp=500), "max_ulp of w"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(dtype="float64"), "dtype of w .*'float64', .*tensors.npz"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(shape=[1, 3]), "shape of w .*tensors.npz"),
    (lambda e: e["comparisons"][0]["tensors"][0].update(tensor="v"), "^results.json: tensors of .*tensors.npz"),
    (lambda e: e["comparisons"][0]["kept"].update(sha256="0" * 64), "sha256 of the tensors"),
    (lambda e: e["comparisons"][0]["kept"].update(file="tensors-2.npz"), "the tensors of .*tensors-2.npz"),
])  # fmt: skip
def test_an_edit_of_every_copy_is_named(run, edit, words):
    found = contradictions(run, edit)
    assert any(re.search(words, sentence) for sentence in found), found


@pytest.mark.parametrize(("steps", "form", "words"), [
    (4, np.float32, "sha256 of the tensors of"), (3, np.float32, "steps of w of .* is 4, .*tensors.npz has 3"),
    (4, np.float64, "dtype of w"),
])  # fmt: skip
def test_tensors_that_were_replaced_are_named(run, steps, form, words):
    """Other values with the sum of before; and with a sum that was made again, other forms."""
    values = {f"w@{step}": np.full(3, step + 1, form) for step in range(steps)}
    np.savez(run / FOLDER / "tensors.npz", **values)  # type: ignore[arg-type]
    found = contradictions(run, lambda entry: None)
    assert any(re.search(words, sentence) for sentence in found), found


def test_a_log_that_is_full_or_cut_decides_nothing(run):
    (run / FOLDER / "serial.log").write_text(LOG[:-3])
    results = json.loads((run / "results.json").read_text())
    write_sums(run, sums_of(run, results["run"], False))
    assert read_entries(run).device_tests[0].received == CAME
    (run / FOLDER / "serial.log").write_text("0.1 < 'ready\\n'\n0.2 ! the log is full\n")
    write_sums(run, sums_of(run, results["run"], False))
    assert read_entries(run).device_tests[0].received == CAME
