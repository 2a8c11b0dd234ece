"""`hil tail` on the folder of a session: while it runs, when it ends, and on folders that are none."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest
from rich.console import Console

from hil.commands.tail import main, newest_run, picture, read_session
from hil.errors import RigError
from hil.record import AskedTest, RunWriter
from hil.record.progress import NAME, Progress, ProgressFile, read_progress


class Clock:
    def __init__(self) -> None:
        self.s = 1_000.0

    def __call__(self) -> float:
        return self.s


def running(root, tests: int = 3) -> tuple[RunWriter, ProgressFile, Clock]:
    run = RunWriter.begin(root)
    run.plan([AskedTest(test=f"test_{number}", board="rp2040") for number in range(tests)])
    run.update()
    folder = run.trial_folder("rp2040-one")
    record = {
        "board": "rp2040",
        "network": "lenet5",
        "method": "elasticzo-int8",
        "variant": "cls1",
        "reality": "virtual",
    }
    (folder / "begun.json").write_text(json.dumps(record))
    clock = Clock()
    return run, ProgressFile(folder, clock, clock), clock


def end(run: RunWriter) -> None:
    """End the run, and its trial, which has no whole record here."""
    for path in run.folder.glob("*/begun.json"):
        path.unlink()
    run.finish()


def text_of(folder, now: float) -> str:
    console = Console(width=160)
    with console.capture() as taken:
        console.print(picture(read_session(folder), now))
    return taken.get()


def test_rate_loss_power_and_time_left_of_a_running_trial(tmp_path):
    run, file, clock = running(tmp_path)
    assert "begins" in text_of(run.folder, 0.0)
    file.stage("train", 200)
    for step in range(40):
        clock.s += 0.25
        file.step(2.0 - step / 100)
    file.power(0.0961)
    said = text_of(run.folder, clock.s)
    assert re.search(
        r"rp2040 \(virtual\)\s+lenet5 elasticzo-int8 cls1\s+train\s+40 of 200\s+4/s\s+1\.61\s+96\.1 mW\s+0:00:40\s+now",
        said,
    ), said
    assert "running, 0 of 3 tests ended" in said
    assert "0:02:00 ago" in text_of(run.folder, clock.s + 120)


def test_the_file_is_written_once_a_second_and_goes_with_the_trial(tmp_path):
    run, file, clock = running(tmp_path)
    (folder,) = run.folder.glob("rp2040*")
    file.stage("train", 1000)
    first = read_progress(folder)
    for _ in range(9):
        clock.s += 0.1
        file.step(1.0)
    assert read_progress(folder) == first
    clock.s += 0.2
    file.step(1.0)
    assert read_progress(folder).done == 10
    file.stage("evaluate")
    assert read_progress(folder) == Progress("evaluate", 0, 0, 1.0, None, None, clock.s)
    file.part(30, 120)
    clock.s += 2
    file.part(60, 120)
    assert read_progress(folder).left_s == pytest.approx(2.0)
    file.remove()
    assert read_progress(folder) is None and not (folder / NAME).exists()


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_does_no_harm(tmp_path, loss):
    run, file, clock = running(tmp_path)
    file.stage("train", 10)
    clock.s += 5
    file.step(loss)
    assert "train" in text_of(run.folder, clock.s)


def test_a_full_disk_does_no_harm(tmp_path):
    file = ProgressFile(tmp_path / "gone")
    file.stage("train", 10)
    file.step(1.0)
    file.remove()


def test_once_prints_and_ends(tmp_path, capsys):
    run, _, _ = running(tmp_path)
    assert main([str(run.folder), "--once"]) == 0
    assert run.folder.name in capsys.readouterr().out


def test_it_ends_when_the_run_ends(tmp_path, capsys):
    run, _, _ = running(tmp_path)
    codes = []
    follower = threading.Thread(target=lambda: codes.append(main([str(run.folder), "--interval", "0.02"])))
    follower.start()
    time.sleep(0.1)
    assert follower.is_alive()
    end(run)
    follower.join(60)
    assert codes == [0] and "ended" in capsys.readouterr().out


def test_the_newest_run_is_followed_if_none_is_named(tmp_path):
    with pytest.raises(RigError, match="holds no run"):
        newest_run(tmp_path)
    first, _, _ = running(tmp_path)
    end(first)
    later = tmp_path / "99991231T235959Z-0000"
    later.mkdir()
    (later / "results.json").write_text((first.folder / "results.json").read_text())
    assert newest_run(tmp_path) == later
    assert read_session(tmp_path / "latest").state == "ended"


@pytest.mark.parametrize(
    "content", ["[]", '{"run": {}}', '{"run": {"id": 1}, "tests": 3}', '{"run": null, "tests": []}']
)
def test_a_damaged_run_is_one_sentence(tmp_path, content):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(RigError, match="is damaged"):
        read_session(tmp_path)


@pytest.mark.parametrize("content", ['{"stage": 3}', '{"other": 1}', "[]", '{"done": "many"}'])
def test_damaged_progress_is_one_sentence(tmp_path, content):
    run, _, _ = running(tmp_path)
    (folder,) = run.folder.glob("rp2040*")
    (folder / NAME).write_text(content)
    with pytest.raises(RigError, match="is damaged"):
        read_session(run.folder)
