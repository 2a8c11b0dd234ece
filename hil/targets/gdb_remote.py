"""A small client of the GDB Remote Serial Protocol, at the Unix socket of an emulator's GDB stub.

Source: Debugging with GDB, appendix "GDB Remote Serial Protocol". A stub halts the machine when a client connects
(QEMU: `gdb_chr_event` in gdbstub.c) and lets it run when the client detaches.
"""

from __future__ import annotations

import re
import select
import socket
from collections import deque
from collections.abc import Callable
from xml.parsers import expat

from hil.errors import message_of
from hil.process_time import LOOK_S, AbleTime
from hil.targets.gdb_packets import ACK, NAK, STRAY, Packet, PacketReader, packet

ANSWER_S = 10.0  # longest time of an answer
TRIES = 3  # to send a packet, or to get one with the right checksum
MOST_PASSED = 100  # packets and acknowledgements that come before an answer
INTERRUPT = b"\x03"
PACKET_SIZE = 400  # of a stub that does not say its own: GDB's default for remote targets
MOST_DESCRIPTION = 1 << 20  # bytes of one file of the target description
FILES = 32  # of a target description


class StubFailed(Exception):
    """The stub cannot be used any more; the message says what it did, as `did not answer ...`."""


class StubRefused(Exception):
    """The stub answered a request with an error (`E14`) or does not know it; the message says which."""


class GdbRemote:
    """A connection to a GDB stub. The machine is halted after it is made.

    Args:
        path: the Unix socket.
        lost_s: seconds in which the stub could not run so far, which no deadline counts. It is called while an answer
            is awaited, and may raise an error if the program is gone.
        answer_s: longest time of an answer.

    Attributes:
        running: whether the machine runs, as far as the stub has said.

    Raises:
        StubFailed: nobody listens there, or it does not speak the protocol. So does every method.
    """

    def __init__(self, path: str, lost_s: Callable[[], float] = lambda: 0.0, answer_s: float = ANSWER_S) -> None:
        self._lost_s, self._answer_s = lost_s, answer_s
        self._reader, self._came = PacketReader(), deque[Packet | bytes]()
        self._socket = socket.socket(socket.AF_UNIX)
        self._damaged = self._passed = 0  # packets in a row; what came since the request
        self.running = False
        try:
            self._socket.settimeout(answer_s)
            self._socket.connect(path)
            features = self.ask(b"qSupported:xmlRegisters=arm").decode("ascii", errors="replace")
            size = re.search(r"PacketSize=([0-9a-fA-F]{1,6})(?:;|$)", features)
            self._bytes = max((int(size[1], 16) if size else PACKET_SIZE) // 2 - 16, 16)  # beside address and size
            if not self._stop_reply(self._ask(b"?", stops=True)):
                raise StubFailed("does not say why the machine is halted")
        except OSError as error:
            self.close()
            raise StubFailed(f"cannot be reached ({message_of(error)})") from error
        except BaseException:
            self.close()
            raise

    # Requests.

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the answer, which may be empty: the stub does not know it.

        Stop replies that nobody asked for are passed over: QEMU sends one when a client connects.
        """
        return self._ask(request, stops=False)

    def done(self, request: bytes) -> None:
        """Send a request that is answered with OK. Raises StubRefused if it is not."""
        answer = self.ask(request)
        if answer != b"OK":
            raise StubRefused(_shown(answer))

    def registers(self, count: int) -> tuple[int, ...]:
        """Return the first `count` general registers, of 32 bits."""
        data = self._hex(self.ask(b"g"))
        if len(data) < 4 * count:
            raise StubFailed(f"has sent {len(data)} bytes of registers instead of {4 * count}")
        return tuple(int.from_bytes(data[4 * n : 4 * n + 4], "little") for n in range(count))

    def register(self, number: int) -> int:
        """Return a register by its number."""
        return int.from_bytes(self._hex(self.ask(b"p%x" % number)), "little")

    def set_register(self, number: int, value: int) -> None:
        """Set a register by its number."""
        self.done(b"P%x=%b" % (number, value.to_bytes(4, "little").hex().encode("ascii")))

    def read(self, address: int, size: int) -> bytes:
        """Return memory. Raises StubRefused if the machine has none there."""
        found = bytearray()
        while len(found) < size:
            count = min(size - len(found), self._bytes)
            data = self._hex(self.ask(b"m%x,%x" % (address + len(found), count)))
            if not 0 < len(data) <= count:
                raise StubFailed(f"has sent {len(data)} bytes of memory instead of {count}")
            found += data
        return bytes(found)

    def write(self, address: int, data: bytes) -> None:
        """Write memory; up to 4 bytes are one access. Raises StubRefused if the machine has none there."""
        for at in range(0, len(data), self._bytes):
            part = data[at : at + self._bytes]
            self.done(b"M%x,%x:%b" % (address + at, len(part), part.hex().encode("ascii")))

    def set_breakpoint(self, address: int) -> None:
        """Set a hardware breakpoint at an instruction of Thumb. Raises StubRefused if the stub has none."""
        self.done(b"Z1,%x,2" % address)

    def remove_breakpoint(self, address: int) -> None:
        """Remove a breakpoint."""
        self.done(b"z1,%x,2" % address)

    def go(self) -> None:
        """Let the machine run; the connection stays."""
        self._send(packet(b"c"))
        self.running = True

    def step(self) -> None:
        """Let the halted machine run one instruction."""
        self._send(packet(b"s"))
        self.running = True
        if not self.stopped_within(self._answer_s):
            raise StubFailed(f"did not run one instruction within {self._answer_s:.0f} s")

    def interrupt(self) -> None:
        """Halt the machine; nothing if it is halted."""
        if self.running:
            self._send(INTERRUPT)
            if not self.stopped_within(self._answer_s):
                raise StubFailed(f"did not halt the machine within {self._answer_s:.0f} s")

    def stopped_within(self, seconds: float) -> bool:
        """Wait until the machine is halted, and return whether it is."""
        if self.running:
            ends = self._deadline(seconds)
            while (answer := self._packet(ends)) is not None:
                if self._stop_reply(answer):
                    self.running = False
                    break
        return not self.running

    def detach(self) -> None:
        """Let the machine run and close the connection."""
        try:
            self.done(b"D")
        except StubRefused as refused:
            raise StubFailed(f"does not detach ({refused})") from refused
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection; a halted machine stays so."""
        self._socket.close()

    def numbers(self, wanted: set[str]) -> dict[str, int]:
        """Return the numbers of named registers, as far as the target description has them."""
        found: dict[str, int] = {}
        following, files = 0, deque(["target.xml"])

        def element(tag: str, attributes: dict[str, str]) -> None:
            nonlocal following
            if tag == "xi:include":
                files.append(attributes.get("href", ""))
            elif tag == "reg":
                following = int(attributes.get("regnum", following))
                found.setdefault(attributes.get("name", ""), following)
                following += 1

        for _ in range(FILES):
            if not files or wanted <= found.keys():
                break
            name = files.popleft()
            reader = expat.ParserCreate()  # without namespaces: QEMU does not declare that of xi:include
            reader.StartElementHandler = element
            try:
                reader.Parse(self._file(name), True)
            except (expat.ExpatError, ValueError) as error:
                raise StubFailed(f"describes its registers in a file that cannot be read ({name}: {error})") from error
        return {name: number for name, number in found.items() if name in wanted}

    def _file(self, name: str) -> bytes:
        found = bytearray()
        while len(found) < MOST_DESCRIPTION:
            request = f"qXfer:features:read:{name}:{len(found):x},{self._bytes:x}"
            answer = self.ask(request.encode("ascii", errors="replace"))
            if answer[:1] not in (b"l", b"m") or answer == b"m":
                raise StubFailed(f"does not describe its registers ({name}: {_shown(answer)})")
            found += answer[1:]
            if answer[:1] == b"l":
                return bytes(found)
        raise StubFailed(f"describes its registers in more than {MOST_DESCRIPTION:,} bytes")

    # Packets.

    def _ask(self, request: bytes, stops: bool) -> bytes:
        self._send(packet(request))
        ends, resent = self._deadline(self._answer_s), 0
        while (came := self._next(ends)) is not None:
            if isinstance(came, Packet):
                answer = self._accepted(came)
                if answer is not None and (stops or not self._stop_reply(answer)):
                    return answer
            elif came == NAK:
                resent += 1
                if resent > TRIES:
                    raise self._failed(f"refuses the packet {_shown(request)} {resent} times")
                self._send(packet(request))
        raise self._failed(f"did not answer {_shown(request)} within {self._answer_s:g} s")

    def _packet(self, ends: Callable[[], bool]) -> bytes | None:
        """Return the next packet, None if none comes in time."""
        while (came := self._next(ends)) is not None:
            if isinstance(came, Packet) and (answer := self._accepted(came)) is not None:
                return answer
        return None

    def _accepted(self, came: Packet) -> bytes | None:
        """Acknowledge a packet and return its content; of a damaged one, ask for it again and return None."""
        if came.body is None:
            self._damaged += 1
            if self._damaged > TRIES:
                raise StubFailed(f"has sent {self._damaged} packets with a wrong checksum or coding")
            self._send(NAK)
            return None
        self._damaged = 0
        self._send(ACK)
        return came.body

    def _stop_reply(self, answer: bytes) -> bool:
        """Return whether an answer says that the machine has halted. Raises StubFailed if it says that it has ended."""
        if answer[:1] in (b"W", b"X") and len(answer) >= 3:
            raise StubFailed(f"says that the machine has ended ({_shown(answer)})")
        return answer[:1] in (b"T", b"S") and len(answer) >= 3

    def _deadline(self, seconds: float) -> Callable[[], bool]:
        """Return a function that says whether so many seconds are over in which the stub could run."""
        self._passed, able = 0, AbleTime(self._lost_s)
        return lambda: able.seconds >= seconds

    def _next(self, ends: Callable[[], bool]) -> Packet | bytes | None:
        while not self._came:
            late = ends()
            ready, _, _ = select.select([self._socket], [], [], 0.0 if late else LOOK_S)
            if ready:
                self._receive()
            elif late:
                return None
        self._passed += 1
        if self._passed > MOST_PASSED:
            raise StubFailed("sends without end what nobody asked for")
        return self._came.popleft()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(65_536)
        except OSError as error:
            raise StubFailed(f"has broken the connection ({message_of(error)})") from error
        if not data:
            raise StubFailed("has closed the connection")
        self._came.extend(self._reader.feed(data))
        if len(self._reader.stray) > STRAY:
            raise self._failed("")

    def _failed(self, otherwise: str) -> StubFailed:
        """Return the error of a stub that does not answer: with what has come instead, if that is no packet."""
        return StubFailed(f"answers garbage ({_shown(self._reader.stray)})" if self._reader.stray else otherwise)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise StubFailed(f"has broken the connection ({message_of(error)})") from error

    def _hex(self, answer: bytes) -> bytes:
        if not answer or re.fullmatch(rb"E([0-9a-fA-F]{2}|\..*)", answer):
            raise StubRefused(_shown(answer))
        try:
            return bytes.fromhex(answer.decode("ascii"))
        except ValueError as error:
            raise StubFailed(f"answers garbage ({_shown(answer)})") from error


def _shown(data: bytes) -> str:
    """Return bytes for a message, shortened."""
    text = data[:40].decode("ascii", errors="backslashreplace")
    return repr(text + ("..." if len(data) > 40 else ""))
