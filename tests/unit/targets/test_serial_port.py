"""A serial port that nobody reads: a write ends in a sentence, and so does letting go of it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
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


def read_slowly(master: int, size: int, after_s: float) -> threading.Thread:
    """Read in a thread: pieces of a terminal's buffer, with a pause before each."""

    def read() -> None:
        left = size
        while left:
            time.sleep(after_s)
            left -= len(os.read(master, min(left, 4096)))

    thread = threading.Thread(target=read)
    thread.start()
    return thread


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SerialPort, int]]:
    """A port with a write time-out of 0.3 s, and the other end of its line."""
    monkeypatch.setattr(serial_port, "WRITE_TIMEOUT_S", 0.3)
    master, slave = os.openpty()
    tty.setraw(slave)
    with contextlib.closing(open_serial(os.ttyname(slave), 921_600)) as port:
        yield port, master
    for end in (master, slave):
        os.close(end)


def test_a_write_that_progresses_may_take_longer_than_the_time_out(pair: tuple[SerialPort, int]) -> None:
    port, master = pair
    began, reader = time.monotonic(), read_slowly(master, 40_000, 0.1)
    assert port.write(bytes(40_000)) == 40_000
    reader.join()
    assert time.monotonic() - began > 2 * port.write_timeout


def test_time_in_which_a_stand_in_cannot_run_does_not_count(pair: tuple[SerialPort, int]) -> None:
    port, master = pair
    port.lost_s = time.monotonic  # it was stopped all the time
    reader = read_slowly(master, 20_000, 0.5)
    assert port.write(bytes(20_000)) == 20_000
    reader.join()


def test_cancelling_a_write_ends_it(pair: tuple[SerialPort, int]) -> None:
    port, _ = pair
    threading.Timer(0.1, port.cancel_write).start()
    assert 0 < port.write(bytes(100_000)) < 100_000


def test_letting_go_of_a_port_that_is_gone_is_no_error() -> None:
    master, slave = os.openpty()
    port = open_serial(os.ttyname(slave), 921_600)
    for end in (slave, master):
        os.close(end)
    close_and_discard(port)
