"""One virtual board for all golden rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from board_side import BOARD, BoardTrainer, virtual_board

from hil.rig import Rig
from hil.rig_toml import Bench


@pytest.fixture(scope="session")
def board_trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardTrainer]:
    """Give a virtual board that has been greeted."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with (
        Rig(Bench(), reality="virtual") as rig,
        virtual_board(BOARD, rig, tmp_path_factory.mktemp("golden")) as trainer,
    ):
        yield trainer
