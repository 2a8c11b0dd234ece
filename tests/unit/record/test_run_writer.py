import json
import re
import secrets
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from hil.commit import commit_range, short_commit, whole_commit
from hil.errors import RigError
from hil.record import AskedTest, RunWriter, TrialWriter, read_run, schema
from hil.record.origin import origin
from hil.training.trial.difference import BoardDifference
from hil.training.trial.recording import steps_table, trial_record
from hil.trial.outcome import Outcome


def _write(run, outcome):
    folder = run.trial_folder(outcome.spec.name)
    run.write_trial(trial_record(outcome), steps_table(outcome), folder)
    return folder


def test_the_name_of_a_run_is_its_time_and_four_random_digits(recorded):
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", recorded.folder.name)


def test_trial_json_is_the_entry_of_results_json_with_its_quantities(recorded):
    entry = json.loads((recorded.folder / "results.json").read_text())["trials"][0]
    trial = json.loads((recorded.folder / entry["folder"] / "trial.json").read_text())
    assert trial.pop("quantities")["sram.total"]["provenance"] == "counted"
    assert trial == entry


def test_a_repeated_trial_gets_a_folder_of_its_own(tmp_path, outcomes):
    run = RunWriter.begin(tmp_path)
    folders = [_write(run, outcomes[0]) for _ in range(3)]
    assert [folder.name[len(folders[0].name) :] for folder in folders] == ["", "-2", "-3"]
    assert len(read_run(run.folder).steps) == 3


def test_a_loss_that_is_no_number_is_still_json(tmp_path, outcomes):
    outcomes[1].compared.difference = BoardDifference(3, "loss", None, float("nan"), float("-inf"), "loss_plus")
    run = RunWriter.begin(tmp_path)
    _write(run, outcomes[1])
    text = (run.folder / "results.json").read_text()
    results = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    jsonschema.validate(results, schema())
    difference = results["trials"][0]["first_difference"]
    assert (difference["board"], difference["reference"]) == ("nan", "-inf")


def test_bytes_stay_whole_in_the_csv_beside_trials_that_have_none(recorded):
    table = pd.read_csv(recorded.folder / "results.csv", dtype=str, keep_default_na=False)
    assert list(table["sram.total"]) == ["157904", "157904", ""]
    assert list(table["first_difference.index"]) == ["", "113", ""]


def test_a_run_without_a_difference_has_the_same_columns(tmp_path, recorded, outcomes):
    run = RunWriter.begin(tmp_path / "other")
    _write(run, outcomes[0])
    run.finish()
    columns = list(pd.read_csv(recorded.folder / "results.csv").columns)
    assert list(pd.read_csv(run.folder / "results.csv").columns) == columns


def test_an_interrupted_write_leaves_the_old_file_and_no_half_one(recorded, monkeypatch):
    before = (recorded.folder / "results.csv").read_bytes()
    write_text = Path.write_text

    def interrupted(path, text, **options):
        write_text(path, text[: len(text) // 2], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorded.finish()
    monkeypatch.undo()
    assert json.loads((recorded.folder / "results.json").read_text())
    assert (recorded.folder / "results.csv").read_bytes() == before
    assert not list(recorded.folder.parent.rglob("*.part"))


def test_without_symbolic_links_latest_is_a_text_file_that_reads(tmp_path, outcomes, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    run = RunWriter.begin(tmp_path)
    _write(run, outcomes[0])
    run.finish()
    latest = tmp_path / "latest"
    assert latest.read_text().strip() == run.folder.name and not latest.is_symlink()
    assert read_run(latest).facts["id"] == run.folder.name


def test_latest_is_the_last_run_that_ended(tmp_path, outcomes):
    ended = [RunWriter.begin(tmp_path) for _ in range(2)]
    for run in ended:
        _write(run, outcomes[0])
        run.finish()
    _write(RunWriter.begin(tmp_path), outcomes[0])  # killed: nobody finishes it
    interrupted = RunWriter.begin(tmp_path)
    _write(interrupted, outcomes[0])
    interrupted.finish("interrupted", 2)
    assert (tmp_path / "latest").resolve() == ended[-1].folder.resolve()


def test_a_run_on_disk_is_always_what_is_true_if_it_is_killed_now(tmp_path, outcomes):
    run = RunWriter.begin(tmp_path)
    run.plan([AskedTest(test="t.py::a", board="stm32h7b3"), AskedTest(test="t.py::b"), AskedTest(test="t.py::c")])
    run.update()
    ended, going = outcomes[0], Outcome(outcomes[0].spec)
    TrialWriter(run.folder).write_trial(trial_record(ended, "t.py::a"), steps_table(ended), run.trial_folder("a"))
    run.end_test(AskedTest(test="t.py::a", board="stm32h7b3", verdict="pass", reason="", outcome="passed"))
    run.update()
    TrialWriter(run.folder).begin_trial(
        trial_record(going, "t.py::b"), run.trial_folder("b")
    )  # by a worker, which is killed now
    read = read_run(run.folder)
    jsonschema.validate(json.loads((run.folder / "results.json").read_text()), schema())
    assert [(test.verdict, test.trials) for test in read.tests] == [
        ("pass", ["a"]),
        ("interrupted", ["b"]),
        ("interrupted", []),
    ]
    assert [trial.verdict for trial in read.trials] == ["pass", "interrupted"] and len(read.steps[1]) == 0
    assert read.totals["tests"] == {
        "all": 3,
        "pass": 1,
        "interrupted": 2,
        "fail": 0,
        "blocked": 0,
        "refused": 0,
        "skipped": 0,
    }
    assert (read.facts["state"], read.facts["whole"]) == ("running", False)


def test_results_json_of_a_run_that_goes_on_has_the_entries_of_the_finished_one(tmp_path, outcomes):
    """Entries of ended trials are kept as text while the run goes on; one of another process is read from its file."""
    run = RunWriter.begin(tmp_path)
    run.plan([AskedTest(test="t.py::test_it", board="stm32h7b3", verdict="interrupted")])
    _write(run, outcomes[0])
    _write(TrialWriter(run.folder), outcomes[1])
    run.update()
    going = json.loads((run.folder / "results.json").read_text())
    run.finish()
    finished = json.loads((run.folder / "results.json").read_text())
    assert list(going) == list(finished) and len(going["trials"]) == 2
    assert all(going[name] == finished[name] for name in going if name != "run")


def test_every_test_has_a_row_in_the_csv(tmp_path, outcomes):
    run = RunWriter.begin(tmp_path)
    run.plan([AskedTest(test=name) for name in ("t.py::twice", "t.py::refused")])
    for outcome in outcomes[:2]:
        run.write_trial(trial_record(outcome, "t.py::twice"), steps_table(outcome), run.trial_folder("x"))
    run.end_test(
        AskedTest(test="t.py::twice", board="stm32h7b3", verdict="fail", reason="a difference.", outcome="failed")
    )
    run.end_test(
        AskedTest(test="t.py::refused", board="stm32h7b3", verdict="refused", reason="steps is 0.", outcome="failed")
    )
    run.finish(exit_code=1)
    table = pd.read_csv(run.folder / "results.csv", keep_default_na=False)
    assert list(table["test"]) == ["t.py::twice", "t.py::twice", "t.py::refused"]
    assert list(table["verdict"]) == ["pass", "fail", "refused"]
    assert list(table["test_verdict"]) == ["fail", "fail", "refused"]
    results = json.loads((run.folder / "results.json").read_text())
    jsonschema.validate(results, schema())
    assert (results["totals"]["tests"]["all"], results["totals"]["trials"]["all"]) == (2, 2) and results["run"]["whole"]


def test_a_run_in_which_something_is_missing_is_not_whole(tmp_path, outcomes):
    run = RunWriter.begin(tmp_path)
    run.plan([AskedTest(test="t.py::never")])
    run.finish(exit_code=1)
    assert not run.facts["whole"]
    other = RunWriter.begin(tmp_path)
    other.finish(exit_code=1, missing=["the page: no space left on device."])
    assert not other.facts["whole"] and read_run(other.folder).facts["missing"] == [
        "the page: no space left on device."
    ]


def test_what_the_disk_did_not_take_is_in_the_record_of_the_process(tmp_path, outcomes):
    run = RunWriter.begin(tmp_path)
    record = trial_record(outcomes[0], "t.py::a")
    record.folder = "a"
    run.keep(record)
    assert [trial.folder for trial in run.trials] == ["a"] and [test.verdict for test in run.tests] == ["pass"]


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "{}"])
def test_a_damaged_record_is_one_sentence(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(RigError, match=r"results.json is damaged"):
        read_run(tmp_path)


@pytest.mark.parametrize("path", ["", None])
def test_the_commit_is_null_outside_a_checkout_and_without_git(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    if path is not None:
        monkeypatch.setenv("PATH", path)
    assert origin()["commit"] is None


def test_the_commit_has_a_plus_if_what_is_tested_differs_from_it(tmp_path, monkeypatch):
    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *who, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    for name in ("method.py", "rig.toml"):
        (tmp_path / name).write_text("as committed")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "HEAD")
    (tmp_path / "rig.toml").write_text("my bench")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "results.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    assert origin()["commit"] == head
    (tmp_path / "method.py").write_text("changed")
    assert origin()["commit"] == head + "+"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("a", "b", "a..b"), ("a+", "b+", "a..b"), ("a", "a+", ""), ("a", "a", ""), ("", "b", ""), (None, "b", "")],
)
def test_a_range_of_commits_is_one_for_git_log(before, after, expected):
    assert commit_range(before, after) == expected


def test_a_short_commit_keeps_its_plus():
    assert [short_commit("0123456789abcdef" + end) for end in ("", "+")] == ["0123456789ab", "0123456789ab+"]
    assert [whole_commit(each) for each in ("a", "a+", None)] == ["a", "", ""]


def test_runs_of_one_second_never_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, token = iter(["aaaa", "aaaa", "bbbb", "cccc"]), secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: next(drawn) if size == 2 else token(size))
    monkeypatch.setattr("hil.record.run_writer.SteadyClock.now", lambda self: datetime(2026, 1, 2, tzinfo=timezone.utc))
    assert [RunWriter.begin(tmp_path).folder.name[-4:] for _ in range(2)] == ["aaaa", "bbbb"]
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone" / "away")
    with pytest.raises(OSError, match="nowhere"):
        RunWriter.begin(tmp_path / "nowhere")
