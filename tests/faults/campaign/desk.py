"""A bench on a desk: it outlives the trials and sessions that use it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hil.endpoints import Endpoints
from hil.images import image_of
from tests.bench_server import BenchServer

from .fault import BOARD


class Desk:
    """A virtual board in a process of its own.

    Args:
        folder: takes its log.
        inject: its faults.
        board: which it is.

    Attributes:
        said: what it has said of itself: `probe`, `serial`, `meter`, `supply`, ...
    """

    def __init__(self, folder: Path, inject: tuple[str, ...] = (), board: str = BOARD) -> None:
        command = [
            sys.executable,
            "-m",
            "hil.standins.virtual",
            "--board",
            board,
            "--elf",
            str(image_of(board).path),
            "--leashed",
        ]
        for one in inject:
            command += ["--inject", one]
        self._board = board
        self.said: dict[str, Any] = {}
        self._stand_in = BenchServer(command, self._announced, folder / "desk.log", "desk")
        self.process = self._stand_in.process.pid

    def _announced(self, line: str) -> Endpoints:
        self.said = json.loads(line)
        return Endpoints(self._board, "virtual", self.said["probe"], self.said["serial"])

    @property
    def rig_toml(self) -> str:
        """The table that names it."""
        return f'[[board]]\nname = "{self._board}"\nprobe = "{self.said["probe"]}"\nserial = "{self.said["serial"]}"\n'

    def stop(self) -> None:
        """End it."""
        self._stand_in.stop()
