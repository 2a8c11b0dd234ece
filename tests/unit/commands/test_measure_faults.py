"""`hil measure` and `hil power` as commands, with instruments that are wrong, silent, gone or endless, and with people who press Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keithley_2450 import VirtualKeithley2450
from hil.standins.virtual.meter.truth import ScriptedTrace

PS, HANGS_S = 10**12, 90
IDENTITY = b"KEITHLEY INSTRUMENTS,MODEL 2450,04096331,1.7.12b\n"
EXACT = Flaws(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class WallTime:
    """A clock that goes on by itself."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def ps(self) -> int:
        return round((time.monotonic() - self._began) * PS)


class Fake:
    """An instrument on a loopback port: each line is answered as a function says, None for silence; it can hang up for good."""

    def __init__(self, answer: Callable[[bytes], bytes | None]) -> None:
        self._answer, self._open = answer, []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.resource = f"TCPIP0::127.0.0.1::{self._server.getsockname()[1]}::SOCKET"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection.makefile("rb") as lines:
            for line in lines:
                answer = self._answer(line.strip())
                if answer is not None:
                    connection.sendall(answer)

    def hang_up(self) -> None:
        for one in (self._server, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def fake() -> Iterator[Callable[[Callable[[bytes], bytes | None]], Fake]]:
    made: list[Fake] = []

    def make(answer: Callable[[bytes], bytes | None]) -> Fake:
        made.append(Fake(answer))
        return made[-1]

    yield make
    for one in made:
        one.hang_up()


def started(command: str, resource: str, folder: Path) -> subprocess.Popen[str]:
    words = {
        "measure": ["measure", "--out", str(folder / "out"), "--interval", "0.01", "--window", "1", "--deadline", "60"],
        "power": ["power", "--watch", "--interval", "0.1"],
        "page": ["power", "--watch", "--interval", "0.1", "--page", "page.html"],
    }
    line = [
        sys.executable,
        "-m",
        "hil.commands.main",
        *words[command],
        "--model",
        "keithley-2450",
        "--meter",
        resource,
        "--volt",
        "3.3",
    ]
    return subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell's job in the background has it ignored
    )  # fmt: skip


def ended(command: str, resource: str, folder: Path) -> tuple[int, str]:
    process = started(command, resource, folder)
    _, error = process.communicate(timeout=HANGS_S)
    return process.returncode, error


def require_one_sentence(code: int, error: str, *words: str) -> None:
    sentences = [line for line in error.splitlines() if line.startswith("hil: ")]
    assert code == 2 and len(sentences) == 1 and sentences[0].endswith("."), error
    assert "Traceback" not in error and all(word in sentences[0] for word in words), error


SILENT, ENDLESS = (lambda _line: None), (lambda _line: b"9" * (1 << 24))


def answering(query: bytes) -> Callable[[bytes], bytes | None]:
    """Return an instrument that knows its name and the frequency of the line, and answers any other query alike."""
    known = {b"*IDN?": IDENTITY, b":SYST:LFR?": b"60\n"}
    return lambda line: known.get(line, query) if b"?" in line else None


@pytest.mark.parametrize(("command", "answer", "words"), [
    ("measure", SILENT, ("*IDN?", "--meter")),
    ("power", SILENT, ("*IDN?", "--meter")),
    ("measure", ENDLESS, ("*IDN?", "does not end")),
    ("measure", lambda _line: b"RIGOL TECHNOLOGIES,DP832A,1,1\n", ("RIGOL", "not a Keithley 2450", "command line")),
    ("measure", lambda _line: bytes(range(256)) + b"\n", ("not a Keithley 2450",)),
    ("measure", answering(b'-113,"Undefined header"\n'), ("reports -113", )),
    ("measure", answering(b"\xff\xfe\n"), ("did not take ':SYST:ERR?'", )),
    ("measure", answering(b"yes\n"), ("did not take ':SYST:ERR?'", )),
], ids=["silent", "watched", "endless", "another model", "no text", "refuses everything", "no character", "no number"])  # fmt: skip
def test_an_instrument_that_is_none(
    command: str,
    answer: Callable[[bytes], bytes | None],
    words: tuple[str, ...],
    fake: Callable[..., Fake],
    tmp_path: Path,
) -> None:
    code, error = ended(command, fake(answer).resource, tmp_path)
    require_one_sentence(code, error, *words)
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob("trace.parquet"))


@pytest.mark.parametrize(
    "resource",
    [
        "nonsense",
        "TCPIP0::127.0.0.1::1::SOCKET",
        "TCPIP0::no.such.host.invalid::5025::SOCKET",
        "ASRL/dev/no-such-port::INSTR",
    ],
)
def test_an_address_that_is_none(resource: str, tmp_path: Path) -> None:
    require_one_sentence(*ended("measure", resource, tmp_path), "Keithley 2450")


class VirtualMeterEntry:
    """A virtual instrument that goes on with the clock; `began` is set when it begins to read."""

    def __init__(self) -> None:
        self._lock, self._began = threading.Lock(), threading.Event()
        trace = ScriptedTrace(WallTime(), np.array([0]), np.array([0.02]), [])  # type: ignore[arg-type]
        self._instrument = VirtualKeithley2450(trace, EXACT, np.random.default_rng(1))

    def __call__(self, line: bytes) -> bytes | None:
        with self._lock:
            said = self._instrument.execute(line.decode())
        if b":INIT" in line:
            self._began.set()
        return None if said is None else said + b"\n"

    def wait(self) -> None:
        assert self._began.wait(HANGS_S)
        time.sleep(0.5)  # so that it is looked at


@pytest.mark.parametrize("command", ["measure", pytest.param("power", marks=pytest.mark.tier("nightly"))])
def test_an_instrument_that_goes_in_mid_window(command: str, fake: Callable[..., Fake], tmp_path: Path) -> None:
    twin = VirtualMeterEntry()
    instrument = fake(twin)
    process = started(command, instrument.resource, tmp_path)
    twin.wait()
    instrument.hang_up()
    _, error = process.communicate(timeout=HANGS_S)
    require_one_sentence(process.returncode, error, "Keithley 2450", "its cable")
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob("trace.parquet"))


@pytest.mark.parametrize(("command", "code"), [("measure", 130), ("power", 0), ("page", 0)])
def test_ctrl_c(command: str, code: int, fake: Callable[..., Fake], tmp_path: Path) -> None:
    twin = VirtualMeterEntry()
    process = started(command, fake(twin).resource, tmp_path)
    twin.wait()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=HANGS_S)
    assert process.returncode == code and "Traceback" not in error, error
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob("trace.parquet"))
    if command == "page":
        assert "modelled" in (tmp_path / "page.html").read_text(encoding="utf-8"), "saved at the end"
