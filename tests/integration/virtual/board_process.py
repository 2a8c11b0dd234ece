"""A virtual board as a process, with the lines that it prints."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import serial
from pyocd.core.helpers import ConnectHelper

from hil.targets import pyocd_targets


class VirtualBoard:
    """A running virtual board."""

    def __init__(self, *options: str, board: str = "stm32h7b3") -> None:
        command = [sys.executable, "-m", "hil.standins.virtual", "--board", board, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = self.line()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            if text.startswith("{"):  # the table for rig.toml lies between the endpoints and what happens later
                return json.loads(text)
        raise AssertionError(self.process.stderr.read() if self.process.stderr else "")

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(10)
        finally:
            self.process.kill()
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()

    def port(self) -> serial.Serial:
        return serial.Serial(self.said["serial"], 921600, timeout=30)

    @contextlib.contextmanager
    def session(self) -> Iterator[Any]:
        pyocd_targets.register(self.said["target"])
        options = {"connect_mode": "under-reset", "no_config": True, "chip_erase": "sector", "hide_programming_progress": True,
                   "resume_on_disconnect": True}  # fmt: skip
        session = ConnectHelper.session_with_chosen_probe(
            unique_id=self.said["probe"], blocking=False, return_first=False, target_override=self.said["target"],
            options=options,
        )  # fmt: skip
        assert session is not None
        with session:
            yield session
