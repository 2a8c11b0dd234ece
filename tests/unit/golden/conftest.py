"""Fixtures of the golden tests: the C engine of this computer, and one virtual board for all rows."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from engine.conftest import library, make  # noqa: F401 (fixtures)

from hil.rig import Bench, Rig

from .board_side import BoardTrainer, virtual_board
from .c_side import CTrainer
from .numpy_side import NumpyTrainer

BOARD = "stm32h7b3"


@pytest.fixture(scope="session")
def numpy_trainer() -> NumpyTrainer:
    """Return the reference."""
    return NumpyTrainer()


@pytest.fixture(scope="session")
def c_trainer(library: ctypes.CDLL) -> Iterator[CTrainer]:  # noqa: F811
    """Give the C engine of this computer."""
    trainer = CTrainer(library)
    yield trainer
    trainer.close()


@pytest.fixture(scope="session")
def board_trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardTrainer]:
    """Give a virtual board that has been greeted."""
    pytest.importorskip("unicorn", reason="the virtual bench needs the extra `virtual`")
    with (
        Rig(Bench(), reality="virtual") as rig,
        virtual_board(BOARD, rig, tmp_path_factory.mktemp("golden") / "bench.log") as trainer,
    ):
        yield trainer
