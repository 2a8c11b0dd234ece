"""What came before a port is opened: discarded, unless all of it is of the program that runs now."""

from __future__ import annotations

import os
import socket
import tty
from collections.abc import Iterator

import pytest

from hil.targets.serial_port import open_serial


@pytest.fixture
def ends() -> Iterator[tuple[int, str]]:
    """The device's end of a pseudo-terminal, and the path of the other, into which the device has printed."""
    device, other = os.openpty()
    tty.setraw(other)
    os.write(device, b"ready\n")
    yield device, os.ttyname(other)
    os.close(device)
    os.close(other)


@pytest.mark.parametrize("keep", [False, True])
def test_a_port_is_opened_with_or_without_what_came_before(ends: tuple[int, str], keep: bool) -> None:
    device, path = ends
    port = open_serial(path, 115_200, keep=keep)
    os.write(device, b"step\n")
    assert port.read(20) == (b"ready\nstep\n" if keep else b"step\n")
    os.write(device, b"old\n")
    port.reset_input_buffer()  # once open, it discards as before
    assert port.read(20) == b""
    port.close()


def test_a_port_on_a_network_keeps_it_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = open_serial(f"socket://127.0.0.1:{server.getsockname()[1]}", 115_200, keep=True)
        there, _ = server.accept()
        there.sendall(b"ready\n")
        assert port.read(6) == b"ready\n"
        port.close()
        there.close()
