"""The fuzzer of the agent's side: its code, the training engine behind it, built for this computer under sanitizers, gets sessions of mutated requests.

Every session is one that makes sense, with a network in either format, in which requests, their order, the network file and the bytes on the line are
changed at random. The agent must answer every undamaged frame as docs/link.md says, in a shape that messages.toml describes, and never make a
sanitizer speak, hang or end.
"""

from __future__ import annotations

import random
import re
import struct
import subprocess
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.unit.firmware.host_agent import Agent, build, engine_sources, tool

from .sessions import Broken, Session, bfp8_trial, graph_like, tflite8_trial

HANGS_S = 90.0  # beyond the time that was given
SLOTS_SIZE = 1 << 13  # of the flash for checkpoints: two slots, which the trained tensors of both networks fit in
HEADER_WORDS, CRC_AT = 9, 32  # of a slot (docs/trials.md)


@dataclass
class Found:
    """What the fuzzer found: sessions, answers by request, and what broke, with the seed that breaks it again."""

    sessions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    coverage: str = ""

    def __str__(self) -> str:
        refused = sum(count for name, count in self.counts.items() if name.endswith("refused"))
        head = f"{self.sessions:,} sessions, {self.counts.total():,} answers, {refused:,} of them refusals; {len(self.wrong)} wrong"
        return "\n".join([head, *([self.coverage] if self.coverage else []), *self.wrong])


def fuzz_requests(
    folder: Path, seconds: float, seed: int, only: int | None = None, program: Path | None = None
) -> Found:
    """Run sessions until the time is over; one process of the agent has many of them.

    Args:
        folder: takes the program and its counts of coverage.
        seconds: how long, after the program was built.
        seed: of all that is drawn.
        only: the number of one process, which is run again.
        program: the agent under sanitizers, if it is built already: then no coverage is counted.
    """
    counted = program is None
    program = program or build(folder, "agent", engine_sources(), "--coverage")
    (folder / "flash.bin").write_bytes(bytes(64) + graph_like())
    found, until, number = Found(), time.monotonic() + seconds, only or 0
    while (only is None and time.monotonic() < until) or (only is not None and not found.sessions):
        one(program, folder / "flash.bin", seed * 1_000_003 + number, number, found, until)
        number += 1
    found.coverage = coverage(folder) if counted else ""
    return found


def one(program: Path, flash: Path, seed: int, number: int, found: Found, until: float) -> None:
    """Run some sessions with a board of their own, which is switched off and on now and then: its flash for checkpoints stays, more or less."""
    rng, slots = random.Random(seed), flash.with_name("slots.bin")
    slots.write_bytes(b"\xff" * SLOTS_SIZE)
    for _ in range(rng.randrange(1, 4)):
        if time.monotonic() < until:
            slots.write_bytes(worn(rng, slots.read_bytes()))
            powered(Agent(program, flash, slots), rng, number, found, until)


def powered(agent: Agent, rng: random.Random, number: int, found: Found, until: float) -> None:
    """Run some sessions with an agent, and end it."""
    hangs = threading.Timer(HANGS_S + max(0.0, until - time.monotonic()), agent.kill)
    hangs.start()
    session = Session(agent, rng, found.counts)
    try:
        for _ in range(rng.randrange(1, 12)):
            if time.monotonic() > until:
                break
            session.begin()
            rng.choice([bfp8_trial, tflite8_trial])(session)
            found.sessions += 1
        agent.close()
    except (Broken, AssertionError, OSError, struct.error) as error:
        agent.kill()
        found.sessions += 1
        found.wrong.append(f"process {number}: {type(error).__name__}: {str(error)[:2000]}\n  after {session.log[-3:]}")
    finally:
        hangs.cancel()


def worn(rng: random.Random, data: bytes) -> bytes:
    """Return the flash for checkpoints as it was when the supply went off, sometimes with bytes changed, or with a header that says something else."""
    flash = bytearray(data)
    for _ in range(rng.choice([0, 0, 1, 40])):
        flash[rng.randrange(len(flash))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.4:
        at = rng.randrange(2) * len(flash) // 2
        word = at + 4 * rng.randrange(HEADER_WORDS - 1)
        flash[word : word + 4] = struct.pack(
            "<I", rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, len(flash) // 2, rng.getrandbits(32)])
        )
        flash[at + CRC_AT : at + CRC_AT + 4] = struct.pack("<I", zlib.crc32(flash[at : at + CRC_AT]))
    return bytes(flash)


def coverage(folder: Path) -> str:
    """Return the share of the firmware's lines and branches that were executed, by gcov."""
    notes = sorted(folder.glob("*.gcno"))
    with tempfile.TemporaryDirectory() as out:
        told = subprocess.run(
            [tool("gcov"), "-b", *map(str, notes)], cwd=out, capture_output=True, text=True, check=False
        ).stdout
    totals = {kind: [0.0, 0] for kind in ("Lines executed", "Branches executed", "Taken at least once")}
    for source, counts in _by_file(told):
        if "/firmware/" in source and "/tests/" not in source and source.endswith(".c"):
            for kind, share, of in re.findall(r"([A-Z][a-z ]+):([\d.]+)% of (\d+)", counts):
                if kind in totals:
                    totals[kind][0] += float(share) / 100 * int(of)
                    totals[kind][1] += int(of)
    return "; ".join(f"{kind.lower()}: {done / of:.1%} of {of:,}" for kind, (done, of) in totals.items() if of)


def _by_file(told: str) -> Iterator[tuple[str, str]]:
    parts = re.split(r"^File '(.+)'$", told, flags=re.MULTILINE)
    yield from zip(parts[1::2], parts[2::2], strict=True)
