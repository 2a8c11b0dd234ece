"""Flash route through a command of rig.toml: any programmer, and a check that the image is on the board."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.boards import Board
from hil.command_line import CommandLine
from hil.endpoints import BoardCommands, Endpoints, Verify
from hil.errors import Blocked, RigError
from hil.images import Image
from hil.images.flash_files import differs, extent, write_flash_file
from hil.link.session import board_name
from hil.steady_clock import steady_s
from hil.targets.boot_loader import ask_agent, holds_cargo, other_board
from hil.targets.one_command import run_once
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.serial_port import SerialPort, close_and_discard, emptied, path_of

AGENT_WITHIN_S = 10.0  # from the end of the command until the firmware answers
BLOCK = 64 << 10  # bytes that are read through the probe at once
LIES = "`flash` of {board} ended with exit code 0, but {reason}: the image is not on the board; correct the command."


class ByCommand:
    """Flash route through the command `flash` of rig.toml.

    Args:
        board: catalogue entry.
        endpoints: with the commands.
        port: returns the open serial port, which only a check by the agent needs.
        process: for the work with a probe.
        log: file for the output of the commands.

    Attributes:
        verified: what has checked that the board has the image, after `program`.
    """

    name = "command"

    def __init__(
        self, board: Board, endpoints: Endpoints, port: Callable[[], SerialPort], process: ProbeProcess | None,
        log: Path | None = None,
    ) -> None:  # fmt: skip
        assert endpoints.commands is not None and endpoints.commands.flash is not None
        self._board, self._ends, self._port, self._process, self._log = board, endpoints, port, process, log
        self._commands, self._flash = endpoints.commands, endpoints.commands.flash
        self.verified: Verify = "none"
        self.probe: Probe | None = None

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image, unless probe or agent say that the board has it; return whether it was programmed.

        Raises:
            RigError: the firmware has no agent, and rig.toml asks for a check by it.
            Blocked: the command failed or hung, or its image is not on the board.
        """
        self.verified = self._way(image)
        if not always and self._holds(image):
            return False
        if image.cargo and "elf" in self._flash.placeholders:
            raise RigError(
                f"{image.path.name} is flashed together with other data, which {{elf}} does not have: write {{hex}} or "
                "{bin} in the command."
            )
        self._close_probe()
        self._run(self._flash, image)
        self._check(image)
        return True

    def _close_probe(self) -> None:
        probe, self.probe = self.probe, None
        if probe is not None:
            probe.close()

    def _way(self, image: Image) -> Verify:
        way = self._commands.verify
        if way == "agent" and image.table and not image.has_agent:
            raise RigError(
                f'{image.path.name} has no agent in it, and rig.toml says verify = "agent" for {self._board.name}: '
                'link firmware/agent, or write verify = "none".'
            )
        return way or ("probe" if self._ends.probe is not None else "agent" if image.has_agent else "none")

    def _run(self, line: CommandLine, image: Image, **more: str) -> None:
        with tempfile.TemporaryDirectory(prefix="trainrig-flash-") as folder:
            values = {**values_of(line, self._ends), **image_values(line, image, Path(folder)), **more}
            run_once(line, values, self._board.name, "flash", self._commands.timeout_s, self._log)

    def _holds(self, image: Image) -> bool:
        """Return whether probe or agent say that the board has the image already."""
        if self.verified == "probe":
            return self._differs_by_probe(image) is None
        if self.verified != "agent":
            return False
        try:
            hello = ask_agent(self._port())
        except Blocked:  # the firmware on the board may make the port, and is not this one
            return False
        if hello is not None and board_name(hello) != self._board.name:
            raise other_board(hello, self._board)
        same = hello is not None and bool(hello["image_digest"] == image.digest)
        return same and holds_cargo(self._port(), image)

    def _check(self, image: Image) -> None:
        reason: str | None = None
        if self.verified == "probe":
            reason = self._differs_by_probe(image)
        elif self.verified == "agent":
            reason = self._differs_by_agent(image)
        elif self.verified == "read_back":
            reason = self._differs_by_read_back(image)
        if reason is not None:
            raise Blocked("flash", LIES.format(board=self._board.name, reason=reason))

    def _differs_by_probe(self, image: Image) -> str | None:
        if self.probe is None:
            self.probe = Probe(self._board, str(self._ends.probe), self._ends.pack, self._process, self._ends.process)
        for address, data in image.flashed:
            blocks = ((address + at, min(BLOCK, len(data) - at)) for at in range(0, len(data), BLOCK))
            there = b"".join(self.probe.read(*block) for block in blocks)
            found = differs(image.path.name, [(address, data)], address, there)
            if found is not None:
                return f"the probe finds that {found}"
        return None

    def _differs_by_agent(self, image: Image) -> str | None:
        self.reset()
        until, hello = steady_s() + AGENT_WITHIN_S, None
        with self._port_again() as port:
            while hello is None and steady_s() < until:
                hello = ask_agent(port)
        if hello is None:
            return f"the agent of {image.path.name} does not answer within {AGENT_WITHIN_S:g} s"
        if hello["image_digest"] != image.digest:
            found = f"{hello['image_digest']:08X}"
            return f"its agent reports the digest {found}, and {image.path.name} has {image.digest:08X}"
        return None

    @contextlib.contextmanager
    def _port_again(self) -> Iterator[SerialPort]:
        """Give the port for a `with` block, opened again if its device was gone."""
        before = self._port()
        port = emptied(before, self._ends)
        try:
            yield port
        finally:
            if port is not before:
                close_and_discard(port)

    def _differs_by_read_back(self, image: Image) -> str | None:
        line = self._commands.read_back
        assert line is not None
        start, _ = extent(image)
        with tempfile.TemporaryDirectory(prefix="trainrig-read-") as folder:
            out = Path(folder) / "flash.bin"
            self._run(line, image, out=str(out))
            if not out.is_file():
                raise Blocked(
                    "flash", f"`read_back` of {self._board.name} ended with exit code 0 and wrote no file {{out}}: "
                    "correct the command."
                )  # fmt: skip
            found = differs(image.path.name, image.flashed, start, out.read_bytes())
        return f"`read_back` finds that {found}" if found is not None else None

    def reset(self) -> bool:
        """Reset the board by the command of rig.toml; return False if there is none. Raises Blocked if it failed."""
        again = self.probe is not None and self._commands.reset is not None
        if again:
            self._close_probe()  # the command may need it
        done = reset_by_command(self._ends, self._log)
        if again:
            ends = self._ends
            self.probe = Probe(self._board, str(ends.probe), ends.pack, self._process, ends.process, running=True)
        return done


def reset_by_command(endpoints: Endpoints, log: Path | None = None) -> bool:
    """Reset a board by the command `reset` of rig.toml; return False without one. Raises Blocked if it failed."""
    commands: BoardCommands | None = endpoints.commands
    if commands is None or commands.reset is None:
        return False
    values = values_of(commands.reset, endpoints)
    run_once(commands.reset, values, endpoints.board, "reset", commands.timeout_s, log)
    return True


def values_of(line: CommandLine, endpoints: Endpoints) -> dict[str, str]:
    """Return the values of the placeholders of a board.

    Raises Blocked if rig.toml does not name the port or the serial number that the command asks for, or it is away.
    """
    values, asked = {"here": str(line.here)}, line.placeholders
    if "port" in asked:
        values["port"] = path_of(endpoints)
    if "serial" in asked:
        number = endpoints.probe or endpoints.serial_number or endpoints.loader
        if number is None:
            raise Blocked(
                "bench",
                f"`{line.key}` of {endpoints.board} asks for {{serial}}, and its table in rig.toml has no serial "
                "number: name `probe`, or `serial` by its USB serial number.",
            )
        values["serial"] = number
    return values


def image_values(line: CommandLine, image: Image, folder: Path) -> dict[str, str]:
    """Return the values of the placeholders of an image; files are made in a folder, only those that are asked for."""
    values, asked = {"elf": str(image.path.absolute())}, line.placeholders
    for kind in asked & {"bin", "hex"}:
        values[kind] = str(write_flash_file(image, kind, folder))
    if asked & {"start", "size"}:
        start, size = extent(image)
        values |= {"start": f"0x{start:08X}", "size": str(size)}
    return values
