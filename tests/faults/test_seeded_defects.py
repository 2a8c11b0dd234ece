"""Defects seeded into the firmware, one at a time: each image is built, flashed and caught, and the right figure or layer is named.

`python -m tests.faults.defects` prints the table; the nightly tier runs all of it, the quick tier a few rows.
"""

import json

import pytest
from defects.build import FIRMWARE, Workshop
from defects.campaign import run_row, to_json
from defects.row import (
    ELASTICZO,
    ELASTICZO_FP32,
    FQT,
    GRAPHS,
    HELD_OUT_ARITHMETIC,
    HELD_OUT_MEASURING,
    MEASURING,
    QZO_FF,
    TINYTRAIN,
    TRIALS,
)
from defects.rows import ROWS
from firmware_copy import need_compiler

from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import run_trial
from tests.built_firmware import built_firmware

NIGHTLY = pytest.mark.tier("nightly")


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with Rig(Bench(), tmp_path_factory.mktemp("bench"), "virtual") as taken:
        yield taken


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    need_compiler()
    return Workshop(tmp_path_factory.mktemp("workshop"), built_firmware(tmp_path_factory))


def test_the_table_has_every_part_and_every_row_changes_what_is_there():
    parts = [row.part for row in ROWS]
    least = {MEASURING: 25, ELASTICZO: 15, GRAPHS: 15, FQT: 12, TINYTRAIN: 10, QZO_FF: 10, ELASTICZO_FP32: 10}
    assert {part: count for part, count in least.items() if parts.count(part) < count} == {}
    assert parts.count(HELD_OUT_MEASURING) == parts.count(HELD_OUT_ARITHMETIC) == 12
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.trial for row in ROWS} <= set(TRIALS) and all(row.names for row in ROWS)
    for row in ROWS:
        for patch in row.patches:
            text = (FIRMWARE / patch.file).read_text()
            assert patch.applied_to(text) not in (None, text), row.name


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=() if row.gate else NIGHTLY) for row in ROWS])
def test_a_seeded_defect_is_caught_and_named(row, workshop, rig, tmp_path):
    result = run_row(row, workshop, rig, tmp_path)
    assert result.caught, f"{result.verdict}: {result.said or 'the defect went unseen'}"
    assert result.named, f"named was {', '.join(result.names) or 'nothing'}: {result.said}"
    assert json.loads(to_json([result], ""))["rows"][0]["named"]


@NIGHTLY
@pytest.mark.parametrize("name", TRIALS)
def test_the_firmware_without_a_defect_passes_every_trial_of_the_table(name, rig, tmp_path):
    outcome = run_trial(TRIALS[name], rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.figures.wrong == {}
