"""A session against a server that answers as it is told: late, wrong, in pieces, not at all."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import struct
import sys
import threading
import time
import tty

import numpy as np
import pytest

from hil import visa
from hil.errors import Blocked, RigError
from hil.visa import VisaSession

SHORT_MS = 150


class Scripted:
    """A socket that answers each line by a function of it, which may sleep; None: silence; an exception: it hangs up."""

    def __init__(self, answer, port: int = 0) -> None:
        self.answer, self.lines, self.connections = answer, [], 0
        self._listener = socket.create_server(("127.0.0.1", port), reuse_port=True)
        self.port = self._listener.getsockname()[1]
        self.resource = f"TCPIP0::127.0.0.1::{self.port}::SOCKET"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            for line in connection.makefile("r"):
                self.lines.append(line.strip())
                reply = self.answer(line.strip())
                if reply is not None:
                    connection.sendall(reply)
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def serve():
    servers = []

    def start(answer, port: int = 0) -> Scripted:
        servers.append(Scripted(answer, port))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_a_late_answer_is_not_taken_for_the_next_one(serve):
    def answer(line: str) -> bytes:
        if line == "SLOW?":
            time.sleep(2 * SHORT_MS / 1000)
        return f"{line}\n".encode()

    server = serve(answer)
    session = VisaSession(server.resource, "thing", SHORT_MS)
    for number in range(3):
        with pytest.raises(Blocked, match=r"thing did not take 'SLOW\?'"):
            session.query("SLOW?")
        if number == 1:
            time.sleep(3 * SHORT_MS / 1000)  # the late answer has come by now, or comes while we ask
        assert session.query(f"NEXT{number}?") == f"NEXT{number}?"
    assert server.connections == 4


def test_half_an_answer_does_not_stay(serve):
    server = serve(lambda line: b"1.0,2." if line == "HALF?" else b"7\n")
    session = VisaSession(server.resource, "thing", SHORT_MS)
    with pytest.raises(Blocked, match="HALF"):
        session.query_floats("HALF?")
    assert session.query_floats("WHOLE?").tolist() == [7]


def test_an_instrument_that_vanishes_and_comes_back(serve):
    server = serve(lambda line: b"1\n")
    session = VisaSession(server.resource, "thing", SHORT_MS)
    assert session.query("A?") == "1"
    server.close()
    for _ in range(2):
        with pytest.raises(Blocked, match="check its cable, its power and its address"):
            session.query("B?")
    serve(lambda line: b"2\n", server.port)
    assert session.query("C?") == "2"


def test_one_that_hangs_up_within_an_answer(serve):
    def answer(line: str) -> bytes:
        if line == "DIE?":
            raise ValueError
        return b"3\n"

    session = VisaSession(serve(answer).resource, "thing", SHORT_MS)
    begin = time.monotonic()
    with pytest.raises(Blocked):
        session.query("DIE?")
    assert time.monotonic() - begin < 2
    assert session.query("LIVE?") == "3"


def test_nobody_at_the_address():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Blocked, match="did not take"):
        VisaSession(f"TCPIP0::127.0.0.1::{port}::SOCKET", "thing", SHORT_MS).identify("thing")
    with pytest.raises(Blocked, match="'no address' is not a VISA resource name: name the thing as in TCPIP0::"):
        VisaSession("no address", "thing", SHORT_MS)
    for address in (
        "TCPIP0::no.such.host.invalid::5025::SOCKET",
        "TCPIP0::127.0.0.1::inst0::INSTR",
        "TCPIP0::127.0.0.1::hislip0::INSTR",
        "ASRL/dev/no-such-port::INSTR",
    ):
        with pytest.raises(Blocked, match="did not take 'open'"):
            VisaSession(address, "thing")


def test_long_answers_and_blocks_with_line_ends_in_them(serve):
    numbers = np.arange(30_000) * 0.5
    bits = np.frombuffer(b"\n\n\n\n#0\n\n" * 5_000, ">f4")
    block = bits.tobytes()
    answers = {
        "TEXT?": ",".join(map(str, numbers)).encode(), "SIZED?": b"#5%05d" % len(block) + block, "UNSIZED?": b"#0" + block,
        "DOUBLES?": b"#216" + struct.pack("<2d", 1.5, -2.5), "EMPTY?": b"#10", "NONE?": b"",
    }  # fmt: skip
    session = VisaSession(serve(lambda line: answers[line] + b"\n").resource, "thing", 2000)
    assert np.array_equal(session.query_floats("TEXT?"), numbers)
    assert np.array_equal(session.query_block("SIZED?"), bits)
    assert np.array_equal(session.query_block("UNSIZED?", count=len(bits)), bits)
    assert session.query_block("DOUBLES?", "d", big_endian=False).tolist() == [1.5, -2.5]
    assert len(session.query_block("EMPTY?")) == 0 and len(session.query_floats("NONE?")) == 0
    assert np.array_equal(session.query_block("SIZED?"), bits), "nothing was left over"


@pytest.mark.parametrize("answer", [b"12,x,3\n", b"\xff\xfe\n", b"1,,2\n"])
def test_an_answer_that_is_no_number_blocks(serve, answer):
    session = VisaSession(serve(lambda _: answer).resource, "thing", SHORT_MS)
    with pytest.raises(Blocked, match=r"did not take 'X\?'"):
        session.query_floats("X?")


@pytest.mark.parametrize("answer", [b"text\n", b"#44000too short\n", b"#0" + bytes(9) + b"\n"])
def test_a_block_that_is_none_or_not_whole_blocks(serve, answer):
    session = VisaSession(serve(lambda line: answer if line == "B?" else b"ok\n").resource, "thing", SHORT_MS)
    with pytest.raises(Blocked, match=r"did not take 'B\?'"):
        session.query_block("B?", count=4)
    assert session.query("A?") == "ok"


@pytest.mark.parametrize("block", [b"\n" + bytes(7), bytes(8), b"", b"\n"])
def test_a_block_without_a_length_on_a_socket_is_not_blamed_on_the_cable(serve, block):
    """A socket marks no end, and a newline may be a byte of the block: 0 readings would be a wrong answer."""
    answers = {"B?": b"#0" + block + b"\n", "A?": b"ok\n"}
    session = VisaSession(serve(lambda line: answers[line]).resource, "thing", SHORT_MS)
    with pytest.raises(
        Blocked, match=r"has no length, #0, and nothing on this line marks its end\): name its VXI-11"
    ) as one:
        session.query_block("B?")
    assert "cable" not in one.value.reason
    assert session.query("A?") == "ok"


def test_a_text_block_without_a_length_ends_with_its_line(serve):
    session = VisaSession(serve(lambda _: b"#01.5,-2.5\n").resource, "thing", SHORT_MS)
    assert session.query_text_block("R?").tolist() == [1.5, -2.5]


HISLIP = struct.Struct("!2sBBIQ")  # prologue, type, control code, parameter, length (IVI-6.1, table 4)
INITIALIZE, DATA, DATA_END, MAXIMUM_SIZE, ASYNC_INITIALIZE = 0, 6, 7, 15, 17
PIECE = 3000  # bytes of a message


class Hislip:
    """An instrument on HiSLIP, whose messages have an end: it answers each line by a function of it."""

    def __init__(self, answer) -> None:
        self.answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.resource = f"TCPIP0::127.0.0.1::hislip0,{self._listener.getsockname()[1]}::INSTR"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        stream, number = connection.makefile("rb"), 0

        def send(kind: int, parameter: int = 0, payload: bytes = b"") -> None:
            connection.sendall(HISLIP.pack(b"HS", kind, 0, parameter, len(payload)) + payload)

        while head := stream.read(HISLIP.size):
            _, kind, _, parameter, size = HISLIP.unpack(head)
            payload = stream.read(size)
            if kind == INITIALIZE:
                send(INITIALIZE + 1, 0x0100_0001)
            elif kind == ASYNC_INITIALIZE:
                send(ASYNC_INITIALIZE + 1)
            elif kind == MAXIMUM_SIZE:
                send(MAXIMUM_SIZE + 1, 0, struct.pack("!Q", 1 << 20))
            elif kind in (DATA, DATA_END):
                number, reply = parameter, self.answer(payload.decode().strip())
                for at in range(0, len(reply), PIECE):
                    send(DATA_END if at + PIECE >= len(reply) else DATA, number, reply[at : at + PIECE])

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def hislip():
    servers = []

    def start(answer) -> Hislip:
        servers.append(Hislip(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_blocks_end_with_their_message_where_messages_have_an_end(hislip):
    block = b"\n\n\n\n#0\n\n" * 2_000
    bits = np.frombuffer(block, ">f4")
    answers = {
        "SIZED?": b"#5%05d" % len(block) + block, "UNSIZED?": b"#0" + block, "EMPTY?": b"#0", "NEWLINE?": b"#0\n\n\n",
        "SHORT?": b"#5%05d" % (len(block) + 4) + block, "TEXT?": b"1.5",
    }  # fmt: skip
    session = VisaSession(hislip(lambda line: answers[line] + b"\n").resource, "thing", 5000)
    for query in ("SIZED?", "UNSIZED?", "UNSIZED?"):
        assert np.array_equal(session.query_block(query), bits), query
    assert np.array_equal(session.query_block("UNSIZED?", count=len(bits)), bits)
    assert len(session.query_block("EMPTY?")) == 0
    with pytest.raises(Blocked, match="buffer size must be a multiple of element size"):
        session.query_block("NEWLINE?")
    for query, why in (("SHORT?", "bytes arrived"), ("TEXT?", "does not begin a block")):
        with pytest.raises(Blocked, match=why):
            session.query_block(query)
    assert session.query("TEXT?") == "1.5"


@pytest.mark.parametrize("fine", [b'0,"No error"\n', b'+0,"No error"\n', b'0,"No error;0;0 0"\n'])
def test_the_error_queue(serve, fine):
    errors = [b'-113,"Undefined header"\n', fine]
    session = VisaSession(serve(lambda _: errors.pop()).resource, "thing")
    session.check()
    with pytest.raises(Blocked, match="the thing reports -113"):
        session.check()


def test_an_error_that_is_none_blocks(serve):
    with pytest.raises(Blocked, match="did not take ':SYST:ERR"):
        VisaSession(serve(lambda _: b"what\n").resource, "thing").check()


def test_identity(serve):
    server = serve(lambda _: b"ACME,MODEL 1,0,0\n")
    assert VisaSession(server.resource, "thing").identify("MODEL 1") == "ACME,MODEL 1,0,0"
    with pytest.raises(Blocked, match=r"is 'ACME,MODEL 1,0,0', not a Keithley: correct its address or its model"):
        VisaSession(server.resource, "Keithley").identify("MODEL 2450")


def test_a_serial_instrument_takes_its_options():
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    try:
        session = VisaSession(f"ASRL{os.ttyname(theirs)}::INSTR", "thing", SHORT_MS, baud_rate=115200)
        session.write("HELLO")
        assert os.read(ours, 100) == b"HELLO\n"
        os.write(ours, b"42\n")
        assert session.query("X?") == "42"
        session.close()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_usb_address_without_what_speaks_usb_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "usb.core", None)
    with pytest.raises(
        RigError, match=r'the thing is at a USB address, and PyUSB is not installed .*: pip install "trainrig\[usb\]"'
    ):
        VisaSession("USB0::0x05E6::0x2450::04431893::INSTR", "thing")


def test_a_usb_address_without_libusb_is_told_in_one_sentence(monkeypatch):
    usb = pytest.importorskip("usb.core")

    def none() -> None:
        raise usb.NoBackendError("No backend available")

    monkeypatch.setattr(usb, "find", none)
    with pytest.raises(RigError, match=r"PyUSB finds no libusb \(No backend available\): install it"):
        VisaSession("USB0::0x05E6::0x2450::04431893::INSTR", "thing")


def test_commands_do_not_wait_for_each_other(serve):
    """Nagle's algorithm and delayed acknowledgements would make 40 ms of every pair: two seconds of these."""
    session = VisaSession(serve(lambda line: b"1\n" if line.endswith("?") else None).resource, "thing")
    begin = time.monotonic()
    for _ in range(50):
        session.write("A", "B")
        assert session.query("C?") == "1"
    assert time.monotonic() - begin < 1.0


def test_a_failure_is_of_the_stage_that_it_was_opened_for(serve):
    session = VisaSession(serve(lambda _: b'-222,"Data out of range"\n').resource, "supply", SHORT_MS, stage="power")
    with pytest.raises(Blocked, match='the supply reports -222,"Data out of range": turn it round.') as blocked:
        session.check(cure="turn it round")
    assert blocked.value.stage == "power"


def test_a_block_that_says_it_is_larger_than_any_is_not_waited_for(serve):
    session = VisaSession(
        serve(lambda line: b"#9999999999" + bytes(100) if line == "B?" else b"ok\n").resource, "thing", 2000
    )
    with pytest.raises(
        Blocked, match=r"did not take 'B\?' \(a block of 999,999,999 bytes is longer than any that is requested\)"
    ):
        session.query_block("B?")
    assert session.query("A?") == "ok"


@pytest.mark.parametrize("head", [b"#9999999999", b"#0"])
def test_a_serial_instrument_that_sends_for_ever_ends_at_the_cap(monkeypatch, head):
    """A serial line has no end of a message either: the length of a block decides."""
    monkeypatch.setattr(visa, "LONGEST_BLOCK", 1 << 10)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    end = threading.Event()

    def send() -> None:
        os.read(ours, 100)
        os.write(ours, head)
        os.set_blocking(ours, False)
        while not end.wait(0.001):
            with contextlib.suppress(BlockingIOError):
                os.write(ours, b"x" * 1024)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        session = VisaSession(f"ASRL{os.ttyname(theirs)}::INSTR", "thing", 100_000, baud_rate=115200)
        with pytest.raises(Blocked, match=r"a block of \S+ bytes is longer than any that is requested"):
            session.query_block("B?", count=1 << 20)
        session.close()
    finally:
        end.set()
        sender.join(10)
        os.close(ours)
        os.close(theirs)
