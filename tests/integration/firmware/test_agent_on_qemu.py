"""The committed images on QEMU: they start, say who they are, answer, report their memory, and train as this computer does."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_client import Client
from agent_link_model import IDS, LONG, MESSAGES, Frame, decode, hello
from host_agent import FIRMWARE, Agent, tool

from hil.link.messages import decode as decode_body

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NONCE = 0x5EED0042
PREBUILT = FIRMWARE / "prebuilt"
DEADLINE = 10.0  # seconds of wall time; QEMU answers within milliseconds


class Machine:
    """QEMU with its serial line on standard input and output."""

    def __init__(self, image: str) -> None:
        self.image = image
        self.process = subprocess.Popen(
            [
                tool("qemu-system-arm"), "-M", image, "-kernel", str(PREBUILT / f"{image}.elf"),
                "-icount", "shift=5", "-display", "none", "-monitor", "none", "-chardev", "stdio,id=line,signal=off",
                "-serial", "chardev:line",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._seen = b""

    def ask(self, frame: Frame) -> Frame:
        """Send one frame and return the next one that comes back."""
        self.send(frame.encoded())
        return self.answer()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self, data: bytes) -> tuple[bytes, list[str]]:
        """Send one frame and return all that comes back, as conftest.Agent does."""
        self.send(data)
        answers = 2 if decode(data[:-1]).type in LONG else 1
        return b"".join(self.answer().encoded() for _ in range(answers)), []

    def answer(self) -> Frame:
        """Return the next frame that comes back."""
        end = time.monotonic() + DEADLINE
        while b"\0" not in self._seen:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no answer within {DEADLINE} s"
            data = os.read(self.process.stdout.fileno(), 4096)
            assert data, self.process.stderr.read().decode()
            self._seen += data
        part, self._seen = self._seen.split(b"\0", 1)
        return decode(part)


@pytest.fixture(scope="module", params=["mps2-an500", "mps2-an386", "mps2-an385", "mps2-an505"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Return a running machine: code for a Cortex-M7, a Cortex-M4, a Cortex-M0+, and a Cortex-M33."""
    running = Machine(request.param)
    yield running
    running.process.kill()
    running.process.communicate()


def test_hello_reports_the_image_of_the_manifest(machine: Machine) -> None:
    entry = tomllib.loads((PREBUILT / "MANIFEST.toml").read_text())[machine.image]
    reply = machine.ask(hello(NONCE))
    said = decode_body(MESSAGES.requests["hello"].reply, reply.body)
    assert said["board"].rstrip(b"\0") == machine.image.encode()
    assert [said[f"image_{name}"] for name in ("base", "size", "digest")] == [
        entry[f"image_{name}"] for name in ("base", "size", "digest")
    ]
    assert said["counter"] == MESSAGES.enums["counter"]["systick"]
    assert said["rx_window"] >= 3 * MESSAGES.max_body


def test_a_session_answers_in_order(machine: Machine) -> None:
    machine.ask(hello(NONCE + 1))
    session = (NONCE + 1) & 0xFF
    body = bytes(range(256)) * 4
    assert machine.ask(Frame(IDS["echo"], session, 1, body)) == Frame(IDS["echo"] | 0x80, session, 1, body)
    memory = machine.ask(Frame(IDS["memory"], session, 2))
    figures = decode_body(MESSAGES.requests["memory"].reply, memory.body)
    assert figures["arena_base"] == (0x3802_0000 if machine.image == "mps2-an505" else 0x2002_0000)
    assert 0 < figures["stack_peak"] < figures["stack_size"]
    early = machine.ask(Frame(IDS["load_end"], session, 3))
    assert early.type == IDS["error"]
    unknown = machine.ask(Frame(0x3F, session, 4))
    assert unknown.body[0] == 2, "unknown_request"
    long = machine.ask(Frame(IDS["memory"], session, 5, b"x"))
    assert long.body[0] == 1, "bad_length"


def test_a_full_window_is_taken_in_one_go_and_the_rings_go_round(machine: Machine) -> None:
    reply = machine.ask(hello(NONCE + 2))
    window = decode_body(MESSAGES.requests["hello"].reply, reply.body)["rx_window"]
    session = (NONCE + 2) & 0xFF
    seq, burst = 1, b""
    while len(burst + Frame(IDS["samples"], session, seq, bytes(787)).encoded()) <= window:
        burst += Frame(IDS["samples"], session, seq, bytes(787)).encoded()
        seq += 1
    machine.send(burst)
    answers = [machine.answer() for _ in range(1, seq)]
    assert [answer.seq for answer in answers] == list(range(1, seq))
    assert {answer.type for answer in answers} == {IDS["error"]}, "samples without a network are refused, one by one"
    for number in range(seq, seq + 10):
        body = bytes([number]) * 1024
        assert machine.ask(Frame(IDS["echo"], session, number, body)).body == body


def trial(client: Client, changes: dict[str, int]) -> list[dict[str, Any]]:
    """Train by step, in parts and in a run, evaluate and trace; return all replies but the cycles."""
    client.prepare(batch=3, slots=3, **changes)
    client.fill(0, 3)
    replies = [client.call("step", step=0, count=3)]
    for number in range(2 if changes["partition"] else 1):
        client.fill(0, 3)
        replies.append(client.call("part", step=1, **{"pass": number}, first=0, count=3))
    replies.append(client.call("step", step=1, count=3))
    client.fill(0, 3)
    replies.append(client.call("run", step=2, steps=5, count=3, idle_ms=3))
    client.fill(0, 3)
    replies.append(client.call("trace", slot=1, stage=0xFFFF, offset=0))
    replies.append(client.call("infer", count=3))
    assert not any("error" in reply for reply in replies)
    return [{key: value for key, value in reply.items() if not key.startswith("cycles")} for reply in replies]


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("loss", [0, 1])
@pytest.mark.parametrize("scope", [0, 1])
def test_an_image_trains_as_the_code_on_this_computer(
    machine: Machine, agent_program: Path, partition: int, loss: int, scope: int
) -> None:
    changes = {"partition": partition, "loss": loss, "scope": scope, "perturb": loss, "r_max": 31}
    agent = Agent(agent_program)
    expected = trial(Client(agent), changes)
    agent.close()
    machine.ask(hello(NONCE + 3))  # another session than the client's: each trial begins afresh
    assert trial(Client(machine), changes) == expected
