"""A strict SCPI instrument on a TCP port of this computer: what it does not know or cannot take stands in its error
queue and is not done.

SCPI-1999, volume 1, 6.2: a mnemonic in its short or its long form and nothing between, in any case; an optional node in
brackets; a number at the end of a node. Volume 2, 21.8: error numbers. A query that is refused has no answer, and who
waits for one times out (IEEE 488.2).
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from .world import World

QUEUE = 20  # errors that are kept; the last place then says -350
TEXTS = {
    -104: "Data type error",
    -108: "Parameter not allowed",
    -109: "Missing parameter",
    -113: "Undefined header",
    -213: "Init ignored",
    -221: "Settings conflict",
    -222: "Data out of range",
    -224: "Illegal parameter value",
    -230: "Data corrupt or stale",
    -241: "Hardware missing",
    -350: "Queue overflow",
}


class Refused(Exception):
    """A command that is not taken: number and, where it is the maker's own, text of the error."""

    def __init__(self, number: int, text: str = "") -> None:
        super().__init__(number, text or TEXTS[number])
        self.number, self.text = number, text or TEXTS[number]


def command(*patterns: str, least: int = 0, most: int | None = None) -> Callable[[Any], Any]:
    """Declare a method as what serves commands or queries, such as `[SENSe]:CURRent[:DC]:RANGe?`; `least` and `most`
    parameters."""

    def declare(method: Any) -> Any:
        method.patterns = [
            *getattr(method, "patterns", []),
            *((one, least, least if most is None else most) for one in patterns),
        ]
        return method

    return declare


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a header, written `[SENSe[1]:]CURRent[:DC]:RANGe?`; `<n>` is a number that the
    method gets."""
    marks = {"[1]": "1?", "<n>": r"(\d*)", "[": "(?:", "]": ")?", ":": ":"}
    parts = []
    for token in re.findall(r"\[1\]|<n>|[\[\]:]|\*?[A-Za-z]+", pattern):
        if token in marks:
            parts.append(marks[token])
            continue
        short, rest = re.match(r"(\*?[A-Z]+)([a-z]*)$", token).groups()  # type: ignore[union-attr]
        parts.append(re.escape(short) + (f"(?:{rest.upper()})?" if rest else ""))
    return re.compile("^:?" + "".join(parts) + (r"\?" if pattern.endswith("?") else "") + "$")


class Instrument:
    """One instrument. A subclass declares its commands; its methods take the header's numbers and the parameters as
    text."""

    identity: ClassVar[str]
    no_error = '0,"No error"'
    answer_s: ClassVar[float] = 0.001  # of an exchange by LAN: assumed
    over: ClassVar[float] = 1.05  # share of a range beyond which a current is cut off

    def grid(self) -> tuple[float, float]:
        """Return when a reading begins, and the time from one to the next."""
        raise NotImplementedError

    def fill(self) -> None:
        """Make the readings that are due, of what has flowed so far."""
        raise NotImplementedError

    def __init__(self, world: World) -> None:
        self.world = world
        self.errors: deque[tuple[int, str]] = deque()
        self.refused: list[str] = []  # every line that was not taken, for the table
        self.lock = threading.RLock()
        self._table = [
            (_compiled(pattern), getattr(self, name), least, most)
            for name in dir(type(self))
            for pattern, least, most in getattr(getattr(type(self), name), "patterns", [])
        ]

    def execute(self, line: str) -> bytes | None:
        """Do one line; return what it answers."""
        answers, path = [], ""
        for text in (one.strip() for one in _split(line, ";")):
            text = (
                text if not path or text[:1] in ":*" else f"{path}:{text}"
            )  # SCPI-1999, volume 1, 6.2.4: the path stays
            path = text.partition(" ")[0].rpartition(":")[0]
            try:
                answer = self._one(text)
            except Refused as error:
                self.refused.append(f"{text.strip()}: {error.number}")
                self.errors.append((error.number, error.text))
                if len(self.errors) > QUEUE:
                    self.errors.pop()
                    self.errors[-1] = (-350, TEXTS[-350])
                continue
            if answer is not None:
                answers.append(answer if isinstance(answer, bytes) else str(answer).encode())
        return b";".join(answers) if answers else None

    def _one(self, text: str) -> str | bytes | None:
        header, _, rest = text.partition(" ")
        given = [one.strip() for one in _split(rest, ",")] if rest.strip() else []
        for expression, method, least, most in self._table:
            found = expression.match(header.upper())
            if found is None:
                continue
            if len(given) < least:
                raise Refused(-109)
            if len(given) > most:
                raise Refused(-108)
            return method(*(int(one or 1) for one in found.groups()), *given)
        raise Refused(-113)

    @command("*IDN?")
    def _identify(self) -> str:
        return self.identity

    @command("*CLS")
    def clear(self) -> None:
        """Empty the error queue; a subclass its event registers too."""
        self.errors.clear()

    @command("*OPC?")
    def _operation_complete(self) -> str:
        return "1"

    @command("*WAI", "*OPC")
    def _wait(self) -> None: ...

    @command("SYSTem:ERRor[:NEXT]?")
    def _next_error(self) -> str:
        if not self.errors:
            return self.no_error
        number, text = self.errors.popleft()
        return f'{number},"{text}"'

    @command("SYSTem:ERRor:COUNt?")
    def _count_errors(self) -> str:
        return str(len(self.errors))


# parameters


def number(text: str, low: float, high: float, **words: float) -> float:
    """Return a number within its limits, or what a word such as MIN stands for."""
    for word, value in words.items():
        if is_word(text, word):
            return value
    try:
        value = float(text)
    except ValueError:
        raise Refused(-104) from None
    if not low <= value <= high:
        raise Refused(-222)
    return value


def boolean(text: str) -> bool:
    """Return ON, OFF, 1 or 0."""
    if text.upper() not in ("ON", "OFF", "1", "0"):
        raise Refused(-224 if text.isalpha() else -104)
    return text.upper() in ("ON", "1")


def is_word(text: str, word: str) -> bool:
    """Return whether a text is a word such as `EITHer` in its short or its long form."""
    return text.upper() in (re.match(r"[A-Z0-9]+", word).group(0), word.upper())  # type: ignore[union-attr]


def choice(text: str, *words: str) -> str:
    """Return which of some words a text is."""
    for word in words:
        if is_word(text, word):
            return word
    raise Refused(-224)


def quoted(text: str) -> str:
    """Return a string parameter without its quotation marks."""
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        raise Refused(-104)
    return text[1:-1]


def numbers(values: np.ndarray, form: str = "%.6E") -> str:
    """Return numbers as ASCII, comma-separated."""
    return ",".join(form % value for value in values)


def block(values: np.ndarray, kind: str, *, definite: bool = True) -> bytes:
    """Return an arbitrary block (IEEE 488.2, 8.7.9 and 8.7.10) of numbers of a NumPy type such as `>f4`."""
    data = np.asarray(values).astype(kind).tobytes()
    return (f"#{len(str(len(data)))}{len(data)}".encode() if definite else b"#0") + data


def _split(text: str, mark: str) -> list[str]:
    """Split at a mark that is neither within quotation marks nor within brackets."""
    return re.findall(rf"(?:\"[^\"]*\"|'[^']*'|\([^)]*\)|[^{mark}\"'(])+", text)


@contextlib.contextmanager
def served(instrument: Instrument) -> Iterator[str]:
    """Serve an instrument on a port of its own; yield its VISA resource name."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = [listener]

    def talk(wire: socket.socket) -> None:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError), wire, wire.makefile("rb") as lines:
            for line in lines:
                instrument.world.sleep(instrument.world.latency_s)
                with instrument.lock:
                    answer = instrument.execute(line.decode("ascii", "replace").strip())
                if answer is not None:
                    wire.sendall(answer + b"\n")

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                wire, _ = listener.accept()
                open_sockets.append(wire)
                threading.Thread(target=talk, args=(wire,), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield f"TCPIP0::127.0.0.1::{listener.getsockname()[1]}::SOCKET"
    finally:
        for one in open_sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
