"""Endpoints: the addresses of a board's probe, serial port, meter and coverage. Every reality is used through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hil.command_line import CommandLine

REALITIES = ("auto", "hardware", "renode", "qemu", "virtual")  # what may be asked for; auto decides


@dataclass(frozen=True)
class HubPort:
    """A port of a USB hub that powers a board: location of the hub and number of the port, as in uhubctl."""

    uhubctl: str
    port: int

    @property
    def device(self) -> str:
        """Name to lock, so that no other session uses it."""
        return f"port {self.port} of hub {self.uhubctl}"


@dataclass(frozen=True)
class SupplyOutput:
    """An output of a power supply that powers a board.

    Attributes:
        supply: VISA resource name.
        volts, amps: voltage and current limit that are set before the output is switched on.
        channel: number of the output; None for a supply with a single output without a number.
    """

    supply: str
    volts: float
    amps: float
    channel: int | None = None

    @property
    def device(self) -> str:
        """Name to lock, so that no other session uses it."""
        return f"output {self.channel or 1} of {self.supply}"


@dataclass(frozen=True)
class NetworkSwitch:
    """A port of a power switch that one of labgrid's drivers switches, as a labgrid place exports it.

    Attributes:
        model: name of labgrid's driver.
        host: address, as this driver takes it.
        index: number of the port.
    """

    model: str
    host: str
    index: str

    @property
    def device(self) -> str:
        """Name to lock, so that no other session uses it."""
        return f"port {self.index} of {self.host}"


Power: TypeAlias = "HubPort | SupplyOutput | NetworkSwitch"


Verify: TypeAlias = Literal["probe", "agent", "read_back", "none"]


@dataclass(frozen=True)
class BoardCommands:
    """Commands that program and reset an attached board, instead of the rig's own routes.

    Attributes:
        flash: programs an image; None if the rig's own route does.
        reset: resets the board; None if the probe does, or nothing can.
        timeout_s: longest time of each.
        verify: how it is checked that the image is on the board; None: the best way that there is.
        read_back: writes what is on the board into a file.
    """

    flash: CommandLine | None = None
    reset: CommandLine | None = None
    timeout_s: float = 120.0
    verify: Verify | None = None
    read_back: CommandLine | None = None


@dataclass(frozen=True)
class Endpoints:
    """The addresses of one board's debug probe, serial port and meter; each may be absent.

    Attributes:
        board: name in the catalogue.
        reality: `hardware`, `renode`, `qemu` or `virtual`; of a command, the word in rig.toml.
        probe: unique id of the probe for pyOCD (a full serial number, or `remote:host:port`).
        serial: path of the serial port, or address of one on a network (`socket://host:port`, `rfc2217://host:port`).
        serial_number: USB serial number of that port, if rig.toml names it; the port is found by it, even under
            another path.
        meter: VISA resource name of the meter.
        pack: CMSIS pack that describes the chip to pyOCD, used instead of pyOCD's own target.
        loader: USB serial number of the board in its boot loader.
        power: the switch of the board's power; None if it cannot be switched.
        meter_model: key of the meter's data sheet; None for the default model.
        measuring_point: where in the board's supply the meter is; None if not stated.
        ambient_c: declared ambient temperature in degrees Celsius; None if not stated.
        supply_error: largest deviation of the supply voltage, also under load, as a fraction; None if not stated.
        process: number of the process of a stand-in, whose time deadlines are in; None for hardware.
        coverage: `host:port` of a server that says which code the chip has executed; only the virtual board has one.
        gdb: Unix socket of an emulator's GDB stub, by which a device under test is looked at; trials do not use it.
        commands: that program and reset the board; None if rig.toml names none.
        id: which of several boards of its kind it is in rig.toml; None of the only one.
        console: path of a port with what the firmware prints by semihosting through the probe; None without that.
    """

    board: str
    reality: str
    probe: str | None = None
    serial: str | None = None
    meter: str | None = None
    serial_number: str | None = None
    pack: str | None = None
    loader: str | None = None
    power: Power | None = None
    meter_model: str | None = None
    measuring_point: str | None = None
    ambient_c: float | None = None
    supply_error: float | None = None
    process: int | None = None
    coverage: str | None = None
    gdb: str | None = None
    commands: BoardCommands | None = None
    id: str | None = None
    console: str | None = None

    @property
    def has_line(self) -> bool:
        """Whether there is a serial port of the board itself."""
        return self.serial is not None or self.serial_number is not None

    @property
    def title(self) -> str:
        """Name for messages."""
        return self.board if self.id is None else f"{self.board} (board {self.id})"
