"""Train drawn networks on the board: edges, strides 2 and 3, odd sizes, remainders and both ends of every range.

Each is small and trained for a few steps, compared bit for bit with NumPy; `hil coverage` shows what they reach.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.suite.corners.trials import CORNERS, Corner
from hil.training.session.plugin import RunTrial


@pytest.mark.parametrize(
    "corner", [pytest.param(corner, id=corner.name, marks=pytest.mark.tier(corner.tier)) for corner in CORNERS]
)
def test_a_drawn_network(hil_board: str, corner: Corner, hil_trial: RunTrial, tmp_path: Path) -> None:
    """Train a drawn network."""
    outcome = hil_trial(corner.spec(hil_board, tmp_path))
    assert outcome.verdict == "pass", outcome.reason
