"""Each hazard of fixtures/hazards: the wrong firmware is seen to fail on the stand-in, and its correct twin passes.

The firmwares were written from the manuals, without a look at the models. A hazard that a stand-in does not punish yet
is marked in the table, and the mark has to go when it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.rig import Bench, Rig
from tests.hazards import STOPPED, Hazard, build, read_hazards, run

PLACE = re.compile(r"pc 0x[0-9A-F]{8} .*\([\w/]+\.[ch]:\d+\)|locked up")


def parameters() -> Iterator[object]:
    """One hazard of each family in the quick tier, all others at night."""
    families: set[str] = set()
    for hazard in read_hazards():
        marks: list[pytest.MarkDecorator] = [] if hazard.family not in families else [pytest.mark.tier("nightly")]
        families.add(hazard.family)
        if not hazard.seen:
            marks.append(pytest.mark.xfail(strict=True, raises=AssertionError, reason=hazard.because))
        yield pytest.param(hazard, id=hazard.id, marks=marks)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with Rig(Bench()) as one:
        yield one


@pytest.mark.parametrize("hazard", list(parameters()))
def test_the_wrong_firmware_is_seen_to_fail_and_its_correct_twin_passes(hazard: Hazard, rig: Rig, tmp_path: Path):
    wrong, right = build(hazard, tmp_path)
    good = run(rig, hazard.board, right, tmp_path / "right")
    assert good.how == "ok", f"the correct twin: {good.how}: {good.words}"
    bad = run(rig, hazard.board, wrong, tmp_path / "wrong")
    assert bad.how in {*hazard.expect, STOPPED}, f"the wrong firmware: {bad.how}: {bad.words}"
    assert bad.how not in ("fault", STOPPED) or PLACE.search(bad.words), bad.words
