"""The commands of the history, as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.history.unsent import Unsent
from tests.history_records import record, run_folder

TIME = "2026-11-0{}T22:00:00+00:00"
Hil = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hil:
    """Run a command in a folder with three runs in `reports`; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    for night in range(3):
        records = record(0, step_time_s=0.1 + night / 100), record(15, test=f"<b>\x1b[31m{night}")
        run_folder(Path("reports"), *records, time=TIME.format(night + 1))

    def run(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        out, error = capfd.readouterr()
        return code, out, error

    return run


def test_the_history_is_made_listed_and_written(hil: Hil) -> None:
    code, out, error = hil("history", "rebuild")
    assert (code, out, error) == (
        0,
        "the history reports/history.sqlite: 3 runs, 6 trials, 6 of them new or changed\n",
        "",
    )
    assert hil("history", "rebuild")[1].endswith("3 runs, 6 trials, 0 of them new or changed\n")
    code, out, error = hil("history")
    assert (code, error) == (0, "") and "3 runs; the last good one is 2" in out
    (line,) = [line for line in out.splitlines() if line.startswith("step_time_s") and "elasticzo-fp32" in line]
    assert "0.12 s" in line and "0.105 s" in line and line.split()[-2:] == ["3", "modelled"]
    code, out, error = hil("history", "--json", "--quantity", "step_*", "--method", "elasticzo-fp32")
    answer = json.loads(out)
    assert (answer["runs"], len(answer["quantities"]), answer["notes"]) == (3, 1, [])
    (found,) = answer["quantities"]
    assert found["last"] == 0.1 + 2 / 100 and found["median"] == pytest.approx(0.105) and found["nights"] == 3
    assert found["quantity"] == "step_time_s" and found["network"] == record().network and found["reality"] == "virtual"
    code, out, error = hil("history", "--page", "history.html", "--method", "elasticzo-fp32")
    page = Path("history.html").read_text()
    assert (code, error) == (0, "") and "3 runs" in out and "History of 3 nights" in page
    assert 'data-plot="plot-figure-0"' in page and "probe_checks" in page and "elasticzo-int8" not in page
    assert hil("export", "--out", "all.parquet")[0] == 0
    assert hil("export", "--out", "all.csv", "--since", "2001-01-01")[0] == 0
    code, out, error = hil("import", "all.parquet", "--rig", "other.toml", "--reports", ".", "--bench", "lab")
    assert (code, out) == (0, "3 runs imported, 6 trials, 6 of them new\n"), error
    assert json.loads(hil("history", "--json", "--reports", ".", "--bench", "lab")[1])["runs"] == 3


def test_a_step_of_two_percent_is_listed_with_its_runs(hil: Hil) -> None:
    noise = (0, 1, -1, 2, 0, -2, 1, 0, -1, 1)
    names = []
    for night in range(60):
        value = (0.1 if night < 45 else 0.102) * (1 + 1e-3 * noise[night % 10])
        time = f"2026-{10 + night // 30}-{1 + night % 30:02}T03:00:00+00:00"
        names.append(run_folder(Path("reports"), record(1, step_time_s=value, test="steps"), time=time).name)
    hil("history", "rebuild")
    chosen = ("--quantity", "step_time_s", "--since", "2026-09-01")
    answer = json.loads(hil("history", "--json", *chosen)[1])
    found = [each for each in answer["changes"] if 1 < 100 * each["relative"] < 3]
    assert len(answer["changes"]) == len(found) == 1
    place = {word: names.index(found[0][word]) for word in ("last_before", "likeliest", "first_after", "found")}
    assert place["likeliest"] == 45 and found[0]["unit"] == "s" and found[0]["before"] == pytest.approx(0.1, rel=2e-3)
    assert place["last_before"] < 45 <= place["first_after"] <= place["found"] <= 45 + 4, "within 5 nights"
    out = hil("history", *chosen)[1]
    assert "changes, the newest first:\nstep_time_s of " in out and "(+2" in out


def test_a_run_that_was_killed_is_in_the_list(hil: Hil) -> None:
    runs = sorted(Path("reports").glob("2*"))
    unsent = Unsent(runs[0])
    unsent.begin()
    unsent.release()  # as the system does for a process that was killed
    assert json.loads(hil("history", "--json")[1])["runs"] == 1
    assert hil("history", "send")[1] == "the history reports/history.sqlite: 0 runs sent, 0 still wait\n"


def test_a_server_of_rig_toml_is_used_and_its_password_never_said(hil: Hil) -> None:
    Path("rig.toml").write_text('[history]\nurl = "postgresql+psycopg://me:secret@127.0.0.1:1/night"\n')
    for words in (
        ("history",),
        ("history", "rebuild"),
        ("history", "send"),
        ("export", "--out", "x.csv"),
        ("import", "reports"),
    ):
        code, out, error = hil(*words)
        assert code == 2 and "night on 127.0.0.1 does not answer" in error
        assert "secret" not in out + error and error.count("\n") == 1


def test_a_clock_that_was_wrong_is_said(hil: Hil) -> None:
    times = {
        path.name: json.loads((path / "results.json").read_text())["run"]["time"] for path in Path("reports").glob("2*")
    }
    before = max(times, key=times.__getitem__)
    run_folder(Path("reports"), record(0, step_time_s=0.5), time="1970-01-01T00:00:09+00:00", after=before)
    assert hil("history", "rebuild")[0] == 0
    answer = json.loads(hil("history", "--json", "--quantity", "step_time_s", "--method", "elasticzo-fp32")[1])
    (note,) = answer["notes"]
    assert "the clock was wrong when" in note and "1970" in note and f"placed after {before}" in note
    assert answer["quantities"][0]["last"] == 0.5, "it is still the last night"
