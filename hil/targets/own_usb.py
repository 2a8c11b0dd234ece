"""The serial port that firmware makes on a chip's own USB: what names it, and how it is asked for the boot loader.

`2e8a:000a` in rig.toml is the only attached port with this vendor and product, as `lsusb` writes them;
`2e8a:000a:E6614103E7452A2F` has its serial number too.
"""

from __future__ import annotations

import contextlib
import os
import re

import serial
import serial.tools.list_ports
from serial.tools.list_ports_common import ListPortInfo

from hil.boards import Board
from hil.port_errors import PORT_ERRORS

USB_IDS = re.compile(r"([0-9a-fA-F]{4}):([0-9a-fA-F]{4})(?::(.+))?")


def names(wanted: str, port: ListPortInfo) -> bool:
    """Return whether the `serial` of rig.toml, which is no path, names a port: by its number, or by its USB ids."""
    ids = USB_IDS.fullmatch(wanted)
    if ids is None:
        return bool(port.serial_number == wanted)
    vendor, product, number = ids.groups()
    return (port.vid, port.pid) == (int(vendor, 16), int(product, 16)) and number in (None, port.serial_number)


def is_own(board: Board, port: ListPortInfo) -> bool:
    """Return whether a port has the USB ids of the board's own one; another program on the chip may have them too."""
    own = board.usb_port
    return own is not None and (port.vid, port.pid) == (own.vendor, own.product)


def is_agent(board: Board, port: ListPortInfo) -> bool:
    """Return whether a port is made by the board's agent: by its product string too, which Linux shows."""
    return is_own(board, port) and board.usb_port is not None and port.product == board.usb_port.name


def is_own_port(board: Board, port: serial.Serial | None) -> bool:
    """Return whether an open port, at a path that may be a link, `is_own`."""
    if port is None or port.port is None or board.usb_port is None:
        return False
    real = os.path.realpath(port.port)
    return any(is_own(board, each) for each in serial.tools.list_ports.comports() if each.device == real)


def ask_for_boot_loader(board: Board, port: serial.Serial) -> None:
    """Set the board's rate for it and DTR low. A program that knows this then leaves, and the port is gone.

    The agent does so while it hangs too, and after a fault. Nothing is done to a board that has no port of its own.
    """
    if board.usb_port is None:
        return
    rate = port.baudrate
    with contextlib.suppress(*PORT_ERRORS):
        port.baudrate = board.usb_port.boot_loader_baud
        port.dtr = False
    with contextlib.suppress(*PORT_ERRORS):  # pyserial has noted the rate, at which the port is opened again
        port.baudrate = rate
