"""The stub of a first light: its words are its assembly, and an emulated core does with them what they are for."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from host_agent import tool
from hypothesis import given, settings
from hypothesis import strategies as st

from hil import boards
from hil.errors import DeviceFault, RigError
from hil.first_light.stub import (
    BEGUN,
    BUFFER_AT,
    CODE_AT,
    FIELDS,
    FINISHED,
    RAM_BASE,
    WORDS,
    Command,
    Stub,
    place_of,
)

SOURCE = Path(__file__).parents[3] / "hil/first_light/stub.S"
DEVICE = 0x4000_0000
STATUS, DATA = DEVICE, DEVICE + 4


def test_the_words_are_the_assembly(tmp_path: Path) -> None:
    object_, binary = tmp_path / "stub.o", tmp_path / "stub.bin"
    subprocess.run([tool("arm-none-eabi-gcc"), "-c", "-o", object_, SOURCE], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", object_, binary], check=True)
    data = binary.read_bytes()
    assert struct.unpack(f"<{len(data) // 4}I", data) == WORDS
    assert CODE_AT + len(data) <= BUFFER_AT


class Core:
    """A Cortex-M0+ of Unicorn in the place of a probe, with a UART at STATUS and DATA."""

    unique_id, no_counter = "unicorn", None

    def __init__(self, instructions: int = 20_000) -> None:
        unicorn = pytest.importorskip("unicorn", reason="needs the extra `virtual`")
        from unicorn import arm_const as arm

        self._arm, self._instructions = arm, instructions
        self._machine = unicorn.Uc(
            unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS, arm.UC_CPU_ARM_CORTEX_M0
        )
        for start in (RAM_BASE, DEVICE, 0xE000_0000):
            self._machine.mem_map(start, 0x10_0000)
        self.incoming, self.outgoing, self.stores = bytearray(), bytearray(), []
        self._machine.hook_add(unicorn.UC_HOOK_MEM_READ, self._read, begin=DEVICE, end=DEVICE + 7)
        self._machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._write, begin=DEVICE, end=DEVICE + 0xFF)

    def _read(self, machine: object, _kind: int, address: int, _size: int, _value: int, _data: object) -> None:
        if address == STATUS:
            self._machine.mem_write(STATUS, struct.pack("<I", 1 if self.incoming else 0))
        elif self.incoming:
            self._machine.mem_write(DATA, struct.pack("<I", self.incoming.pop(0)))

    def _write(self, machine: object, _kind: int, address: int, _size: int, value: int, _data: object) -> None:
        self.stores.append((address, value))
        if address == DATA:
            self.outgoing.append(value & 0xFF)

    def halt(self) -> None: ...

    def write_ram(self, address: int, data: bytes) -> bool:
        self._machine.mem_write(address, data)
        return True

    def read_ram(self, address: int, size: int) -> bytes:
        return bytes(self._machine.mem_read(address, size))

    def begin(self, registers: dict[str, int]) -> None:
        names = {"r7": self._arm.UC_ARM_REG_R7, "sp": self._arm.UC_ARM_REG_SP}
        for name, register in names.items():
            self._machine.reg_write(register, registers[name])
        self._machine.emu_start(registers["pc"] | 1, 0xFFFF_FFFF, count=self._instructions)


def stub_at(core: Core) -> Stub:
    return Stub(boards.load("rp2040"), core)  # type: ignore[arg-type]


def test_it_counts() -> None:
    core = Core(instructions=3000)
    stub = stub_at(core)
    stub.start(Command.SPIN)
    done = stub.look()
    assert (done.state, done.is_finished) == (BEGUN, False) and 900 < done.count < 1100  # three instructions a round


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 0xFFFF_FFFF), min_size=1, max_size=200))
def test_it_sums(words: list[int]) -> None:
    core = Core()
    stub = stub_at(core)
    at = RAM_BASE + 0x1000
    core.write_ram(at, struct.pack(f"<{len(words)}I", *words))
    stub.start(Command.SUM, limit=len(words), data=at)
    done = stub.look()
    assert (done.state, done.count, done.before) == (FINISHED, len(words), sum(words) & 0xFFFF_FFFF)


@settings(max_examples=20, deadline=None)
@given(st.binary(min_size=1, max_size=300))
def test_it_receives_what_comes_and_sends_it_back(data: bytes) -> None:
    core = Core()
    stub = stub_at(core)
    core.incoming += data
    stub.start(Command.RECEIVE, limit=len(data), data=DATA, status=STATUS, status_mask=1)
    assert stub.look().is_finished and stub.buffer(len(data)) == data
    stub.start(Command.SEND, limit=len(data), data=DATA, status=STATUS, status_mask=1, status_flip=1)
    assert bytes(core.outgoing) == data  # the flipped status: ready while nothing comes


def test_it_waits_for_a_byte_that_does_not_come() -> None:
    core = Core()
    stub = stub_at(core)
    core.incoming += b"abc"
    stub.start(Command.RECEIVE, limit=4, data=DATA, status=STATUS, status_mask=1)
    done = stub.until(lambda done: done.is_finished, 0.05)
    assert (done.state, done.count) == (BEGUN, 3)


def test_a_pulse_rises_once_and_falls_once() -> None:
    core = Core(instructions=5000)
    on, off, end = DEVICE + 0x10, DEVICE + 0x20, DEVICE + 0x30
    stub_at(core).start(
        Command.PULSE, limit=50, settle=20, on=on, on_value=4, off=off, off_value=8, counter=RAM_BASE, done=end,
        done_value=9,
    )  # fmt: skip
    assert core.stores == [(on, 4), (off, 8), (end, 9)]


@pytest.mark.parametrize("name", boards.names())
def test_every_board_has_room_for_it_at_the_begin_of_a_ram(name: str) -> None:
    board, place = boards.load(name), place_of(boards.load(name))
    assert any(memory.kind == "ram" and place == memory.start for memory in board.memory)
    assert place == RAM_BASE or name == "mps2-an505"  # whose RAM has another alias


def test_a_board_without_that_ram_is_refused() -> None:
    board = boards.catalogue.command_board("mine", None, None, None)
    with pytest.raises(RigError, match="mine has no RAM of 2048 bytes from 0x20000000"):
        place_of(board)


def test_ram_that_does_not_hold_the_stub_is_said() -> None:
    class Forgets(Core):
        def read_ram(self, address: int, size: int) -> bytes:
            return bytes(size)

    with pytest.raises(DeviceFault, match="the RAM at 0x20000000 does not hold the"):
        stub_at(Forgets()).start(Command.SPIN)


def test_fields_are_words_in_the_block() -> None:
    assert len(FIELDS) * 4 <= CODE_AT and len(set(FIELDS)) == len(FIELDS)
    source = SOURCE.read_text(encoding="utf-8")
    for name in ("command", "state", "count", "limit", "data", "counter", "before", "after", "settle", "on", "off"):
        offset = next(line for line in source.splitlines() if line.split()[:2] == [".equ", f"{name.upper()},"]).split()[
            2
        ]
        assert int(offset) == 4 * FIELDS.index(name)


def test_random_ram_does_not_look_like_a_stub_that_ran() -> None:
    core = Core()
    core.write_ram(RAM_BASE, np.random.default_rng(1).integers(0, 256, 256, np.uint8).tobytes())
    assert not stub_at(core).look().has_begun
