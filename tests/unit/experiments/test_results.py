"""The tables of results on the pages of the papers are those of the committed records."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from hil.training.experiments.render import cell_lines
from hil.training.experiments.results import BEGIN, COMMAND, END, PAGES, RECORDS, ROOT, filled, main, recorded

FOLDERS = sorted((ROOT / RECORDS).iterdir())
PAGE = PAGES[0]
PART = f"{BEGIN}{{}} -->\n{END}\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the pages and the records."""
    (tmp_path / "docs").mkdir()
    for page in PAGES:
        shutil.copy(ROOT / page, tmp_path / page)
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    return tmp_path


def test_every_page_has_the_tables_of_its_records(capsys: pytest.CaptureFixture[str]) -> None:
    """If this fails: `python -m hil.training.experiments.results` writes them (docs/experiments.md)."""
    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_record_is_on_a_page(folder: Path) -> None:
    pages = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    assert f"(../{RECORDS}/{folder.name}/" in pages, "neither a table nor a link"


@pytest.mark.parametrize(
    "folder", [folder for folder in FOLDERS if (folder / "results.json").exists()], ids=lambda folder: folder.name
)
def test_both_files_of_a_record_have_the_same_cells(folder: Path) -> None:
    assert "\n".join(cell_lines(recorded(folder))) in (folder / "table.md").read_text(encoding="utf-8")


def test_a_changed_number_is_found_and_written_again(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, ours = checkout / PAGE, (ROOT / PAGE).read_text(encoding="utf-8")
    page.write_text(ours.replace("| 86.66 ± 1.39 (89.78) |", "| 89.66 ± 1.39 (89.78) |", 1), encoding="utf-8")
    changed = page.read_text(encoding="utf-8")
    assert main(["--check"], checkout) == 1
    assert capsys.readouterr().out == f"{PAGE} differs from its records: run `{COMMAND}`.\n"
    assert page.read_text(encoding="utf-8") == changed != ours, "it only compares"
    assert main([], checkout) == 0 and page.read_text(encoding="utf-8") == ours


def test_the_best_of_a_grid_is_bold_and_signs_stand_in_brackets() -> None:
    text = filled(PART.format("elasticzo-r-max, grid"), ROOT)
    assert "| mnist | INT8 | Full ZO | 31.50 ± 3.80 | **52.40 ± 1.02** |" in text
    assert "| mnist | INT8* | Full ZO | 10.23 ± 2.13 (50%) |" in text
    assert text.count("**") == 2 * 12


def test_a_table_of_costs_has_the_named_columns() -> None:
    text = filled(PART.format("fqt-figure7, costs 1: network | energy, mJ"), ROOT)
    assert "| board | network | energy, mJ |\n| --- | --- | ---: |\n| rp2040 | fqt-cnn-uint8 | 3.034 ± 0.0068 |" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PART.format("elasticzo-table9"), "has no record elasticzo-table9"),
        (PART.format("elasticzo-table1, cell"), "'cell' is no view of elasticzo-table1: did you mean"),
        (PART.format("elasticzo-costs, costs 4"), "elasticzo-costs has 3 tables of costs, and no table 4"),
        (PART.format("elasticzo-costs, costs"), "elasticzo-costs has 3 tables of costs, and no table 0"),
        (PART.format("fqt-figure7, costs 1: energy"), "table 1 of fqt-figure7 has no column 'energy'"),
        (PART.format("elasticzo-table1").replace(END, ""), "a mark of results is wrong"),
        (PART.format("elasticzo table1"), "a mark of results is wrong"),
        (END, "a mark of results is wrong"),
    ],
)
def test_a_wrong_mark_is_one_sentence(checkout: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    (checkout / PAGE).write_text(text, encoding="utf-8")
    assert main([], checkout) == 2
    out = capsys.readouterr().out
    assert out.startswith(f"{PAGE}: ") and said in out and re.fullmatch(r"[^\n]+\n", out)
    assert (checkout / PAGE).read_text(encoding="utf-8") == text
