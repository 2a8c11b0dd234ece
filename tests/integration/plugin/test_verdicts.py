"""Every test that asked for a trial is in record, JUnit, terminal and totals, with one verdict; their sum is pytest's count."""

from __future__ import annotations

import csv
import json
from typing import Any

import jsonschema
import pytest
from user_project import Done, Project

from hil.commands.main import main
from hil.images import image_of
from hil.record import VERDICTS, schema
from hil.training.graph.file import places_in_file
from hil.training.networks import build

PROJECT = """
def test_passes(hil_board, hil_trial):
    assert hil_trial(spec(hil_board)).verdict == "pass"

def test_passes_twice(hil_board, hil_trial):
    hil_trial(spec(hil_board))
    hil_trial(spec(hil_board, steps=2))

@pytest.fixture
def broken(hil_rig, monkeypatch):
    real = hil_rig.take
    monkeypatch.setattr(hil_rig, "take", lambda board, image, log, *_: real(board, image, log, (FAULT,)))

def test_fails(hil_board, hil_trial, broken):
    outcome = hil_trial(spec(hil_board, steps=4, batch=4))
    assert outcome.verdict == "pass", outcome.reason

def test_fails_and_does_not_look(hil_board, hil_trial, broken):
    hil_trial(spec(hil_board, steps=4, batch=4))

@pytest.mark.xfail(reason="a known flip")
def test_fails_as_expected(hil_board, hil_trial, broken):
    hil_trial(spec(hil_board, steps=4, batch=4))

def test_own_assert_after_a_pass(hil_board, hil_trial):
    hil_trial(spec(hil_board))
    assert 3 == 4, "mine"

def test_own_assert_before_a_trial(hil_board, hil_trial):
    assert 3 == 4, "mine"

def test_has_no_memory_left(hil_board, hil_trial):
    raise MemoryError

def test_has_no_memory_left_and_python_lost_that(hil_board, hil_trial):
    raise SystemError("error return without exception set")

def test_runs_none(hil_board):
    pass

def test_skips(hil_board, hil_trial):
    pytest.skip("not today")

@pytest.mark.skip(reason="never")
def test_marked(hil_board, hil_trial):
    pass

def test_refused_by_its_method(hil_board, hil_trial):
    hil_trial(spec(hil_board, method="elasticzo", network="lenet"))

def test_refused_where_it_is_written(hil_board, hil_trial):
    hil_trial(spec(hil_board, steps=0))

def test_refused_by_a_look(hil_board, hil_trial):
    assert does_not_fit(spec(hil_board, variant="cls9")) is None

@pytest.mark.xfail
def test_refused_is_not_what_a_mark_expects(hil_board, hil_trial):
    hil_trial(spec(hil_board, variant="cls9"))

@pytest.mark.xfail
def test_too_large(hil_board, hil_trial):
    hil_trial(spec(hil_board, batch=256, settings={"scope": "batch"}))

def test_swallows_what_ends_it(hil_board, hil_trial):
    try:
        hil_trial(spec(hil_board, batch=256, settings={"scope": "batch"}))
    except BaseException:
        pass

def test_skips_after_a_blocked_one(hil_board, hil_trial):
    try:
        hil_trial(spec(hil_board, batch=256, settings={"scope": "batch"}))
    except Exception:
        pytest.skip("as if nothing had been")

@pytest.fixture
def trained(hil_board, hil_trial):
    return hil_trial(spec(hil_board, seed="one"))

def test_refused_in_a_fixture(trained):
    pass

@pytest.fixture
def late(hil_board, hil_trial):
    yield
    hil_trial(spec(hil_board, batch=256, settings={"scope": "batch"}))

def test_blocked_in_a_teardown(late):
    pass

def test_asks_in_its_midst(request):
    hil_trial = request.getfixturevalue("hil_trial")
    hil_trial(spec("stm32h7b3", variant="cls9"))

def test_of_no_board():
    pass

def test_energy(hil_board, hil_trial):
    from hil.trial import EnergyWindows
    hil_trial(spec(hil_board, steps=2, energy=EnergyWindows(windows=2, steps=2)))

def test_of_another_board(hil_board, hil_trial):
    hil_trial(spec("rp2040"))
"""
EXPECTED = {
    "test_passes": ("pass", "passed"), "test_passes_twice": ("pass", "passed"), "test_fails": ("fail", "failed"),
    "test_fails_and_does_not_look": ("fail", "failed"), "test_fails_as_expected": ("fail", "xfailed"), "test_own_assert_after_a_pass": ("fail", "failed"),
    "test_own_assert_before_a_trial": ("fail", "failed"), "test_has_no_memory_left": ("blocked", "failed"),
    "test_has_no_memory_left_and_python_lost_that": ("blocked", "failed"), "test_runs_none": ("skipped", "passed"), "test_skips": ("skipped", "skipped"),
    "test_marked": ("skipped", "skipped"), "test_refused_by_its_method": ("refused", "failed"), "test_refused_where_it_is_written": ("refused", "failed"),
    "test_refused_by_a_look": ("refused", "failed"), "test_refused_is_not_what_a_mark_expects": ("refused", "failed"), "test_too_large": ("blocked", "failed"),
    "test_swallows_what_ends_it": ("blocked", "failed"), "test_skips_after_a_blocked_one": ("blocked", "failed"), "test_refused_in_a_fixture": ("refused", "error"),
    "test_blocked_in_a_teardown": ("blocked", "error"), "test_asks_in_its_midst": ("refused", "failed"),
    "test_energy": ("pass", "passed"), "test_of_another_board": ("pass", "passed"),
}  # fmt: skip
TRIALS = {"all": 13, "pass": 6, "fail": 3, "blocked": 4}


ONE_PROCESS = pytest.param("0", id="one process", marks=pytest.mark.tier("nightly"))


@pytest.fixture(scope="module", params=[ONE_PROCESS, pytest.param("2", id="two workers")])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    weights, _ = places_in_file(build("lenet5", 1))[0]
    flip = image_of("stm32h7b3").symbols["__arena_start"] + weights
    project = Project(tmp_path_factory.mktemp("project")).write(f'FAULT = "ram_flip:{flip}:6:15000000"\n' + PROJECT)
    return project.run("--board=stm32h7b3", "--reality=virtual", "-n", request.param)


def test_each_has_its_verdict_and_pytest_s_word(done):
    assert {name: (test["verdict"], test["outcome"]) for name, test in done.tests().items()} == EXPECTED, done.out


def test_the_record_fits_its_schema_and_adds_up(done):
    results = done.results()
    jsonschema.validate(results, schema())
    verdicts = [test["verdict"] for test in results["tests"]]
    assert results["totals"]["tests"] == {"all": len(EXPECTED)} | {word: verdicts.count(word) for word in VERDICTS}
    assert {name: results["totals"]["trials"][name] for name in TRIALS} == TRIALS
    assert (
        results["run"]["whole"] and results["run"]["state"] == "ended" and results["run"]["exit_code"] == done.code == 1
    )
    by_test = {test["test"]: test["trials"] for test in results["tests"]}
    assert {trial["folder"] for trial in results["trials"]} == {
        folder for folders in by_test.values() for folder in folders
    }
    assert all(trial["folder"] in by_test[trial["test"]] for trial in results["trials"])


def test_every_reason_is_a_sentence_and_every_refusal_one_line_on_the_terminal(done):
    tests = done.tests()
    assert all((test["reason"] == "") == (test["verdict"] == "pass") for test in tests.values())
    assert (
        "no method 'elasticzo': did you mean elasticzo-fp32 or elasticzo-int8"
        in tests["test_refused_by_its_method"]["reason"]
    )
    assert "steps is 0" in tests["test_refused_where_it_is_written"]["reason"]
    assert (
        "after its trial passed" in tests["test_own_assert_after_a_pass"]["reason"]
        and "mine" in tests["test_own_assert_after_a_pass"]["reason"]
    )
    assert "before it ran a trial" in tests["test_own_assert_before_a_trial"]["reason"]
    assert "did not look at the verdict" in done.out
    assert tests["test_fails_as_expected"]["expected"]
    section = done.out.partition("test_refused_where_it_is_written")[2]
    assert "site-packages" not in done.out and "RigError" not in section.partition("test_refused_by_a_look")[0]


def test_the_terminal_counts_what_pytest_counts(done):
    blocked, others = 6, 1
    count = {word: sum(1 for verdict, _ in EXPECTED.values() if verdict == word) for word in VERDICTS}
    words = ", ".join(f"{number} {word}" for word, number in count.items() if number)
    assert f"{len(EXPECTED)} tests with trials: {words}" in done.out
    assert f"{blocked} blocked" in done.out.splitlines()[-1]
    passed = sum(1 for _, outcome in EXPECTED.values() if outcome == "passed") + others
    assert f"{passed + 1} passed" in done.out.splitlines()[-1], "the call of one whose teardown was blocked has passed"


def test_junit_has_every_test_with_its_element(done):
    cases, suite = done.cases(), done.suite()
    assert set(cases) == set(EXPECTED) | {"test_of_no_board"}
    elements = {"blocked": "error", "refused": "failure", "interrupted": "error"}
    for name, (verdict, outcome) in EXPECTED.items():
        found = [each for each in cases[name] if each.tag != "properties"]
        if verdict in elements:
            assert [(each.tag, each.get("type")) for each in found] == [(elements[verdict], verdict)], name
            assert found[0].get("message") == done.tests()[name]["reason"]
        elif verdict == "skipped" or outcome == "xfailed":
            assert [each.tag for each in found] == ["skipped"]
        elif outcome == "failed":
            assert [each.tag for each in found] == ["failure"]
        told = {each.get("name"): each.get("value") for each in cases[name].iter("property")}
        assert told["verdict"] == verdict
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(attribute)) == len(list(suite.iter(tag)))
    assert int(suite.get("tests")) == len(EXPECTED) + 1


def test_the_csv_has_a_row_for_every_trial_and_every_test_without_one(done):
    rows = list(csv.DictReader((done.folder / "reports/latest/results.csv").open()))
    names = [row["test"].rpartition("::")[2].partition("[")[0] for row in rows]
    assert set(names) == set(EXPECTED) and names.count("test_passes_twice") == 2
    assert {name: row["test_verdict"] for name, row in zip(names, rows, strict=True)} == {
        name: verdict for name, (verdict, _) in EXPECTED.items()
    }


def test_nothing_is_left_of_what_was_refused_or_half_written(done):
    run = (done.folder / "reports/latest").resolve()
    folders = {path.name for path in run.iterdir() if path.is_dir() and not path.name.startswith("benches")}
    assert folders == {trial["folder"] for trial in done.results()["trials"]}
    assert not list(run.rglob("*.part")) and not list(run.rglob("begun.json"))


def test_the_command_that_repeats_a_test_names_it_and_no_folder_of_this_computer(done):
    test = done.tests()["test_own_assert_before_a_trial"]
    assert (
        test["repeat"]
        == "pytest --board=stm32h7b3 --reality=virtual 'test_mine.py::test_own_assert_before_a_trial[stm32h7b3]'"
    )
    assert str(done.folder) not in json.dumps(done.results())


def test_a_trial_with_energy_reaches_the_process_that_writes_the_record(done):
    """A worker sends plain types only: a figure that was a number of NumPy's ended the whole run with an internal error."""
    assert "INTERNALERROR" not in done.out, done.out
    assert trial_of(done, "test_energy")["energy"]["net"]["value"] > 0


def test_a_trial_may_be_of_another_board_than_the_test_names(done, capsys):
    trial = trial_of(done, "test_of_another_board")
    assert (trial["board"], trial["verdict"]) == ("rp2040", "pass")
    assert main(["verify", str(*done.runs)]) == 0
    said = capsys.readouterr().out
    assert trial["folder"] not in said and "test_of_another_board" not in said, said


def trial_of(done: Done, name: str) -> dict[str, Any]:
    """Return the only trial of a test."""
    (folder,) = done.tests()[name]["trials"]
    return next(trial for trial in done.results()["trials"] if trial["folder"] == folder)
