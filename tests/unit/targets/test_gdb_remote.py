"""The client of a GDB stub, and the probe made of it, against a stub that follows a script."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil import boards
from hil.errors import Blocked
from hil.targets.gdb_packets import decoded, packet
from hil.targets.gdb_probe import GdbProbe
from hil.targets.gdb_remote import GdbRemote, StubFailed, StubRefused

DESCRIPTION = b"""<?xml version="1.0"?><target><xi:include href="m.xml"/></target>"""
REGISTERS = b"".join(f'<reg name="r{n}" bitsize="32"/>'.encode() for n in range(16))
M_PROFILE = b"<feature>%b<reg name='xpsr' regnum='25'/><reg name='msp'/><reg name='psp'/></feature>" % REGISTERS
MEMORY = bytes(range(256)) * 8
ANSWER_S = 0.4
Reply = Callable[[bytes], "list[bytes] | None"]  # what to send for a request; None: what a good stub sends


class Stub:
    """A stub at a Unix socket with 2,048 bytes of memory at 0x20000000, and a reply to each request of its own."""

    def __init__(self, path: Path, reply: Reply, interrupts: bool = True) -> None:
        self.path, self.seen, self.memory = str(path), list[bytes](), bytearray(MEMORY)
        self._reply, self._interrupts = reply, interrupts
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                try:
                    self._talk(connection)
                except OSError:
                    continue

    def _talk(self, connection: socket.socket) -> None:
        pending = b""
        while data := connection.recv(4096):
            pending += data
            while pending:
                if pending[:1] == b"\x03" and self._interrupts:
                    connection.sendall(packet(b"T02thread:01;"))
                if pending[:1] != b"$":
                    self.seen.append(pending[:1])
                    pending = pending[1:]
                    continue
                end = pending.find(b"#")
                if end < 0 or len(pending) < end + 3:
                    break
                request, pending = decoded(pending[1:end]) or b"", pending[end + 3 :]
                self.seen.append(request)
                pieces = self._reply(request)
                for piece in [b"+", packet(self._good(request))] if pieces is None else pieces:
                    if piece == b"end":
                        return
                    connection.sendall(piece)

    def _good(self, request: bytes) -> bytes:
        if request[:1] == b"m":
            at, size = (int(part, 16) for part in request[1:].split(b","))
            at -= 0x2000_0000
            inside = at >= 0 and at + size <= len(self.memory)
            return self.memory[at : at + size].hex().encode() if inside else b"E14"
        if request[:1] == b"M":
            where, _, data = request[1:].partition(b":")
            at = int(where.split(b",")[0], 16) - 0x2000_0000
            self.memory[at : at + len(data) // 2] = bytes.fromhex(data.decode())
            return b"OK"
        if request.startswith(b"qXfer"):
            file, (at, size) = request.split(b":")[3], (int(n, 16) for n in request.split(b":")[4].split(b","))
            whole = DESCRIPTION if file == b"target.xml" else M_PROFILE
            return (b"l" if at + size >= len(whole) else b"m") + whole[at : at + size]
        if request[:1] == b"g":
            return b"".join(n.to_bytes(4, "little").hex().encode() for n in (*range(13), 0x2000_0010, 14, 0x2000_0102))
        if request[:1] == b"p":
            return int(request[1:], 16).to_bytes(4, "little").hex().encode()
        known = {b"?": b"T05thread:01;", b"D": b"OK", b"Z": b"OK", b"z": b"OK", b"q": b"PacketSize=80;vContSupported+"}
        return known.get(request[:1], b"")

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@contextmanager
def stub(reply: Reply = lambda request: None, interrupts: bool = True) -> Iterator[Stub]:
    with tempfile.TemporaryDirectory() as folder:
        one = Stub(Path(folder) / "gdb", reply, interrupts)
        try:
            yield one
        finally:
            one.close()


class Alive:
    """A machine that lives and can be reset; `gone` says why not."""

    def __init__(self) -> None:
        self.gone, self.resets = "", 0

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        while_stopped()
        self.resets += 1
        return True

    def alive(self, within_s: float = 0.0) -> None:
        if self.gone and within_s:
            raise Blocked("bench", self.gone)

    def lost_s(self) -> float:
        return 0.0


def probe_of(one: Stub, machine: Alive | None = None) -> GdbProbe:
    return GdbProbe(boards.load("mps2-an386"), one.path, "qemu", machine or Alive(), ANSWER_S)


def test_memory_registers_and_breakpoints():
    with stub() as one:
        client = GdbRemote(one.path)
        assert client.read(0x2000_0000, 2048) == MEMORY  # in pieces of the packet size that the stub has named
        client.write(0x2000_0100, b"#$}*" * 50)
        assert client.read(0x2000_0100, 200) == b"#$}*" * 50 == bytes(one.memory[256:456])
        assert client.registers(3) == (0, 1, 2) and client.register(25) == 25
        assert client.numbers({"psp", "xpsr", "none"}) == {"xpsr": 25, "psp": 27}
        with pytest.raises(StubRefused, match="'E14'"):
            client.read(0x1000, 4)
        client.set_breakpoint(0x100)
        client.go()
        assert client.running and not client.stopped_within(0.1)
        client.interrupt()
        assert not client.running
        client.remove_breakpoint(0x100)
        client.detach()
        assert [each for each in one.seen if each[:1] in (b"Z", b"z", b"c", b"D", b"\x03")] == [
            b"Z1,100,2", b"c", b"\x03", b"z1,100,2", b"D",
        ]  # fmt: skip


def test_stop_replies_that_nobody_asked_for_are_passed_over():
    with stub(
        lambda request: [b"+", packet(b"T02thread:01;"), packet(b"41424344")] if request[:1] == b"m" else None
    ) as one:
        assert GdbRemote(one.path).read(0x2000_0000, 4) == b"ABCD"


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 3), max_size=30))
def test_answers_may_come_in_any_pieces(sizes):
    def reply(request: bytes) -> list[bytes] | None:
        if request[:1] != b"m":
            return None
        encoded = b'0* 4*"1*!'
        data, pieces = b"+$%b#%02x" % (encoded, sum(encoded) % 256), []
        for size in sizes:
            pieces.append(data[:size])
            data = data[size:]
        return [*(each for each in pieces if each), data]

    with stub(reply) as one:
        client = GdbRemote(one.path)
        assert client.ask(b"m20000000,8") == b"0000" + b"4" * 6 + b"1" * 5
        client.close()


def test_a_damaged_answer_is_asked_for_again():
    def reply(request: bytes) -> list[bytes] | None:
        return [b"+", b"$4143#00", packet(b"4142")] if request[:1] == b"m" else None

    with stub(reply) as one:
        assert GdbRemote(one.path).read(0x2000_0000, 2) == b"AB"
        time.sleep(0.05)
        assert b"-" in one.seen


def test_a_refused_packet_is_sent_again():
    def reply(request: bytes) -> list[bytes] | None:
        return [b"-"] if request[:1] == b"m" and one.seen.count(request) < 3 else None

    with stub(reply) as one:
        assert GdbRemote(one.path).read(0x2000_0000, 2) == MEMORY[:2]
        assert one.seen.count(b"m20000000,2") == 3


def only(letter: bytes, *pieces: bytes) -> Reply:
    return lambda request: list(pieces) if request[:1] == letter else None


@pytest.mark.parametrize(("reply", "words"), [
    (only(b"q"), "did not answer 'qSupported.*' within 0.4 s"),
    (only(b"m"), "did not answer 'm20000000,4' within 0.4 s"),
    (only(b"m", b"+"), "did not answer 'm20000000,4' within 0.4 s"),
    (only(b"q", b"SSH-2.0-OpenSSH\r\n"), r"answers garbage \('SSH"),
    (only(b"m", b"\x00" * 5000), "answers garbage"),
    (only(b"m", b"+", packet(b"zz")), "answers garbage .'zz'"),
    (only(b"m", b"+", packet(b"41" * 5)), "has sent 5 bytes of memory instead of 4"),
    (only(b"m", *[b"$41#00"] * 9), "has sent 4 packets with a wrong checksum or coding"),
    (only(b"m", b"-"), "refuses the packet 'm20000000,4' 4 times"),
    (only(b"m", *[b"+", packet(b"T05")] * 100), "sends without end what nobody asked for"),
    (only(b"m", b"+", b"end"), "has closed the connection"),
    (only(b"?", b"+", packet(b"W00")), "says that the machine has ended"),
    (only(b"?", b"+", packet(b"")), "does not say why the machine is halted"),
    (only(b"D", b"+", packet(b"E01")), "does not detach"),
])  # fmt: skip
def test_a_stub_that_fails_is_blocked_with_a_sentence(reply, words):
    with (
        stub(reply) as one,
        pytest.raises(
            Blocked, match=f"the GDB stub of qemu of mps2-an386 failed to read 4 bytes at 0x20000000: it .*{words}"
        ) as seen,
    ):
        probe_of(one).read_ram(0x2000_0000, 4)
    assert seen.value.stage == "probe"


def test_a_stub_that_is_not_there():
    with pytest.raises(Blocked, match="failed to halt the core: it cannot be reached"):
        GdbProbe(boards.load("mps2-an386"), "/nowhere/gdb", "qemu", Alive(), ANSWER_S).halt()


def test_the_end_of_the_emulator_is_the_reason():
    machine = Alive()
    machine.gone = "the stand-in ended with status -9."
    with stub(only(b"m", b"end")) as one, pytest.raises(Blocked, match="the stand-in ended with status -9"):
        probe_of(one, machine).read(0x2000_0000, 4)


def test_a_core_that_does_not_halt():
    with stub(only(b"c", b"+"), interrupts=False) as one:
        client = GdbRemote(one.path, answer_s=ANSWER_S)
        client.go()
        with pytest.raises(StubFailed, match="did not halt the machine"):
            client.interrupt()


def test_each_look_lets_the_machine_run_on():
    with stub() as one:
        probe = probe_of(one)
        assert probe.read_ram(0x2000_0000, 4) == MEMORY[:4] and probe.read_ram(0x1000, 4) is None
        with pytest.raises(Blocked, match="the GDB stub of qemu cannot read 4 bytes at 0x00001000: it answers 'E14'"):
            probe.read(0x1000, 4)
        sample = probe.look()
        assert (sample.pc, sample.xpsr, sample.psp, sample.exception) == (0x2000_0102, 25, 27, 25)
        assert sample.stack == MEMORY[16 : 16 + 1024] and not sample.lockup
        assert one.seen.count(b"?") == one.seen.count(b"D") == 4 and not probe.is_halted()
        probe.halt()
        assert probe.read(0x2000_0000, 4) == MEMORY[:4] and probe.is_halted()
        assert one.seen.count(b"?") == 5 and one.seen.count(b"D") == 4
        probe.resume()
        assert one.seen.count(b"D") == 5 and not probe.is_halted()


def test_a_core_after_an_instruction_that_waits_is_asleep():
    with stub() as one:
        one.memory[0x100:0x102] = (0xBF30).to_bytes(2, "little")  # WFI
        assert probe_of(one).look().asleep
        one.memory[0x100:0x102] = (0xBF00).to_bytes(2, "little")  # NOP
        assert not probe_of(one).look().asleep


def test_a_stub_without_breakpoints_is_blocked_with_a_sentence():
    with stub(only(b"Z", b"+", packet(b""))) as one, pytest.raises(
        Blocked, match="cannot set a breakpoint at 0x00000100: it answers ''"
    ), probe_of(one).stopped_at_returns([0x100], None):  # fmt: skip
        pass
