"""The bench of one board on Renode as a process: prints its endpoints, runs until it is told to end or its owner is gone."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from hil import boards
from hil.errors import Blocked, RigError
from hil.standins.renode.conversation import Console, boot, instructions
from hil.standins.renode.platform import description, load_platform
from hil.standins.renode.process import RenodeProcess, die_with_parent, private_environment
from hil.standins.renode.start import cure, program, version

LAST_WORDS_S = 0.5  # for each of the last two questions: this program is killed 3 s after it is told to end


class _Told(BaseException):
    """Somebody wants this program to end."""


def main(argv: list[str]) -> int:
    """Run a board on Renode. One line of JSON on standard output names its endpoints, or the reason why there are none."""
    parser = argparse.ArgumentParser(prog="python -m hil.standins.renode", description="A board on Renode.")
    parser.add_argument("--board", required=True, help="board of the catalogue, e.g. stm32h7b3")
    parser.add_argument("--elf", type=Path, required=True, help="firmware")
    parser.add_argument("--parent-pid", type=int, required=True, help="end when this process is gone")
    options = parser.parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        die_with_parent(signal.SIGTERM)
        if os.getppid() != options.parent_pid:
            return 0  # it was gone before the kernel knew that we care
        with tempfile.TemporaryDirectory(prefix="trainrig-renode-") as folder:
            return _serve(boards.load(options.board), boards.image_of(options.board, options.elf), Path(folder))
    except RigError as error:
        _print({"blocked": error.reason if isinstance(error, Blocked) else str(error)})
        return 2
    except _Told:
        return 0


def _end(number: int, frame: FrameType | None) -> None:
    for other in (signal.SIGTERM, signal.SIGINT):
        signal.signal(other, signal.SIG_IGN)  # once is enough: what follows is the way out
    raise _Told


def _serve(board: boards.Board, image: boards.Image, folder: Path) -> int:
    platform = load_platform(board)
    path = program()
    if path is None:
        raise Blocked("bench", f"renode is not installed: {cure()}.")
    environment = private_environment(folder)
    found = version(path, environment)
    repl, serial = folder / f"{board.name}.repl", folder / "serial"
    repl.write_text(description(board, platform), encoding="utf-8")
    renode = RenodeProcess(path, environment, sys.stderr.buffer)
    console: Console | None = None
    try:
        try:
            console = renode.connect()
            boot(console, board, platform, image, repl, serial)
        except Blocked:
            renode.ended()
            raise
        _log(f"Renode {'.'.join(map(str, found))} runs {board.name}, driven by its {type(console).__name__.lower()}")
        _print({"board": board.name, "reality": "renode", "serial": str(serial)})
        _log(f"Renode ended by itself with status {renode.process.wait()}")
        return 3
    finally:
        if console is not None:
            console.deadline_s = LAST_WORDS_S
            with contextlib.suppress(Blocked):
                _log(f"the core has executed {instructions(console):,} instructions")
        renode.close(console)


def _print(record: dict[str, str]) -> None:
    print(json.dumps(record), flush=True)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
