"""The keys of a `[[board]]` table that are commands: to flash and reset a board, or to be one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from hil import boards
from hil.boards import Board, command_board
from hil.command_line import OF_PROGRAM, CommandLine, check_placeholders, placeholders_of
from hil.endpoints import BoardCommands
from hil.errors import RigError

OF_FLASH = (*OF_PROGRAM, "port", "serial")
OF_READ_BACK = (*OF_FLASH, "out")
OF_RESET = ("here", "port", "serial")
OF_RUN = ("elf", "bin", "hex", "here", "folder")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")  # it names folders
REALITY = re.compile(r"[a-z][a-z0-9-]{0,31}")  # as the record has it (hil.record.device_test)
NOT_OF_COMMANDS = {
    "hardware": "a command is no hardware",
    "virtual": "that is the virtual board of trainrig",
    "auto": "that is a choice of --reality",
}
WITH_FLASH = ("verify", "read_back")
WITH_RUN = ("env", "reality", "run_timeout", "core", "clock_hz")
WITHOUT_RUN = (
    "flash", "reset", "flash_timeout", "verify", "read_back", "place", "board", "probe", "serial", "baud", "meter",
    "pack", "coverage", "loader", "power",
)  # fmt: skip


class CommandKeys(BaseModel):
    """The commands of a board. `hil.command_line.PLACEHOLDER` says what a placeholder is."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    flash: list[str] | None = Field(
        None, min_length=1,
        description="command that programs the board, as a list of words (docs/how-to/flash-with-any-programmer.md)",
    )  # fmt: skip
    reset: list[str] | None = Field(None, min_length=1, description="command that resets the board")
    flash_timeout: float | None = Field(
        None, gt=0, strict=False, description="longest time of `flash`, `reset` and `read_back` in seconds (120)"
    )
    verify: Literal["probe", "agent", "none"] | None = Field(
        None, description="how it is checked that `flash` has programmed the board; default: the best way there is"
    )
    read_back: list[str] | None = Field(
        None, min_length=1, description="command that reads the board's flash into the file {out}, to check `flash`"
    )
    run: list[str] | None = Field(
        None, min_length=1,
        description="the board is this command, as a list of words (docs/how-to/a-command-as-a-board.md)",
    )  # fmt: skip
    env: dict[str, str] = Field(default_factory=dict, description="environment variables of `run`, added to your own")
    reality: str | None = Field(
        None, description="what `run` is: `host`, `simulator` or another word; figures and record carry it"
    )
    run_timeout: float | None = Field(
        None, gt=0, strict=False, description="longest time of one start of `run` in seconds; default: no limit"
    )
    core: str | None = Field(None, min_length=1, description="core that `run` is or simulates; `{elf}` must be for it")
    clock_hz: int | None = Field(None, gt=0, description="clock of that core in Hz, declared")
    _here: Path = PrivateAttr(default=Path())

    def line(self, key: Literal["flash", "reset", "read_back", "run"]) -> CommandLine | None:
        """Return a command of the table, None if it has none."""
        words = getattr(self, key)
        return None if words is None else CommandLine(key, tuple(words), self._here)

    @property
    def commands(self) -> BoardCommands | None:
        """The commands that program and reset the board; None if there is none."""
        if self.flash is None and self.reset is None:
            return None
        known = {"timeout_s": self.flash_timeout} if self.flash_timeout is not None else {}
        verify = "read_back" if self.read_back is not None else self.verify
        return BoardCommands(self.line("flash"), self.line("reset"), verify=verify, read_back=self.line("read_back"),
                             **known)  # fmt: skip

    def board_of(self, name: str) -> Board:
        """Return the catalogue entry of the board, or what stands for it if the board is a command."""
        if self.run is None:
            return boards.load(name)
        known = boards.load(name) if boards.is_known(name) else None
        return command_board(name, known, self.core, self.clock_hz)

    def check_commands(self, name: str, has_probe: bool) -> tuple[str, str] | None:
        """Return the first key that is wrong, and what is wrong with it; None if nothing is.

        Args:
            name: of the board.
            has_probe: whether its table, or its labgrid place, may have a probe.
        """
        wrong = self._check_with_commands(has_probe) if self.run is None else self._check_run(name)
        return wrong or self._check_placeholders()

    def _check_with_commands(self, has_probe: bool) -> tuple[str, str] | None:
        """Check the keys of a board that commands program and reset, or a probe."""
        given = self.model_fields_set
        if key := next((each for each in WITH_RUN if each in given), ""):
            return key, "it belongs to a board that is a command: add run = [...], or remove it."
        if self.flash is None and (key := next((each for each in WITH_FLASH if each in given), "")):
            return key, "it belongs to a flash command: add flash = [...], or remove it."
        if self.commands is None and "flash_timeout" in given:
            return "flash_timeout", "it is the time of a command: add flash = [...] or reset = [...], or remove it."
        if self.verify == "probe" and not has_probe:
            return "verify", 'the board has no `probe`: name it, or write "agent", "none" or read_back = [...].'
        if self.read_back is not None and self.verify is not None:
            return "verify", "`read_back` checks the board: remove one of the two keys."
        return None

    def _check_run(self, name: str) -> tuple[str, str] | None:
        """Check the keys of a board that is a command."""
        if key := next((each for each in WITHOUT_RUN if each in self.model_fields_set), ""):
            return key, "a board that is a command (`run`) has none: remove one of the two keys."
        if name == "all":
            return "name", "'all' means every board of the catalogue: choose another name."
        if not NAME.fullmatch(name):
            return "name", f"{name!r} cannot name a folder: write letters, digits and -."
        if self.reality is None:
            return "run", 'say what the command is: add reality = "host", "simulator" or another word.'
        if self.reality in NOT_OF_COMMANDS:
            why = NOT_OF_COMMANDS[self.reality]
            return "reality", f'{why}: write "host", "simulator" or another word.'
        if not REALITY.fullmatch(self.reality):
            return "reality", f"{self.reality!r} is no word of a-z, 0-9 and -: correct it."
        return None

    def _check_placeholders(self) -> tuple[str, str] | None:
        commands = (
            ("flash", self.flash, OF_FLASH), ("reset", self.reset, OF_RESET),
            ("read_back", self.read_back, OF_READ_BACK), ("run", self.run, OF_RUN),
            ("env", ["", *self.env.values()], OF_RUN),
        )  # fmt: skip
        for key, given, known in commands:
            words = given or []
            try:
                check_placeholders(words, known)
                if key != "run" and placeholders_of(words[:1]) - {"here"}:
                    raise RigError(f"the program is {words[0]!r}: only {{here}} may be in it, not another placeholder.")
            except RigError as error:
                return key, str(error)
        if self.read_back is not None and not any("{out}" in word for word in self.read_back):
            return "read_back", "the command must write what it reads into the file {out}: add it."
        return None


def set_folder(keys: CommandKeys, here: Path) -> None:
    """Say where rig.toml is, whose folder commands are relative to."""
    keys._here = here
