"""`hil matrix`: what the records and the planner say of a cell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.record.run_writer import RunWriter
from hil.training.matrix.cells import Cell, cells
from hil.training.matrix.states import Records, row_of
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial.outcome import Outcome
from tests.history_records import steps_of

CELL = Cell("poor-mans-training", "block2", "resnet-tiny", "stm32h7b3")


FIRST = {"step": 1, "layer": "pw1", "index": 3, "board": 1, "reference": 2, "what": "weight"}
DIFFERS = {"bit_exact": False, "verdict": "fail", "reason": "weight pw1[3] is 1.", "first_difference": FIRST}


def recorded(folder: Path, *changes: dict) -> None:
    """Write runs with one trial of the cell each."""
    outcome = Outcome(CELL.spec(), planned=prepare(CELL.spec()))
    blank = trial_record(outcome)
    for change in changes:
        writer, trial = RunWriter.begin(folder), blank.model_copy(update=change)
        writer.write_trial(trial, steps_of(trial), writer.trial_folder(outcome.spec.name))
        writer.finish(exit_code=int(trial.verdict != "pass"))


def record(steps: int = 2, **changes) -> dict:
    """Fields of a trial that agree with each other."""
    ran = {"steps": steps, "steps_compared": steps, "final_digest": "0000002a" if steps else None}
    passed = {"bit_exact": True, "verdict": "pass", "reason": "", "stage": "", "reality": "virtual"}
    return ran | passed | changes


def test_a_cell_without_a_record_is_not_run_or_refused(tmp_path: Path) -> None:
    assert row_of(CELL, Records(tmp_path)).state == "not-run"
    large = Cell("poor-mans-training", "adaptive", "mcunet-128", "rp2040")
    refused = row_of(large, Records(tmp_path))
    assert refused.state == "refused" and "bytes" in refused.reason and refused.steps == 0


@pytest.mark.parametrize(("changes", "state", "steps"), [
    ([record()], "exact", 2),
    ([record(), record(50), record(3)], "exact", 50),
    ([record(50), record(**DIFFERS)], "differs", 2),
    ([record(50), record(99, cycles={"total": 7}, step_time_s=7.0)], "exact", 50),  # contradicts itself
    ([record(0, bit_exact=None, verdict="blocked", reason="no board.", stage="bench")], "not-run", 0),
    ([record(image_sha256="0" * 64)], "not-run", 0),
])  # fmt: skip
def test_the_record_that_says_most_counts(tmp_path: Path, changes: list[dict], state: str, steps: int) -> None:
    recorded(tmp_path, *changes)
    row = row_of(CELL, Records(tmp_path))
    assert (row.state, row.steps) == (state, steps)
    assert row.reality == (None if state == "not-run" else "virtual")


def test_rows_have_the_fields_that_others_rely_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, record())
    arguments = [
        "--board",
        "stm32h7b3",
        "--network",
        "resnet-tiny",
        "--method",
        "poor-mans-training",
        "--reports",
        str(tmp_path),
    ]
    assert main(["matrix", "--json", *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"method", "network", "board", "reality", "state", "steps"} <= set(rows[0])
    assert [row["state"] for row in rows if row["variant"] == "block2"] == ["exact"]
    assert {row["state"] for row in rows} == {"exact", "not-run"}
    assert main(["matrix", *arguments]) == 0 and "1 exact" in capsys.readouterr().out


def test_a_difference_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, record(**DIFFERS))
    assert main(["matrix", "--board", "stm32h7b3", "--network", "resnet-tiny", "--reports", str(tmp_path)]) == 1
    assert "pw1[3]" in capsys.readouterr().out


@pytest.mark.tier("nightly")
def test_the_whole_matrix_reads_each_image_a_few_times_and_no_data(tmp_path: Path) -> None:
    """It has a thousand cells: what is made for each of them takes minutes."""
    program = """
import sys
from collections import Counter
opened = Counter()
sys.addaudithook(lambda event, args: opened.update([str(args[0])]) if event == "open" else None)
from hil.commands.main import main
assert main(["matrix", "--reports", sys.argv[1]]) == 0
images = {name: count for name, count in opened.items() if name.endswith(".elf")}
assert len(images) == 9 and max(images.values()) <= 6, images
assert not [name for name in opened if "ubyte" in name]
heavy = {"pandas", "pyarrow", "plotly", "llvmlite", "unicorn", "scipy", "pyvisa", "pyocd", "rich", "pydantic"} & set(sys.modules)
assert not heavy, heavy
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) > 130


def test_every_cell_is_there_once() -> None:
    found = list(cells(["stm32h7b3", "rp2040"]))
    assert len(found) == len(set(found)) and {cell.board for cell in found} == {"stm32h7b3", "rp2040"}
