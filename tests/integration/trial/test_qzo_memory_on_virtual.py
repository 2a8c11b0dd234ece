"""Figures 3 and 4 of QZO-FF: watermarks of a virtual board are those of docs/qzo-ff.md, the arena that of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.training.experiments.command import on_bench
from hil.training.experiments.qzo import PlannedMemory, planned

BOARD = "stm32h7b3"
DOCS = (Path(__file__).parents[3] / "docs" / "qzo-ff.md").read_text(encoding="utf-8")
GATE = ("resnet-tiny", "FF, all layers, 16w8a")  # the others are of the nightly tier: about 6 seconds each


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(
            one,
            id=f"{one.network}, {one.title}",
            marks=() if (one.network, one.title) == GATE else pytest.mark.tier("nightly"),
        )
        for one in planned()
    ],
)
def test_the_document_has_the_watermark(one: PlannedMemory, tmp_path: Path) -> None:
    outcome, parts = on_bench(one.trial(BOARD), tmp_path), one.row().parts
    if outcome.verdict == "blocked":
        assert "arena" in outcome.reason, outcome.reason
        total = "no room"
    else:
        assert outcome.verdict == "pass", outcome.reason
        assert outcome.sram is not None
        assert outcome.sram.marks.arena_peak == sum(parts.values())
        total = f"{outcome.sram.total:,}"
    line = f"| {one.network} | {one.title} | {parts['weights']:,} | {parts['scratch']:,} | {total} |"
    assert line in DOCS, f"docs/qzo-ff.md does not have the row {line}"
