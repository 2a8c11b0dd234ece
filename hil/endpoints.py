"""Endpoints: what any reality offers the rig. What is behind them, the rig does not care."""

from __future__ import annotations

from dataclasses import dataclass


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
        meter_model: key of the meter's data sheet; None: the usual one.
        measuring_point: where in the board's supply the meter is; None: nobody said.
    """

    board: str
    reality: str
    probe: str | None = None
    serial: str | None = None
    meter: str | None = None
    serial_number: str | None = None
    pack: str | None = None
    loader: str | None = None
    meter_model: str | None = None
    measuring_point: str | None = None
