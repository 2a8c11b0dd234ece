"""The rows of all RAM, on the page of a trial, in the summary and in results.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hil.report import render
from hil.summary import summary_of
from hil.summary.markdown import markdown
from tests.unit.report.conftest import LIMITS, SRAM, make_steps, make_trial
from tests.unit.summary.runs import make_test, run_of

STACK = {"memory": "dtcm", "claimed_by": "stack", "start": 0x2000_0000, "size": 16_384, "used": 1_220}
HEAP = {"memory": "dtcm", "claimed_by": "section .heap|<b>", "start": 0x2000_4000, "size": 8_192, "used": 8_192}
FIRST = {"memory": "dtcm", "claimed_by": "unclaimed", "start": 0x2000_6000, "size": 100, "used": 0}
SECOND = {"memory": "dtcm", "claimed_by": "unclaimed", "start": 0x2000_7000, "size": 60, "used": 4}
NOT_COMPARED = FIRST | {"memory": "itcm", "used": None}


def with_rows(*rows: dict[str, Any], **changes: Any) -> Any:
    sram = SRAM | LIMITS | {"sections": 8_192, "unclaimed": 4, "regions": list(rows)}
    words = dict.fromkeys([*SRAM, "sections", "unclaimed"], "counted") | dict.fromkeys(LIMITS, "analytic")
    return make_trial(sram=sram, sram_provenance=words, **changes)


def test_the_summary_has_the_most_that_any_trial_used() -> None:
    more = with_rows(STACK | {"used": 2_000}, HEAP, FIRST, SECOND, NOT_COMPARED, seed=2)
    text = markdown(summary_of(run_of(make_test(), trials=(with_rows(STACK, HEAP, FIRST, SECOND, NOT_COMPARED), more))))
    line = "stm32h7b3: dtcm: stack 2,000 of 16,384 B, section .heap|<b> 8,192 of 8,192 B, unclaimed 4 of 160 B"
    assert f"- `{line}`" in text
    assert "- `stm32h7b3: itcm: unclaimed not compared, 100 B`" in text
    assert "### RAM" not in markdown(summary_of(run_of(make_test(), trials=(make_trial(),))))


def test_the_page_has_a_row_for_each_and_the_csv_has_none(record: Any) -> None:
    folder: Path = record((with_rows(STACK, HEAP, NOT_COMPARED), make_steps(3)))
    render(folder)
    pages = "".join(page.read_text(encoding="utf-8") for page in folder.rglob("*.html"))
    assert (
        "All RAM of the board" in pages
        and "section .heap|&lt;b&gt;" in pages
        and "<b>" not in pages.split("All RAM")[1]
    )
    assert "0x20004000" in pages and "not compared" in pages
    columns = (folder / "results.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "sram.total" in columns and "sram.sections" in columns and "regions" not in columns
