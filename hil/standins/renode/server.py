"""Process that runs one board after another on one Renode, until a signal or the end of its parent."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType

from hil import boards
from hil.errors import Blocked, RigError
from hil.images import image_of
from hil.standins.parent_watchdog import die_with_parent
from hil.standins.renode.conversation import RenodeMachine, boot, instructions
from hil.standins.renode.line import RenodeLine
from hil.standins.renode.platform import description, load_platform
from hil.standins.renode.process import RenodeProcess, private_environment
from hil.standins.renode.request import RenodeRequest
from hil.standins.renode.robot import DEADLINE_S, Robot
from hil.standins.renode.start import cure, program, version

CHECK_S = 0.2  # between two checks whether Renode runs
COUNT_DEADLINE_S = 0.5  # for each of the last two commands: this program is killed 3 s after SIGTERM


class _EndSignal(BaseException):
    """A signal asked this program to end."""


def main(argv: list[str]) -> int:
    """Run a board on Renode until standard input closes.

    One line of JSON on standard output gives the endpoints, or the reason why there are none. Each line of standard
    input is a `Request` for a machine that replaces the previous one.
    """
    parser = argparse.ArgumentParser(prog="python -m hil.standins.renode", description="A board on Renode.")
    parser.add_argument("--board", required=True, help="board of the catalogue, e.g. stm32h7b3")
    parser.add_argument("--elf", type=Path, required=True, help="ELF file of the firmware")
    text = "address of data beside the firmware, and the file that holds it (repeatable)"
    parser.add_argument("--cargo", nargs=2, action="append", default=[], metavar=("ADDRESS", "FILE"), help=text)
    parser.add_argument("--folder", type=Path, required=True, help="empty folder for everything that Renode writes")
    parser.add_argument("--parent-pid", type=int, required=True, help="id of the parent process; end when it ends")
    options = parser.parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        die_with_parent(signal.SIGTERM)
        if os.getppid() != options.parent_pid:
            return 0  # the parent ended before die_with_parent
        cargo = tuple((int(address, 0), Path(file)) for address, file in options.cargo)
        return _serve(RenodeRequest(options.board, options.elf, cargo), options.folder)
    except RigError as error:
        _print({"blocked": error.reason if isinstance(error, Blocked) else str(error)})
        return 2
    except _EndSignal:
        return 0
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)


def _end(number: int, frame: FrameType | None) -> None:
    _ignore_signals()  # a second signal must not interrupt the shutdown
    raise _EndSignal


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _serve(first: RenodeRequest, folder: Path) -> int:
    path = program()
    if path is None:
        raise Blocked("bench", f"renode is not installed: {cure()}.")
    environment = private_environment(folder)
    found = ".".join(map(str, version(path, environment)))
    line = RenodeLine()
    renode = RenodeProcess(path, environment, sys.stderr.buffer)
    robot: Robot | None = None
    try:
        request: RenodeRequest | None = first
        robot = renode.connect()
        while request is not None:
            _boot(renode, robot, request, folder, line)
            _log(f"Renode {found} runs {request.board}")
            _print({"board": request.board, "reality": "renode", "serial": line.path})
            request = _next_request(renode, line, request.board)
            _log_instructions(robot)
        return 0 if renode.process.poll() is None else 3
    except _EndSignal:
        if robot is not None:
            _log_instructions(robot)
        raise
    finally:
        try:
            _ignore_signals()  # the kernel's signal comes with the end of standard input: it must not interrupt close()
        finally:
            renode.close(robot)
            line.close()


def _boot(renode: RenodeProcess, robot: Robot, request: RenodeRequest, folder: Path, line: RenodeLine) -> None:
    board = boards.load(request.board)
    platform = load_platform(board)
    repl = folder / f"{board.name}.repl"
    repl.write_text(description(board, platform), encoding="utf-8")
    robot.deadline_s = DEADLINE_S
    try:
        boot(robot, RenodeMachine(board.name, platform, repl), image_of(board.name, request.elf), line, request.cargo)
    except Blocked:
        renode.explain(f"at {robot.last!r}, while it built {board.name}")
        raise


def _next_request(renode: RenodeProcess, line: RenodeLine, board: str) -> RenodeRequest | None:
    """Carry the serial line until the next request; return None if Renode ends or standard input closes."""
    received = b""
    while (end := renode.end(f"while it ran {board}")) is None:
        if line.carry(sys.stdin.fileno(), CHECK_S):
            part = os.read(sys.stdin.fileno(), 65536)
            if not part:
                return None
            received += part
            if received.endswith(b"\n"):
                return RenodeRequest.of(received)
    _log(end)
    return None


def _log_instructions(robot: Robot) -> None:
    robot.deadline_s = COUNT_DEADLINE_S
    with contextlib.suppress(Blocked):
        _log(f"the core has executed {instructions(robot):,} instructions")


def _print(record: dict[str, str]) -> None:
    print(json.dumps(record), flush=True)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
