"""Two records beside each other: which trials are a pair, what differs, and names that are no code in any format."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import shutil

import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.record.parquet import rows_of
from hil.report.compare import compare, read_side
from hil.report.compare.page import write_page
from hil.report.compare.texts import as_csv, as_latex, as_markdown, figure_cells
from hil.report.escapes import csv_text, latex, markdown

from .conftest import ENERGY, WHOLE, blocked_trial, figure_of, make_steps, make_trial

AGAIN = {"before": 0.1, "after": 0.7, "reference_after": 0.7, "n": 500}
HOSTILE = "<script>alert(1)</script>\n|=cmd()\\input{/etc/passwd}%"


def energy_of(value, uncertainty):
    return ENERGY | {"per_step": ENERGY["per_step"] | figure_of(value, "J", uncertainty), "windows": [], "budget": []}


def run_with(record, *trials, count=20):
    return record(*((trial, make_steps(count, seed)) for seed, trial in enumerate(trials)))


def both(record, one, other):
    return compare(*(read_side(str(run_with(record, trial)), []) for trial in (one, other)))


def row_of(found, path):
    return next(row for row in found.pairs[0].figures if row.path == path)


def test_differences_have_their_interval(record):
    found = both(record, make_trial(energy=energy_of(0.0278, 9e-5)), make_trial(energy=energy_of(0.0289, 9e-5)))
    difference = row_of(found, "energy.per_step").difference
    assert difference.quantity.value == pytest.approx(0.0011)
    assert difference.quantity.uncertainty == pytest.approx(math.sqrt(2) * 9e-5)
    assert difference.low > 0 and difference.sentence == "higher"
    cells = figure_cells(row_of(found, "energy.per_step"))
    assert cells[3] == "+1.1 mJ" and cells[5] == "+3.96 %"


def test_an_interval_with_zero_says_so_everywhere(record, tmp_path):
    found = both(record, make_trial(energy=energy_of(0.0278, 9e-5)), make_trial(energy=energy_of(0.0279, 9e-5)))
    words = "the interval includes 0"
    assert words in row_of(found, "energy.per_step").sentence
    write_page(found, tmp_path / "page.html")
    for text in (as_markdown(found), as_latex(found), as_csv(found), (tmp_path / "page.html").read_text()):
        assert words in text


def test_settings_that_differ_come_first_and_equal_ones_not_at_all(record):
    one, other = make_trial(seed=1), make_trial(seed=1, settings={"partition": 3, "b_zo": 2, "r_max": 7, "eta": 0.5})
    found = both(record, one, other)
    assert [(s.name, s.first, s.second) for s in found.pairs[0].settings] == [("b_zo", "1", "2"), ("eta", "–", "0.5")]
    kinds = [row["kind"] for row in csv.DictReader(io.StringIO(as_csv(found)))]
    assert kinds == sorted(kinds, key=["setting", "figure", "paper"].index) and kinds[0] == "setting"
    text = as_markdown(found)
    assert text.index("b\\_zo") < text.index("accuracy.after")


def test_equal_counts_are_equal(record):
    found = both(record, make_trial(), make_trial())
    assert row_of(found, "sram.total").sentence == "equal"
    assert found.pairs[0].settings == []


def test_trials_that_are_alike_are_pairs_and_the_others_are_named(record):
    one = run_with(record, make_trial(variant="cls1"), make_trial(variant="cls2"), make_trial(variant="full-zo"))
    other = run_with(record, make_trial(variant="full-bp"), make_trial(variant="cls2"), make_trial(variant="cls1"))
    found = compare(read_side(str(one), []), read_side(str(other), []))
    assert [(pair.first.trial.variant, pair.second.trial.variant) for pair in found.pairs] == [
        ("cls1",) * 2,
        ("cls2",) * 2,
    ]
    assert (found.only_first, found.only_second) == (["stm32h7b3-full-zo"], ["stm32h7b3-full-bp"])
    assert "only in the first: stm32h7b3-full-zo" in as_markdown(found).replace("\\", "")


def test_a_page_names_runs_without_their_folders(record, tmp_path):
    run = run_with(record, make_trial())
    sides = [read_side(str(path), []) for path in (run, run / "stm32h7b3-cls1")]
    assert [side.name for side in sides] == [run.name, f"{run.name}/stm32h7b3-cls1"]
    write_page(compare(*sides), tmp_path / "page.html")
    assert str(tmp_path) not in (tmp_path / "page.html").read_text()


def test_a_trial_is_compared_with_one_of_its_own_run_by_folder(record):
    run = run_with(record, make_trial(variant="cls1"), make_trial(variant="cls2"))
    sides = [read_side(str(run / f"stm32h7b3-{variant}"), []) for variant in ("cls1", "cls2")]
    (pair,) = compare(*sides).pairs
    assert (pair.first.trial.variant, pair.second.trial.variant) == ("cls1", "cls2")
    assert "variant" in [setting.name for setting in pair.settings] and rows_of(pair.second.steps) == 20


def test_a_trial_without_its_run(record, tmp_path):
    run = run_with(record, make_trial())
    alone = shutil.copytree(run / "stm32h7b3-cls1", tmp_path / "stm32h7b3-cls1")
    side = read_side(str(alone), [])
    assert side.name == "stm32h7b3-cls1"
    assert (side.trials[0].trial.variant, rows_of(side.trials[0].steps), side.trials[0].facts) == ("cls1", 20, {})


def test_selectors_in_one_run_and_in_two(record):
    run = run_with(record, make_trial(), make_trial(board="rp2040"), make_trial(variant="cls2"))
    found = compare(read_side("board=stm32h7b3,variant=cls1", [run]), read_side("board=rp2040", [run]))
    assert [pair.second.trial.board for pair in found.pairs] == ["rp2040"]
    commit = read_side(str(run), []).trials[0].facts["commit"]
    if commit is not None:  # outside a checkout there is none
        assert len(read_side(f"commit={commit[:10]}", [run, run]).trials) == 6
    assert len(read_side("r_max=7", [run]).trials) == 3, "a setting selects too"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bord=rp2040", "there is no selector 'bord': did you mean board?"),
        ("board=rp2040", "it has board stm32h7b3"),
        ("board=", "is no selector: write KEY=VALUE"),
        ("nothing", "holds no results.json"),
    ],
)
def test_what_selects_nothing_says_what_there_is(record, text, words):
    run = run_with(record, make_trial())
    with pytest.raises(RigError, match=re.escape(words)):
        read_side(text, [run])


def test_runs_without_like_trials_are_refused(record):
    one = run_with(record, make_trial(), make_trial(variant="cls2"))
    other = run_with(record, make_trial(board="rp2040"), make_trial(board="rp2040", variant="cls2"))
    with pytest.raises(RigError, match="give the folder of a trial on each side"):
        compare(read_side(str(one), []), read_side(str(other), []))


def test_the_figures_of_papers_are_beside_ours(record):
    found = both(
        record,
        make_trial(**WHOLE),
        make_trial(**WHOLE | {"accuracy": AGAIN, "evaluations": []}),
    )
    (row,) = (row for row in found.pairs[0].papers if row.what == "accuracy, table 1")
    assert (row.paper.split()[0], row.first.split()[0], row.second.split()[0]) == ("84.66", "66.8", "70.0")
    assert "accuracy, table 1" in as_markdown(found) and "accuracy, table 1" in as_latex(found)


def test_the_page_draws_both_curves(record, tmp_path):
    found = both(record, make_trial(), make_trial())
    write_page(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    figure = json.loads(re.search(r'data-plot="plot-compare-1">(.*?)</script>', page)[1])
    assert [trace["name"] for trace in figure["data"]] == ["first", "second"]
    assert "packedPlotly" in page and not re.search(r"https?:", re.sub(r'packedPlotly = ".*?"', "", page))


def test_a_page_without_steps_has_no_script(record, tmp_path):
    sides = [read_side(str(run_with(record, blocked_trial("it is not there."), count=0)), []) for _ in range(2)]
    write_page(compare(*sides), tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    assert "<script" not in page and "script-src 'none'" in page


def test_hostile_names_are_text_in_every_format(record, tmp_path):
    one, other = make_trial(network=HOSTILE, settings={"a": 1}), make_trial(network=HOSTILE, settings={HOSTILE: "=1+1"})
    found = both(record, one, other)
    write_page(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    text = as_markdown(found)
    assert "<script" not in text and "\n|=cmd" not in text and r"\|=cmd" in text
    text = as_latex(found)
    assert r"\input" not in text and r"\textbackslash{}input\{/etc/passwd\}\%" in text
    assert all(not re.match(r"\s*\|", line) for line in text.splitlines())
    rows = list(csv.reader(io.StringIO(as_csv(found))))
    assert {len(row) for row in rows} == {16}
    starts = {cell[0] for row in rows for cell in row if cell and not re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)}
    assert not starts & set("=+-@\t\r") and [row[8] for row in rows if row[3].startswith("<script>")] == ["'=1+1"]


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", " \r\n=1", "\x00=1"])
def test_a_cell_is_no_formula(text):
    assert csv_text(text)[0] not in "=+-@\t\r"


def test_escapes_keep_what_is_harmless():
    assert (csv_text("a b"), latex("a b"), markdown("a b")) == ("a b",) * 3
    assert latex("50 % of a_b & c") == r"50 \% of a\_b \& c"
    assert markdown("a|b <i>") == r"a\|b &lt;i&gt;"
    assert "\x1b" not in latex("\x1b[31m") + markdown("\x1b[31m") + csv_text("\x1b[31m")


def test_the_command(record, tmp_path, capsys):
    one, other = run_with(record, make_trial()), run_with(record, make_trial(settings={"r_max": 3}))
    assert main(["compare", str(one), str(other), "--page", str(tmp_path / "page.html")]) == 0
    text = capsys.readouterr().out
    assert "r_max" in text and text.index("r_max") < text.index("accuracy.after") and (tmp_path / "page.html").is_file()
    assert main(["compare", str(one), str(other), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (pair,) = found["pairs"]
    assert pair["settings"][-1] == {"name": "r_max", "first": "7", "second": "3"}
    by_path = {row["path"]: row for row in pair["figures"]}
    assert by_path["sram.total"]["says"] == "equal" and by_path["sram.total"]["difference"]["low"] == 0
    for name in ("markdown", "latex", "csv"):
        assert main(["compare", str(one), str(other), "--format", name]) == 0
        assert "sram.total" in capsys.readouterr().out


def test_selectors_look_in_the_run_of_the_other_side(record, capsys):
    run = run_with(record, make_trial(), make_trial(board="rp2040"))
    assert main(["compare", str(run / "stm32h7b3-cls1"), "board=rp2040"]) == 0
    assert "lenet5 by elasticzo-int8 cls1 on stm32h7b3 / lenet5" in capsys.readouterr().out


def test_a_record_that_makes_no_sense_is_one_sentence(record, tmp_path):
    steps = {name: column for name, column in make_steps(5).items() if name != "loss_plus"}
    sides = [read_side(str(record((make_trial(), steps))), []) for _ in range(2)]
    with pytest.raises(RigError, match="its record is damaged"):
        write_page(compare(*sides), tmp_path / "page.html")
