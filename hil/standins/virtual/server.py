"""`hil bench-server`: run a virtual board in this process until it is terminated."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path

from hil.errors import RigError
from hil.number_text import whole_number
from hil.standins.virtual.inject import FORMS, parse_injection

_CHECK_S = 0.2


def main(argv: list[str] | None = None) -> int:
    """Run a virtual board.

    The first line of standard output lists the endpoints as JSON. A table for rig.toml follows, except with
    `--leashed`. Later JSON lines report faults of the chip. The log goes to standard error.
    """
    parser = argparse.ArgumentParser(
        prog="hil bench-server",
        description="Run a virtual board: an emulated chip with a debug probe, a serial port and a meter. The first "
        "line of output lists its endpoints as JSON; a [[board]] table for rig.toml follows.",
    )
    parser.add_argument("--board", required=True, help="board of the catalogue, e.g. stm32h7b3")
    parser.add_argument("--elf", type=Path, help="ELF file, only for the names of functions in messages")
    parser.add_argument(
        "--seed",
        type=whole_number,
        default=1,
        help="seed of SRAM contents, unique id, meter errors and noise (default 1)",
    )
    parser.add_argument("--flash", type=Path, help="file that keeps the flash between runs (default: erased flash)")
    parser.add_argument(
        "--usb",
        type=Path,
        metavar="FOLDER",
        help="plug the board's USB cable in: its serial port appears as links in FOLDER, as below /dev/serial, and is "
        "the `serial` of the endpoints instead of the UART",
    )
    parser.add_argument(
        "--leashed", action="store_true", help="end when standard input closes, for example when the parent ends"
    )
    parser.add_argument(
        "--meter", default="keithley-2450", help="power meter, as the key of its data sheet (default keithley-2450)"
    )
    known = ", ".join(f"{kind}:{form}" for kind, form in FORMS.items())
    parser.add_argument(
        "--inject", action="append", default=[], metavar="SPEC", help=f"a fault for the project's own tests: {known}"
    )
    options = parser.parse_args(argv)
    try:
        return _serve(options)
    except RigError as error:
        print(f"bench-server: {error}", file=sys.stderr)
        return 2


def _serve(options: argparse.Namespace) -> int:
    injections = [parse_injection(text) for text in options.inject]
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    # Unicorn, LLVM and pyOCD take a second to load: load them after the options are checked and signals are handled.
    try:
        from hil.standins.virtual.symbols import Symbols
        from hil.standins.virtual.virtual_board import VirtualBoard, Wanted
    except ModuleNotFoundError as error:
        raise RigError(f"the virtual board needs {error.name}: pip install 'trainrig[virtual]'.") from error

    # A short switch interval: the chip's thread and its register callbacks need the interpreter every few microseconds.
    sys.setswitchinterval(0.0005)
    if options.leashed:
        threading.Thread(target=_await_end_of_input, args=(end,), daemon=True).start()
    wanted = Wanted(options.board, options.meter, options.seed, options.flash, injections, options.usb)
    records = _Records()
    board = VirtualBoard(wanted, Symbols(options.elf), _log, records.report)
    endpoints = board.start()
    records.announce(endpoints | {"pid": os.getpid()})
    if not options.leashed:
        print(_table(endpoints), flush=True)
    while not end.wait(_CHECK_S):
        if board.failed is not None:
            print(f"bench-server: the chip's thread has ended: {board.failed!r}", file=sys.stderr)
            os._exit(3)  # the thread may hold its lock, so an orderly end could wait forever
    board.keep_flash()
    board.remove_ports()
    sys.stderr.flush()
    os._exit(0)  # only sockets and daemon threads are left; to stop their servers takes a second


def _table(endpoints: dict[str, object]) -> str:
    """Return the endpoints as a [[board]] table of rig.toml; JSON strings are valid TOML strings."""
    table = {"name": endpoints["board"]}
    table |= {key: endpoints[key] for key in ("probe", "serial", "meter", "meter_model", "coverage")}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(
        [
            "# Paste this into rig.toml while the virtual board runs. `hil doctor` checks it, and trials run on it.",
            "[[board]]",
            *lines,
            "",
        ]
    )


def _await_end_of_input(end: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    end.set()


class _Records:
    """The records on standard output: the endpoints first, and what happens before them is told after them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[dict[str, object]] | None = []

    def report(self, record: dict[str, object]) -> None:
        """Print a record of what has happened. Any thread may call this."""
        with self._lock:
            if self._held is not None:
                self._held.append(record)
            else:
                _print(record)

    def announce(self, endpoints: dict[str, object]) -> None:
        """Print the endpoints, and what was held back."""
        with self._lock:
            held, self._held = self._held or [], None
            for record in (endpoints, *held):
                _print(record)


def _print(record: dict[str, object]) -> None:
    print(json.dumps(record), flush=True)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
