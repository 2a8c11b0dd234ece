"""Firmware on a receiver that is full again as soon as a byte is taken, as an emulator's may be: it answers all the same."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from hil import boards
from hil.images import Image, image_of
from hil.link.frames import LinkFrame
from hil.link.messages import description as messages
from hil.link.messages import encode
from hil.standins.renode import modelled
from hil.standins.renode.platform import description, load_platform
from tests.built_firmware import built_firmware

pytest.importorskip("unicorn")
from tests.unit.renode.scripted.machine import Machine

BOOT_US, ANSWER_US = 2_000_000, 30_000_000  # wall time, more than enough on a busy computer
NONCE = 0x12345678


class Endless(deque[int]):
    """Bytes that wait: when one is taken, a zero follows, which the link takes for an empty frame."""

    def popleft(self) -> int:
        self.append(0)
        return super().popleft()


def booted(name: str, image: Image) -> Machine:
    """Return a machine whose firmware waits for its first byte."""
    board = boards.load(name)
    platform = load_platform(board)
    machine = Machine()
    machine.load_platform(description(board, platform))
    machine.load_elf(str(image.path))
    machine.vectors = image.symbols["__vectors"]
    for address, value in platform.values:
        machine.store(address, value.to_bytes(4, "little"))
    machine.connect(platform.uart)
    for stage in platform.boot:
        machine.run(BOOT_US)
        for address, value in stage.write:
            machine.store(address, value.to_bytes(4, "little"))
    machine.run(BOOT_US)
    return machine


def answer(machine: Machine) -> bytes:
    """Send a hello to a receiver that never gets empty; return what the firmware sends within ANSWER_US."""
    sent = bytearray()

    def send(data: bytes) -> None:
        sent.extend(data)
        if len(sent) > 20:
            machine.uc.emu_stop()

    machine.uart.send = send
    hello = messages().requests["hello"]
    body = encode(hello.request, {"nonce": NONCE, "protocol": messages().protocol})
    machine.uart.receive(b"\0" + LinkFrame(hello.id, NONCE & 0xFF, 0, body).encode())
    waiting = "waiting" if hasattr(machine.uart, "waiting") else "received"
    setattr(machine.uart, waiting, Endless(getattr(machine.uart, waiting)))
    machine.run(ANSWER_US)
    return bytes(sent)


@pytest.mark.parametrize("name", modelled())
def test_a_receiver_that_never_gets_empty_does_not_keep_the_firmware_from_answering(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    image = image_of(name, Path(built_firmware(tmp_path_factory)) / "build" / f"{name}.elf")
    assert len(answer(booted(name, image))) > 20
