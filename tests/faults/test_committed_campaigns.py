"""The records under fixtures/campaigns are whole, of the tables as they are, and hold what the documents say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from defects import drawn_record
from defects.kinds import KINDS as KINDS_OF_CHANGES
from defects.rows import ROWS

from hil.record.soak import read_soak
from tests.faults.campaign.fault import kind_at
from tests.faults.campaign.judge import WRONG
from tests.faults.campaign.kinds import KINDS
from tests.faults.campaign.record import read

LEAST = {"stm32h7b3": 100, "rp2040": 30}  # rows of a draw that are not equivalent, at least
FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "campaigns"


def test_every_seeded_defect_was_caught_and_nearly_all_were_named() -> None:
    record = json.loads((FOLDER / "mutations.json").read_text())
    rows = record["rows"]
    assert re.fullmatch("[0-9a-f]{40}", record["commit"]), "one commit, and no file differs from it"
    assert [row["name"] for row in rows] == [row.name for row in ROWS]
    assert all(row["caught"] for row in rows)
    assert sum(row["named"] for row in rows) >= 0.95 * len(rows)


def drawn() -> list[drawn_record.Campaign]:
    entries = json.loads((FOLDER / "mutations.json").read_text(encoding="utf-8")).get("drawn", [])
    return [drawn_record.Campaign.from_json(entry) for entry in entries]


def row_of(campaign: drawn_record.Campaign) -> str:
    """Return the row of a draw in the table of the document."""
    quick = sum(row.caught and row.tier == "quick" for row in campaign.rows)
    cells = (
        campaign.seed, campaign.board, campaign.commit[:7], len(campaign.rows), campaign.counts["equivalent"], quick,
        f"{100 * campaign.share:.1f} %",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def test_the_document_lists_the_held_out_draws_of_the_record_and_no_others() -> None:
    page = (FOLDER.parents[1] / "docs" / "defects.md").read_text(encoding="utf-8")
    table = page.split("### The held-out draw")[1].split("## Changes that are not rows")[0]
    listed = [line for line in table.splitlines() if re.match(r"\| \d", line)]
    assert listed == [row_of(campaign) for campaign in drawn()]


def test_the_draws_have_changes_of_all_kinds() -> None:
    assert {row.kind for campaign in drawn() for row in campaign.rows} == set(KINDS_OF_CHANGES)


@pytest.mark.parametrize("campaign", drawn(), ids=lambda campaign: f"{campaign.board}-{campaign.seed}")
def test_a_draw_is_whole_and_every_survivor_is_argued_or_in_the_document(campaign: drawn_record.Campaign) -> None:
    assert re.fullmatch("[0-9a-f]{40}", campaign.commit)
    assert campaign.counts["blocked"] == 0 and campaign.disproved == []
    assert {row.family for row in campaign.rows} == set(campaign.families)
    assert not any(control.failed for control in campaign.controls)
    page = (FOLDER.parents[1] / "docs" / "defects.md").read_text(encoding="utf-8")
    for row in campaign.rows:
        assert row.caught or campaign.argument(row) or f"`{row.place}`" in page


@pytest.mark.parametrize("campaign", drawn(), ids=lambda campaign: f"{campaign.board}-{campaign.seed}")
def test_a_draw_is_long_enough_and_the_quick_tier_catches_what_is_asked(campaign: drawn_record.Campaign) -> None:
    assert campaign.share >= drawn_record.LEAST_CAUGHT
    assert len(campaign.rows) - campaign.counts["equivalent"] >= LEAST[campaign.board]
    assert len(campaign.controls) >= 2


def test_an_hour_of_soak_was_flat_and_no_trial_ended_wrongly() -> None:
    soak = read_soak(FOLDER)
    assert soak is not None and soak.minutes >= 60 and len(soak.boards) == 2
    assert re.fullmatch("[0-9a-f]{40}", soak.commit)
    assert soak.memory_judged and soak.not_flat == [] and soak.wrong == []
    assert sum(soak.counts.values()) > 1000 and not any(soak.counts[outcome] for outcome in WRONG)


def test_two_thousand_faults_ended_rightly_and_each_board_came_back_in_time() -> None:
    record = read(FOLDER / "faults.json")
    assert re.fullmatch("[0-9a-f]{40}", record.commit)
    assert record.faults == 2000 and [row["number"] for row in record.rows] == list(range(2000))
    assert {row["outcome"] for row in record.rows} <= {"pass", "blocked", "flagged", "missed", "interrupted"}
    assert record.wrong == [] and record.holds
    assert all(row["recovery_s"] is None or row["recovery_s"] <= 5.0 for row in record.rows)
    for number, row in enumerate(record.rows):
        assert row["fault"].startswith(kind_at(KINDS, number).name)


def test_the_document_says_what_the_last_whole_run_of_faults_gave() -> None:
    record = read(FOLDER / "faults.json")
    page = (FOLDER.parents[1] / "docs" / "defects.md").read_text(encoding="utf-8")
    section = " ".join(page.split("### The last whole run")[1].split("\n### ")[0].split())
    back = [row["recovery_s"] for row in record.rows if row["recovery_s"] is not None]
    assert f"seed {record.seed}" in section and record.commit[:7] in section
    for outcome in ("pass", "blocked", "interrupted", "flagged", "missed"):
        assert f"{record.counts().get(outcome, 0):,} {outcome}" in section
    assert f"{len(back)} times" in section and f"{max(back):.2f} s" in section
