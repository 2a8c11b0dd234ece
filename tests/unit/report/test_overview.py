"""What the overview says of a run: red or not, every test once, the worst first, and what a step costs."""

import re

import pytest

from hil.commands.main import main
from hil.record import AskedTest, read_run
from hil.report import render
from hil.report.formats import kib, span
from hil.report.overview import banner, costs, lines_of

from .conftest import WHOLE, blocked_trial, make_captures, make_steps, make_trial
from .rendered import overview_of, trial_of

NONE = {}


def asked(test="t.py::a", verdict="pass", reason="", **more):
    return AskedTest(
        test=test,
        board="stm32h7b3",
        verdict=verdict,
        reason=reason,
        outcome={"pass": "passed", "skipped": "skipped"}.get(verdict, "xfailed" if more.get("expected") else "failed"),
        **more,
    )


def of_test(name, **changes):
    return make_trial(test=name, **changes), make_steps(5)


def test_a_test_without_a_trial_has_a_line_with_its_reason(record):
    folder = record(
        of_test("t.py::a"), tests=[asked(), asked("t.py::wrong[x]", "refused", "steps is -1: give 1 or more.")]
    )
    lines = lines_of(read_run(folder))
    assert [(line.verdict, line.trial is None) for line in lines] == [("refused", True), ("pass", False)]
    page = overview_of(folder)
    assert "t.py::wrong[x]" in page and "steps is -1: give 1 or more." in page and "1 of 2 pass" in page


def test_a_test_that_is_worse_than_its_trial_says_why(record):
    folder = record(of_test("t.py::a"), tests=[asked(verdict="fail", reason="assert 3 < 2")])
    (line,) = lines_of(read_run(folder))
    assert (line.verdict, line.reason, line.trial.verdict) == ("fail", "assert 3 < 2", "pass")
    page = trial_of(folder)
    assert "assert 3 &lt; 2" in overview_of(folder) and '<p class="reason fail">assert 3 &lt; 2</p>' in page
    assert re.search(r'<h1[^>]*><span class="verdict fail">fail</span>', page), "no green word over a test that failed"


def test_a_test_of_several_trials_has_a_line_of_its_own_only_where_it_is_worse(record):
    trials = of_test("t.py::a"), of_test("t.py::a", variant="cls2")
    assert [line.verdict for line in lines_of(read_run(record(*trials, tests=[asked()])))] == ["pass", "pass"]
    lines = lines_of(read_run(record(*trials, tests=[asked(verdict="fail", reason="they differ.")])))
    assert [(line.verdict, line.trial is None) for line in lines] == [("fail", True), ("pass", False), ("pass", False)]


def test_trials_that_would_read_alike_say_what_they_differ_in(record):
    of = {"p_zero": 84, "eta": 0.01}
    trials = [
        of_test("t.py::a", seed=seed, settings=of | {"p_zero": p_zero}) for seed, p_zero in ((1, 84), (1, 128), (2, 84))
    ]
    folder = record(*trials, of_test("t.py::a", variant="cls2", settings=of), tests=[asked()])
    found = [line.differs for line in lines_of(read_run(folder))]
    assert found == ["seed 1, p_zero 84", "seed 1, p_zero 128", "seed 2, p_zero 84", ""]
    page = overview_of(folder)
    assert all(words in page for words in found)


@pytest.mark.parametrize(
    ("tests", "finished", "kind"),
    [
        ([asked()], {}, "fine"),
        ([asked(), asked("t.py::b", "fail", "no.")], {}, "bad"),
        ([asked(), asked("t.py::b", "refused", "no.")], {}, "bad"),
        ([asked(), AskedTest(test="t.py::b")], {}, "bad"),
        ([asked(), asked("t.py::b", "fail", "no.", expected=True)], {}, "fine"),
        ([asked(), asked("t.py::b", "blocked", "no.")], {}, "open"),
        ([asked(), asked("t.py::b", "skipped", "no.")], {}, "open"),
        ([asked()], {"missing": ["the trial of a worker that was killed."]}, "bad"),
        ([asked()], {"state": "interrupted"}, "bad"),
    ],
)
def test_the_banner_is_red_where_something_failed_or_is_missing(record, tests, finished, kind):
    folder = record(of_test("t.py::a"), tests=tests, **finished)
    found = banner(read_run(folder))
    assert found.kind == kind and bool(found.sentences) == (len(tests) > 1 or bool(finished))
    page = overview_of(folder)
    assert (f'class="banner {kind}"' in page) == bool(found.sentences)
    assert all(sentence.replace("'", "&#39;") in page for sentence in found.sentences)


def test_a_run_in_which_nothing_was_tried_is_not_fine(record):
    folder = record()
    assert banner(read_run(folder)).kind == "bad"
    assert "Nothing was tried" in overview_of(folder) and "proves nothing" in overview_of(folder)


def test_the_totals_are_those_of_the_tests(record):
    tests = [
        asked(),
        asked("t.py::b", "refused", "no."),
        asked("t.py::c", "refused", "no."),
        asked("t.py::d", "blocked", "no."),
    ]
    page = overview_of(record(of_test("t.py::a"), tests=tests))
    totals = re.findall(r">(\d+)</strong> (\w+)</li>", page)
    assert {word: int(count) for count, word in totals} == {
        "pass": 1,
        "fail": 0,
        "refused": 2,
        "interrupted": 0,
        "blocked": 1,
        "skipped": 0,
    }


def test_what_a_step_costs_is_a_range_with_its_words(record):
    slow = make_trial(variant="cls2", step_time_s=1.5, reality="hardware", cycles_provenance="measured")
    run = read_run(
        record(
            (make_trial(**WHOLE), make_steps(5)),
            (slow, make_steps(5)),
            (blocked_trial("no."), NONE),
            power=make_captures(),
        )
    )
    found = costs([line.found for line in lines_of(run)])
    assert [(cost.name, cost.value.replace("\u00a0", " "), cost.words, cost.trials) for cost in found] == [
        ("time a step", "141.02 ms to 1.50 s", ["modelled", "measured"], 2), ("energy a step", "27.8 mJ", ["modelled"], 1), ("SRAM in use", "197.8 KiB", ["counted"], 2),
    ]  # fmt: skip


def test_two_networks_of_one_variant_can_be_told_apart(record):
    page = overview_of(record((make_trial(), make_steps(5)), (make_trial(network="resnet-tiny"), make_steps(5))))
    assert "<strong>lenet5 cls1</strong>" in page and "<strong>resnet-tiny cls1</strong>" in page


def test_the_command_that_repeats_a_trial_is_on_its_page(record):
    command = "pytest 'hil/suite/test_training.py::test_x[stm32h7b3-cls1]' --board=stm32h7b3"
    page = trial_of(record(of_test("t.py::a"), tests=[asked(repeat=command)]))
    assert command in page.replace("&#39;", "'")


def test_the_command_line_renders_pages_and_one_page(record, capsys):
    folder = record(of_test("t.py::a"))
    assert main(["report", str(folder)]) == 0 and capsys.readouterr().out.strip() == str(folder / "index.html")
    assert main(["report", "--single-file", str(folder)]) == 0
    sent = folder / f"trainrig-{folder.name}.html"
    assert capsys.readouterr().out.strip() == str(sent) and sent.stat().st_size > 1_000_000
    assert main(["report", str(folder.parent)]) == 2 and "holds no results.json" in capsys.readouterr().err


def test_a_run_of_the_quick_tier_takes_less_than_six_megabytes(record):
    trials = [(make_trial(**WHOLE), make_steps(200)) for _ in range(15)]
    folder = record(*trials, power=make_captures())
    render(folder)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 6_000_000
    assert len(list(folder.rglob("plotly.js"))) == 1 and len(list(folder.glob("*/index.html"))) == 15


def test_figures_are_written_short():
    assert [kib(value).replace("\u00a0", " ") for value in (None, 12, 262_144, 202_532)] == [
        "–",
        "12 B",
        "256 KiB",
        "197.8 KiB",
    ]
    assert (
        span("1.5\u00a0ms", "2.5\u00a0ms") == "1.5 to 2.5\u00a0ms"
        and span("9\u00a0ms", "1\u00a0s") == "9\u00a0ms to 1\u00a0s"
    )
    assert span("9\u00a0ms", "9\u00a0ms") == "9\u00a0ms"
