"""Endpoints: what any reality offers the rig. What is behind them, the rig does not care."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class HubPort:
    """A port of a USB hub that feeds a board: the hub's location and the port's number, as uhubctl counts them."""

    uhubctl: str
    port: int

    @property
    def device(self) -> str:
        """What nobody else may switch meanwhile."""
        return f"port {self.port} of hub {self.uhubctl}"


@dataclass(frozen=True)
class SupplyOutput:
    """An output of a power supply that feeds a board.

    Attributes:
        supply: VISA resource name.
        volts, amps: what the output is set to before it is switched on.
        channel: number of the output; None for a supply that has one and knows no numbers.
    """

    supply: str
    volts: float
    amps: float
    channel: int | None = None

    @property
    def device(self) -> str:
        """What nobody else may switch meanwhile."""
        return f"output {self.channel or 1} of {self.supply}"


Power: TypeAlias = "HubPort | SupplyOutput"


@dataclass(frozen=True)
class Endpoints:
    """The addresses of one board's debug probe, serial port and meter; each may be absent.

    Attributes:
        board: name in the catalogue.
        reality: `hardware`, `renode`, `qemu` or `virtual`.
        probe: unique id of the probe for pyOCD (a full serial number, or `remote:host:port`).
        serial: path of the serial port.
        serial_number: USB serial number of that port, where it is found by one: its path may change.
        meter: VISA resource name.
        pack: CMSIS pack that describes the chip to pyOCD, where its own target does not do.
        loader: serial number of the board in its boot loader.
        power: what feeds the board, where it may be switched.
        meter_model: key of the meter's data sheet; None: the usual one.
        measuring_point: where in the board's supply the meter is; None: nobody said.
        ambient_c: temperature about the board in degrees, as somebody wrote it down; None: nobody did.
        supply_error: limit of the error of the board's supply, under load too, as a share of its voltage; None: nobody declares one.
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
