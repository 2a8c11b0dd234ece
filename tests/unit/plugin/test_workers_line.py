"""The live line of workers, on a terminal of a few rows: it stands below what pytest writes and leaves nothing behind."""

from __future__ import annotations

import time
from io import StringIO
from pathlib import Path

import pytest
from _pytest._io import TerminalWriter

from hil.record.progress import Progress, ProgressFile
from hil.record.running import RunningTrial
from hil.session.workers_line import WorkersLine, line_of

BEGUN = '{"board": "stm32h7b3", "network": "lenet5", "method": "elasticzo-int8", "variant": "cls1"}'


class Reporter:
    """A reporter of pytest with its writer, on a text in the place of a terminal."""

    def __init__(self) -> None:
        self.text = StringIO()
        self._tw = TerminalWriter(self.text)
        self._tw.fullwidth = 60


def screen(text: str) -> list[str]:
    """Return the rows that a terminal shows (ECMA-48: LF, CUU, CHA, EL)."""
    rows, row, column = [""], 0, 0
    while text:
        if text.startswith("\n"):
            row, column, text = row + 1, 0, text[1:]
            rows += [""] * (row == len(rows))
        elif text.startswith("\x1b["):
            end = next(at for at in range(2, len(text)) if text[at].isalpha())
            number, kind, text = text[2:end], text[end], text[end + 1 :]
            if kind == "A":
                row -= int(number)
            elif kind == "G":
                column = int(number) - 1
            else:
                assert (number, kind) == ("2", "K")
                rows[row] = ""
        else:
            rows[row] = rows[row].ljust(column)[:column] + text[0] + rows[row][column + 1 :]
            column, text = column + 1, text[1:]
    return [line.rstrip() for line in rows]


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    folder = tmp_path / "trial"
    folder.mkdir()
    (folder / "begun.json").write_text(BEGUN)
    return folder


def written(line: WorkersLine, reporter: Reporter, text: str, hook: str = "pytest_runtest_logreport") -> None:
    """Let pytest write within a hook."""
    steps = getattr(line, hook)()
    next(steps)
    reporter._tw.write(text)
    with pytest.raises(StopIteration):
        steps.send(None)


def test_it_stands_below_and_leaves_nothing(trial: Path) -> None:
    reporter = Reporter()
    line = WorkersLine(trial.parent, reporter)
    progress = ProgressFile(trial)
    progress.stage("train", 200)
    written(line, reporter, "test_a.py .", "pytest_runtest_logstart")
    end = time.monotonic() + 20
    while "train" not in reporter.text.getvalue() and time.monotonic() < end:
        time.sleep(0.05)
    shown = screen(reporter.text.getvalue())
    assert shown == ["test_a.py .", "stm32h7b3 cls1: train 0/200"]
    written(line, reporter, ".")
    assert screen(reporter.text.getvalue())[0] == "test_a.py .."
    written(line, reporter, "\nthe end", "pytest_sessionfinish")
    time.sleep(1.5)  # longer than the line waits
    assert screen(reporter.text.getvalue()) == ["test_a.py ..", "the end"]


def test_each_trial_says_what_it_does() -> None:
    state = Progress("train", 50, 200, 1.5, 10.0, None, 0.0)
    trials = [
        RunningTrial("stm32h7b3", "lenet5 elasticzo-int8 cls1", "cls1", "virtual", state),
        RunningTrial("rp2040", "lenet5 elasticzo-int8 cls2", "cls2", "virtual", None),
    ]
    said = line_of(trials, 80)
    assert said == "stm32h7b3 cls1: train 50/200, 0:00:15 left | rp2040 cls2: begins"
    assert line_of(trials, 30) == "stm32h7b3 cls1: train 50/200,\N{HORIZONTAL ELLIPSIS}"
    assert line_of([], 80) == ""
    assert "\x1b" not in line_of([RunningTrial("\x1b[2J", "", "", "", None)], 80)
