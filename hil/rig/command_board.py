"""A board of rig.toml that is a command: its program, and its process."""

from __future__ import annotations

from pathlib import Path

from hil.command_line import CommandLine, fill, placeholders_of
from hil.errors import Blocked, RigError
from hil.images import Image, image_of, program_of
from hil.rig_toml import BenchBoard
from hil.standins import CommandBoard
from hil.standins.endable import FILES
from hil.targets.by_command import image_values

OF_IMAGE = {"elf", "bin", "hex"}


def program_for(named: BenchBoard, elf: Path | None) -> Image:
    """Return the program that a board which is a command runs.

    It is the file of `{elf}`, or else the program of the command itself.

    Args:
        named: table of rig.toml, with `run`.
        elf: of `--elf` or of the table.

    Raises:
        RigError: the command asks for `{elf}` and none is named, it is missing, or it is for another core.
        Blocked: the program of the command is not there.
    """
    line, board = _line(named), named.board_of(named.name)
    if placeholders_of([*line.words, *named.env.values()]) & OF_IMAGE:
        if elf is not None:
            return program_of(elf, board)
        if board.title == "a command":
            raise RigError(
                f"the command of {named.name} asks for {{elf}}, and none is named: add `elf` to its table in rig.toml, "
                "or give --elf."
            )
        return image_of(named.name)
    return program_of(Path(line.program("bench")))


def start_command(named: BenchBoard, image: Image, log: Path, folder: Path) -> CommandBoard:
    """Start the process that runs a board which is a command; the command itself begins with a reset.

    Args:
        named: table of rig.toml, with `run`.
        image: its program.
        log: file for its standard error.
        folder: of the test; the command works in a folder of its own in it.

    Raises:
        Blocked: the program of the command is not there, or the process did not start.
    """
    line, files = _line(named), folder.absolute() / FILES
    files.mkdir(parents=True, exist_ok=True)
    asked = CommandLine(line.key, (*line.words, *named.env.values()), line.here)
    values = {"here": str(line.here), "folder": str(files)} | image_values(asked, image, folder.absolute())
    program = line.program("bench", values)
    words, env = [program, *line.filled(values)[1:]], {name: fill(text, values) for name, text in named.env.items()}
    return CommandBoard(named.name, str(named.reality), words, line.words, env, files, log, named.run_timeout)


def _line(named: BenchBoard) -> CommandLine:
    line = named.line("run")
    if line is None:
        raise Blocked("bench", f"{named.name} is no command in rig.toml.")
    return line
