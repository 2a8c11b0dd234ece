"""A session as a job of a forge: step summary, annotations, JUnit. The board is named and gone, so each trial is blocked."""

from __future__ import annotations

from pathlib import Path

from user_project import Project

TESTS = """
def test_blocked(hil_board, hil_trial):
    hil_trial(spec(hil_board))

def test_compares_nothing(hil_board):
    pass
"""


def test_a_job_gets_its_summary_and_its_annotations(project: Project) -> None:
    file = project.folder / "summary.md"
    file.write_text("# of a step before\n\n")
    project.write(TESTS, "sub/test_mine.py")
    variables = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(file),
        "GITHUB_WORKSPACE": str(project.folder.parent),
    }
    done = project.run("--board=stm32h7b3", paths=("sub/test_mine.py",), **variables)
    assert done.code == 75, done.out
    sentence = "Cannot tell: of 2 tests 1 is blocked by the rig, 1 is skipped."
    text = file.read_text()
    assert text.startswith("# of a step before\n\n## trainrig\n") and f"**{sentence}**" in text
    assert "**blocked**, rig, stage `bench`: `sub/test_mine.py::test_blocked[stm32h7b3]`" in text
    line = 1 + Path(project.folder, "sub/test_mine.py").read_text().splitlines().index(
        "def test_blocked(hil_board, hil_trial):"
    )
    said = [each for each in done.out.splitlines() if each.startswith("::")]
    assert said[0] == f"::warning title=trainrig::{sentence}" and len(said) == 2
    place = f"file={project.folder.name}/sub/test_mine.py,line={line},title=blocked%2C rig%2C stage bench"
    assert said[1].startswith(f"::warning {place}::sub/test_mine.py::test_blocked[stm32h7b3]: ")
    cases = done.cases()
    assert [each.tag for each in cases["test_blocked"] if each.tag != "properties"] == ["error"]
    (skipped,) = (each for each in cases["test_compares_nothing"] if each.tag != "properties")
    assert skipped.tag == "skipped" and "without running a trial" in skipped.text
    told = {each.get("name"): each.get("value") for each in cases["test_blocked"].iter("property")}
    assert (told["board"], told["reality"], told["stage"]) == ("stm32h7b3", "hardware", "bench")
    assert (done.suite().get("errors"), done.suite().get("skipped")) == ("1", "1")


def test_a_summary_that_cannot_be_written_changes_no_verdict(project: Project) -> None:
    project.write(TESTS)
    done = project.run("--board=stm32h7b3", GITHUB_STEP_SUMMARY=str(project.folder / "missing/summary.md"))
    assert done.code == 75 and "INTERNALERROR" not in done.out
    assert "the summary for the forge could not be written: " in done.out
    assert not [each for each in done.out.splitlines() if each.startswith("::")]
