"""`hil mlperf-tiny` as a user runs it, with a runner that opens the port which it names."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import serial
from mlperf_runner import Runner

ANSWERED_S = 600  # a busy computer is no defect


@dataclass(frozen=True)
class Answering:
    """A board that answers: what the command said, the model that it named, and a runner on its port."""

    said: str
    model: str
    runner: Runner


@contextlib.contextmanager
def answering(folder: Path, *options: str) -> Iterator[Answering]:
    """Run the command with these options in a folder of its own; end it by Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "hil.commands.main", "mlperf-tiny", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stderr is not None
        said = process.stdout.readline()
        found = re.search(r"at (\S+), (\d+) baud, model (\w+)", said)
        assert found, said + process.stderr.read()
        with serial.Serial(found[1], int(found[2]), timeout=0.1) as port:
            yield Answering(said, found[3], Runner(lambda data: exchange(port, data)))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def exchange(port: serial.Serial, data: bytes) -> bytes:
    """Send bytes and return everything up to and with the next `m-ready`."""
    port.write(data)
    answer, end = b"", time.monotonic() + ANSWERED_S
    while not answer.endswith(b"m-ready\r\n"):
        assert time.monotonic() < end, answer
        answer += port.read(max(1, port.in_waiting))
    return answer
