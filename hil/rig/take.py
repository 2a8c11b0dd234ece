"""Take a board for a trial and give it back: which reality, which endpoints, and is it still there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import serial.tools.list_ports

from hil.boards import Board, Image
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.rig.config import Bench, BenchBoard
from hil.rig.kept import KeptStandIns
from hil.standins import StandIn, start_qemu, start_virtual
from hil.standins.virtual_process import chip_fault

REALITIES = ("auto", "hardware", "qemu", "virtual")


@dataclass
class Taken:
    """A board in our hands until the end of the `with` block."""

    endpoints: Endpoints
    stand_in: StandIn | None = None

    def alive(self) -> None:
        """Raise `Blocked` when what is behind the endpoints is known to be gone."""
        if self.stand_in is not None:
            self.stand_in.alive()

    def chip_fault(self) -> str | None:
        """Return what the virtual chip has said of a wrong access by the firmware, if anything."""
        return chip_fault(self.stand_in) if self.stand_in is not None and self.endpoints.reality == "virtual" else None


@contextlib.contextmanager
def take(
    board: Board,
    bench: Bench,
    reality: str,
    image: Image,
    log: Path,
    inject: tuple[str, ...] = (),
    kept: KeptStandIns | None = None,
) -> Iterator[Taken]:
    """Take a board: the attached one if rig.toml names it, else its stand-in; give it back at the end.

    Args:
        board: catalogue entry.
        bench: what rig.toml says.
        reality: `auto`, or one reality and no other.
        image: the firmware (a stand-in without a probe loads it itself).
        log: file for a stand-in's log.
        inject: faults for the virtual bench, in the project's own fault tests.
        kept: lends virtual benches that stay up for the next trial; without it, or with faults, the bench lives for this one only.

    Raises:
        Blocked: the board is named and gone, or the wanted reality is not to be had.
    """
    named = bench.find(board.name)
    if reality == "hardware" and named is None:
        raise Blocked("bench", f"--reality=hardware, but rig.toml names no {board.name}: add a [[board]] table for it.")
    if named is not None and reality in ("auto", "hardware"):
        yield Taken(_attached(named))
        return
    kind = board.stand_in if reality == "auto" else reality
    if kind != board.stand_in:
        raise Blocked(
            "bench", f"{board.name} has no {kind} stand-in: use --reality={board.stand_in} or --reality=auto."
        )
    if kind == "virtual" and kept is not None and not inject:
        with kept.lend(board, image, log) as stand_in:
            yield Taken(stand_in.endpoints, stand_in)
        return
    stand_in = start_virtual(board, image, log, inject) if kind == "virtual" else start_qemu(board, image, log)
    try:
        yield Taken(stand_in.endpoints, stand_in)
    finally:
        stand_in.stop()


def _attached(named: BenchBoard) -> Endpoints:
    """Find the port of an attached board by its USB serial number, never by order."""
    path = named.serial
    if path is not None and not path.startswith("/") and not path.upper().startswith("COM"):
        ports = [port.device for port in serial.tools.list_ports.comports() if port.serial_number == path]
        if len(ports) != 1:
            found = "is not attached" if not ports else f"is found {len(ports)} times ({', '.join(sorted(ports))})"
            raise Blocked(
                "bench",
                f"the serial port {path} that rig.toml names for {named.name} {found}: plug the board in, or put rig.toml right.",
            )
        path = ports[0]
    return Endpoints(named.name, "hardware", probe=named.probe, serial=path, meter=named.meter)
