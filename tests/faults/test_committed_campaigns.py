"""The records under fixtures/campaigns are whole, of the tables as they are, and hold what the documents say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from defects.rows import ROWS

from hil.record.soak import read_soak
from tests.faults.campaign.judge import WRONG

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "campaigns"


def test_every_seeded_defect_was_caught_and_nearly_all_were_named() -> None:
    record = json.loads((FOLDER / "mutations.json").read_text())
    rows = record["rows"]
    assert re.fullmatch("[0-9a-f]{40}", record["commit"]), "one commit, and no file differs from it"
    assert [row["name"] for row in rows] == [row.name for row in ROWS]
    assert all(row["caught"] for row in rows)
    assert sum(row["named"] for row in rows) >= 0.95 * len(rows)


def test_an_hour_of_soak_was_flat_and_no_trial_ended_wrongly() -> None:
    soak = read_soak(FOLDER)
    assert soak is not None and soak.minutes >= 60 and len(soak.boards) == 2
    assert re.fullmatch("[0-9a-f]{40}", soak.commit)
    assert soak.memory_judged and soak.not_flat == [] and soak.wrong == []
    assert sum(soak.counts.values()) > 1000 and not any(soak.counts[outcome] for outcome in WRONG)
