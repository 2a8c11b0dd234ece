"""Is it fine, is it the device or the rig, on what: from the record of a run, in numbers and in one sentence."""

from __future__ import annotations

import json

import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.report.overview import banner
from hil.summary import summary_of
from hil.summary.markdown import markdown
from hil.summary.text import text_lines
from tests.unit.report.conftest import LIMITS, SRAM, make_latency, make_steps, make_trial
from tests.unit.summary.runs import make_test, run_of, with_trials

JUDGED = {
    ("pass", "pass"): ("fine", "Fine: all 2 tests pass."),
    ("pass", "skipped"): ("fine", "Fine: of 2 tests 1 is skipped, 1 passes."),
    ("pass", "blocked", "blocked"): ("cannot tell", "Cannot tell: of 3 tests 2 are blocked by the rig, 1 passes."),
    ("pass", "blocked", "fail"): (
        "not fine",
        "Not fine: of 3 tests 1 fails on the device, 1 is blocked by the rig, 1 passes.",
    ),
    ("refused",): ("not fine", "Not fine: of 1 test 1 is refused."),
    ("interrupted", "pass"): ("not fine", "Not fine: of 2 tests 1 did not end, 1 passes."),
    ("skipped",): ("cannot tell", "Cannot tell: of 1 test 1 is skipped."),
    (): ("not fine", "Not fine: no test ran a trial."),
}


@pytest.mark.parametrize("verdicts", JUDGED, ids=lambda verdicts: "-".join(verdicts) or "none")
def test_a_run_is_judged_in_one_sentence(verdicts: tuple[str, ...]) -> None:
    summary = summary_of(with_trials(*verdicts))
    assert (summary.judgement, summary.sentence) == JUDGED[verdicts]


@pytest.mark.parametrize("verdicts", JUDGED, ids=lambda verdicts: "-".join(verdicts) or "none")
def test_the_judgement_agrees_with_the_banner_of_the_page(verdicts: tuple[str, ...]) -> None:
    run = with_trials(*verdicts)
    kind, judgement = banner(run).kind, summary_of(run).judgement
    assert (kind == "bad") == (judgement == "not fine")
    assert kind != "fine" or judgement == "fine"


def test_an_incomplete_record_is_not_fine() -> None:
    facts = {"whole": False, "missing": ["steps of a trial: No space left on device."]}
    assert summary_of(with_trials("pass", "pass", **facts)).sentence == (
        "Not fine: a part of the record is missing; all 2 tests pass."
    )
    for state, words in (("running", "the run did not end"), ("interrupted", "the run was interrupted")):
        assert words in summary_of(with_trials("pass", "pass", whole=False, state=state, ended=None)).sentence


def test_what_a_step_costs_is_one_line_where_there_is_room_beside_what_is_wrong() -> None:
    run = with_trials("pass", "pass")
    run.trials[0] = make_trial(folder="trial-0", reality="virtual")
    run.trials[1] = make_trial(folder="trial-1", reality="hardware", step_time_s=1.5)
    line = "Costs: time a step 141.02 ms to 1.50 s (modelled, measured); SRAM in use 197.8 KiB (counted)."
    assert line in text_lines(summary_of(run)) and line in markdown(summary_of(run))
    for bad in range(3, 10):
        lines = text_lines(summary_of(with_trials("pass", *["fail"] * bad)), link="https://x.example/")
        assert len(lines) <= 10 and any(said.startswith("Costs") for said in lines) == (bad < 6), bad
    assert not any(said.startswith("Costs") for said in text_lines(summary_of(with_trials())))


@pytest.mark.parametrize("reality", ["virtual", "qemu", "renode"])
def test_a_stand_in_is_never_taken_for_silicon(reality: str) -> None:
    run = with_trials("pass", "pass", reality=reality)
    assert summary_of(run).sentence == "Fine, on stand-ins only: all 2 tests pass."
    assert "a stand-in" in text_lines(summary_of(run))[1] and "attached" not in "".join(text_lines(summary_of(run)))
    run.trials[0].reality = "hardware"
    assert summary_of(run).sentence.startswith("Fine, partly on stand-ins:")


def test_an_expected_failure_is_counted_and_is_no_problem() -> None:
    run = with_trials("pass", "fail")
    run.tests[1].expected = True
    summary = summary_of(run)
    assert (summary.judgement, summary.problems, summary.expected) == ("fine", [], 1)
    assert summary.sentence == "Fine: of 2 tests 1 fails as expected, 1 passes."


def test_a_record_whose_figures_make_no_sense_is_one_sentence() -> None:
    run = with_trials("pass")
    run.trials[0].latency = make_latency(clock_hz=0)
    with pytest.raises(RigError, match=r"the summary of .* cannot be made \(ZeroDivisionError.*run the trials again\."):
        summary_of(run)


def test_a_pass_in_spite_of_a_mark_is_said() -> None:
    run = with_trials("pass", "pass")
    run.tests[1].outcome = "xpassed"
    assert summary_of(run).sentence == "Fine: of 2 tests 2 pass, 1 of these in spite of an xfail mark."
    assert banner(run).kind == "open" and "1 is marked to fail, but passed: remove the mark." in banner(run).sentences


def test_what_is_at_fault_is_the_device_the_test_or_the_rig() -> None:
    trials = (
        make_trial(folder="a", verdict="fail", reason="conv2 differs."),
        make_trial(folder="b"),
        make_trial(folder="c", verdict="blocked", stage="flash", reason="the probe is gone.", reality=None),
    )
    tests = (
        make_test("blocked", "t.py::c", trials=["c"]),
        make_test("fail", "t.py::b", trials=["b"]),
        make_test("fail", "t.py::a", trials=["a"]),
    )
    problems = summary_of(run_of(*tests, trials=trials)).problems
    assert [(each.test, each.where, each.stage) for each in problems] == [
        ("t.py::b", "test", ""),
        ("t.py::a", "device", ""),
        ("t.py::c", "rig", "flash"),
    ]
    assert (problems[1].file, problems[1].board) == ("t.py", "stm32h7b3")


def test_a_missed_budget_is_a_figure_beside_its_limit_and_a_modelled_one_is_not_judged() -> None:
    over = make_trial(folder="a", sram=SRAM | LIMITS | {"budget": 200_000}, latency=make_latency())
    slow = make_latency(provenance="measured", judged="beyond", budget_ms=40)
    late = make_trial(folder="b", reality="hardware", latency=slow)
    summary = summary_of(run_of(make_test(trials=["a"]), trials=(over, late)))
    first, second = summary.budgets
    assert (first.trial, first.value, first.budget, first.unit, first.provenance) == (
        "a",
        202_532,
        200_000,
        "B",
        "counted",
    )
    assert (second.trial, second.budget, second.unit, second.provenance) == ("b", 40, "ms", "measured")
    assert second.value == pytest.approx(12_000_030 / 280e6 * 1e3)
    assert summary.unjudged == 1
    assert any(
        "Budgets missed: stm32h7b3: SRAM in use is 202,532 B, the budget is 200,000 B" in line
        for line in text_lines(summary)
    )


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 8, 500])
@pytest.mark.parametrize("link", ["", "https://ci.example/" + "9" * 400])
def test_the_text_has_at_most_ten_lines_and_counts_what_it_leaves_out(count: int, link: str) -> None:
    run = with_trials(*["blocked"] * count, "pass")
    lines = text_lines(summary_of(run), link)
    assert len(lines) <= 10
    shown = sum(line.startswith("blocked, rig") for line in lines)
    more = [line for line in lines if line.startswith("and ")]
    assert shown + sum(int(line.split()[1]) for line in more) == count
    assert lines[-1] == f"Report: {link}" if link else "Report" not in lines[-1]


def test_trials_in_which_nothing_moved_are_named() -> None:
    still = "nothing moved: after 2 steps every trained number is what it was before: give more steps."
    trials = tuple(make_trial(folder=name, warnings=[still] if name != "b" else ["another."]) for name in "abc")
    summary = summary_of(run_of(make_test(trials=["a", "b", "c"]), trials=trials))
    assert summary.still == ("a", "c")
    assert "Nothing moved: every trained number is what it was before in a, and 1 more." in text_lines(summary)
    assert "### Trials in which nothing moved\n\n- `a`\n- `c`\n" in markdown(summary)
    assert "moved" not in "\n".join(text_lines(summary_of(with_trials("pass"))))


def test_the_run_and_how_long_it_took() -> None:
    assert text_lines(summary_of(with_trials("pass")))[-1].startswith(
        "Run 20261127T042515Z-86d4, commit 86721a8ad44f, 1 h 13 min, 200 steps"
    )
    for damaged in ({"ended": None}, {"time": "yesterday"}, {"time": "2026-11-27T04:25:15"}):
        assert summary_of(with_trials("pass", **damaged)).seconds is None


def test_the_command_prints_each_form_or_writes_it(record, tmp_path, capsys) -> None:
    run = str(record((make_trial(), make_steps(3))))
    assert main(["summary", run]) == 0
    assert capsys.readouterr().out.startswith("Fine, on stand-ins only: of 1 test 1 passes.\n")
    assert main(["summary", run, "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)["places"][0]["reality"] == "virtual"
    for form in ("markdown", "badge", "annotations"):
        assert main(["summary", run, f"--format={form}", f"--out={tmp_path / form}"]) == 0
        assert "stand-in" in (tmp_path / form).read_text()
    assert main(["summary", run, "--format=gitlab"]) == 2
    assert "give its address with --link=URL" in capsys.readouterr().err
    assert main(["summary", run, "--format=gitlab", "--link=https://ci.example/1"]) == 0
    (link,) = json.loads(capsys.readouterr().out)["trainrig"]
    assert link["external_link"]["url"] == "https://ci.example/1"
