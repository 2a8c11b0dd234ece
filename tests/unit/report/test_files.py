"""The files that the pages lead to, and the ends of the logs."""

import os

from hil.report import render
from hil.report.run_files import TAIL_LINES, TAIL_WIDTH, files_in, tails

from .conftest import blocked_trial, make_steps, make_trial
from .rendered import trial_of


def test_pages_are_no_files_of_a_run_and_what_is_half_written_is_none(record):
    folder = record((make_trial(), make_steps(5)))
    render(folder)
    (folder / "results.json.77.part").write_text("half")
    assert [file.path for file in files_in(folder, deep=False)] == ["SHA256SUMS", "results.csv", "results.json"]
    assert {file.path for file in files_in(folder / "stm32h7b3-cls1", deep=True)} == {"steps.parquet", "trial.json"}
    assert all(file.size == (folder / file.path).stat().st_size for file in files_in(folder, deep=True))


def write_logs(folder, **logs):
    (folder / "log").mkdir(parents=True)
    for moment, (stage, text) in enumerate(logs.items()):
        path = folder / "log" / f"{stage}.log"
        path.write_text(text)
        os.utime(path, (moment, moment))


def test_the_log_of_the_stage_that_blocked_is_shown_or_the_last_one(tmp_path):
    write_logs(tmp_path, plan="planned", connect="connected", train="trained")
    assert [tail.path for tail in tails(tmp_path, "connect")] == ["log/connect.log"]
    assert [tail.lines for tail in tails(tmp_path, "")] == [["trained"]]
    (tmp_path / "bench.log").write_text("PF10 goes high")
    assert [tail.path for tail in tails(tmp_path, "")] == ["log/train.log", "bench.log"]


def test_a_long_log_is_cut_to_its_end_and_a_long_line_to_its_begin(tmp_path):
    write_logs(tmp_path, train="\n".join(f"line {number}" for number in range(200_000)) + "\n" + "x" * 5000)
    (tail,) = tails(tmp_path, "train")
    assert len(tail.lines) == TAIL_LINES and tail.lines[-2] == "line 199999" and not tail.complete
    assert len(tail.lines[-1]) == TAIL_WIDTH + 2


def test_what_is_no_text_and_what_is_empty_is_no_trouble(tmp_path):
    write_logs(tmp_path, plan="", connect="")
    assert tails(tmp_path, "") == [] and tails(tmp_path / "nowhere", "train") == []
    (tmp_path / "log" / "connect.log").write_bytes(b"\xff\xfe\x00 bytes\n")
    assert len(tails(tmp_path, "connect")[0].lines) == 1


def test_a_log_cannot_write_markup_and_a_passing_trial_shows_none(record):
    folder = record((blocked_trial("no board."), make_steps(0)), (make_trial(variant="cls2"), make_steps(5)))
    for name in ("cls1", "cls2"):
        write_logs(folder / f"stm32h7b3-{name}", bench="<script>alert(1)</script>")
    page = trial_of(folder)
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    assert page.index("no board.") < page.index("alert(1)") < page.index('class="claim"')
    assert '<pre class="log"' not in trial_of(folder, "cls2")
