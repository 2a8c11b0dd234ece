"""A serial port that nobody reads: a write ends in a sentence, and so does letting go of it."""

from __future__ import annotations

import contextlib
import os
import tty
from collections.abc import Iterator

import pytest
import serial

from hil.link.failures import Silent
from hil.link.session import Session
from hil.targets import serial_port
from hil.targets.serial_port import SerialPort, close_and_discard, open_serial


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[SerialPort]:
    """A pseudo-terminal whose other end reads nothing, as that of a program that was stopped."""
    monkeypatch.setattr(serial_port, "WRITE_TIMEOUT_S", 0.3)
    master, slave = os.openpty()
    tty.setraw(slave)
    port = open_serial(os.ttyname(slave), 921_600)
    yield port
    close_and_discard(port)
    for end in (master, slave):
        os.close(end)


def test_every_port_has_a_deadline_for_writes() -> None:
    master, slave = os.openpty()
    port = open_serial(os.ttyname(slave), 921_600)
    assert port.write_timeout == serial_port.WRITE_TIMEOUT_S > 0
    close_and_discard(port)
    assert not port.is_open
    for end in (master, slave):
        os.close(end)


def test_a_reader_that_stops_ends_a_stream(unread: SerialPort) -> None:
    session = Session(unread, 1)
    session._window = 1 << 20  # more than a terminal holds
    with pytest.raises(Silent, match="accepts no more bytes .its other end has stopped"):
        session.stream("samples", ({"slot": slot, "label": 0, "pixels": bytes(784)} for slot in range(1000)))


def test_a_reader_that_stops_ends_a_request(unread: SerialPort) -> None:
    for size in (4096, 64, 1):  # the terminal moves bytes on for a while
        with contextlib.suppress(serial.SerialTimeoutException):
            while True:
                unread.write(bytes(size))
    with pytest.raises(Silent, match="accepts no more bytes"):
        Session(unread, 1).hello()


def test_letting_go_of_a_port_that_is_gone_is_no_error() -> None:
    master, slave = os.openpty()
    port = open_serial(os.ttyname(slave), 921_600)
    for end in (slave, master):
        os.close(end)
    close_and_discard(port)
