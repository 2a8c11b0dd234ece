"""A command of rig.toml as a board: a process of its own runs it, and its standard input and output are a port."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hil.child_process import script_command
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError
from hil.process_time import LOOK_S, AbleTime
from hil.standins.endable import Ended
from hil.standins.process import StandIn

RUNNER = Path(__file__).with_name("command_runner.py")  # not imported: its terminals are not on every computer
ANSWER_S = 20.0  # of the process that runs the command


class CommandBoard(StandIn):
    """A command that can be started again and again (`Endable`); `start` begins with the first time.

    Args:
        board: name of the board.
        reality: as rig.toml names it.
        words: program and arguments.
        shown: the same as rig.toml has them, without private paths.
        env: environment variables, added to those of this process.
        folder: working folder of the command.
        log: file for its standard error.
        timeout_s: longest time of one start; None without a limit.
        gdb: socket of the GDB stub that it has; None without one.
        own_folder: is removed after its end; None without one.

    Attributes:
        what: what it is, in messages.
        shown: program and arguments as rig.toml has them, without private paths.
        folder_of_files: working folder of the command.
        timeout_s: longest time of one start; None without a limit.
        caveat: what the record must warn of; None.

    Raises:
        Blocked: its process did not start.
    """

    what = "command"
    is_command = True
    ends_with_parent = True
    caveat: str | None = None
    _able: AbleTime  # of the last start

    def __init__(
        self, board: str, reality: str, words: Sequence[str], shown: Sequence[str], env: Mapping[str, str],
        folder: Path, log: Path, timeout_s: float | None = None, gdb: Path | None = None,
        own_folder: Path | None = None,
    ) -> None:  # fmt: skip
        self._words, self.shown, self._board = list(words), tuple(shown), board
        self._env, self.folder_of_files, self.timeout_s = dict(env), folder, timeout_s
        self._number, self._drained = 0, False
        self._ended: Ended | None = None
        self._late = False

        def announced(line: str) -> Endpoints | None:
            return Endpoints(board, reality, serial=json.loads(line)["port"], gdb=str(gdb) if gdb is not None else None)

        name = f"{board} (a {self.what})"
        super().__init__(script_command(str(RUNNER)), announced, log, name, folder=own_folder)

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        """Start the command again."""
        self.start(while_stopped)
        return True

    def start(self, while_stopped: Callable[[], None]) -> None:
        """Start the command, after the end of one that runs.

        Args:
            while_stopped: called in between: what the former one has printed may be discarded.

        Raises:
            Blocked: the system cannot start it, or its process does not answer.
        """
        self._request(stop=None)
        self._await_word("stopped")
        while_stopped()
        self._ended, self._drained, self._late = None, False, False
        self._request(start={"words": self._words, "folder": str(self.folder_of_files), "env": self._env})
        self._number += 1
        said = self._await_word("started", "refused")
        if "refused" in said:
            raise Blocked(
                "reset",
                f"the command {self.shown[0]} of {self._board} cannot be started ({said['why']}): correct `run` in "
                "rig.toml.",
            )
        self._able = AbleTime(self.lost_s)

    @property
    def was_started(self) -> bool:
        """Whether it was started at all."""
        return self._number > 0

    def ended(self, drained: bool = False) -> Ended | None:
        """Return how the command ended, None while it runs.

        Args:
            drained: None also while not all that it has printed is in the port.

        Raises:
            RigError: it was never started.
        """
        if not self.was_started:
            raise RigError(
                f"the {self.what} of {self._board} was not started yet: call dut.flash() or dut.reset() before."
            )
        self._take_lines()
        if self._ended is None and self.timeout_s is not None and self._able.seconds > self.timeout_s:
            self._late = True
            self._request(stop=None)
            self._await_word("stopped")
            self._ended, self._drained = Ended(-9, late=True), True
        return self._ended if self._drained or not drained else None

    def _take_lines(self) -> None:
        while (line := self._read_line(0)) is not None:
            self._note(json.loads(line))

    def _note(self, said: Mapping[str, Any]) -> None:
        if said.get("ended") == self._number and self._number:
            self._ended = Ended(said["status"], self._late)
        if said.get("drained") == self._number and self._number:
            self._drained = True

    def _request(self, **request: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            self.alive(1.0)
            raise

    def _await_word(self, *words: str) -> Mapping[str, Any]:
        """Return the next announcement that has one of some words; others are noted."""
        able = AbleTime(self.lost_s)
        while able.seconds < ANSWER_S:
            line = self._read_line(LOOK_S)
            if line is None:
                self.alive()
                continue
            said: Mapping[str, Any] = json.loads(line)
            if any(word in said for word in words):
                return said
            self._note(said)
        raise Blocked("bench", f"the process that runs {self._board} did not answer within {ANSWER_S:g} s: run again.")
