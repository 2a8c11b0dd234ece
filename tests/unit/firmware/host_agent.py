"""The agent's code, built for this computer under sanitizers: in a process of its own that is given bytes."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.built_once import built_once
from tests.host_make import make_host

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware"
ENGINE_ROOMS = ("arith", "kernels", "graph", "engine", "formats", "methods")
OBJECTS = {
    ("engine", "kernels"),
    ("common", "trainer"),
    *(("common", room) for room in ENGINE_ROOMS),
}  # of its Makefile
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SANITIZED = ["-std=c11", "-ffp-contract=off", "-O1", "-g1", "-Wall", "-Wextra", "-Werror", *SANITIZERS]


def tool(name: str) -> str:
    """Return the path of a tool; where it is missing the test is skipped, or fails if CI is set."""
    path = shutil.which(name)
    if path is None:
        reason = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


FLASH_BASE, FLASH_SIZE = 0x0800_0000, 1 << 16  # of harness_agent.c


class Agent:
    """The agent's code in a process of its own: give it bytes, get what it sent and did."""

    def __init__(self, program: Path, flash: Path | None = None, slots: Path | None = None, cut: int = 0) -> None:
        """Start it; `flash`: a file whose bytes lie in its flash, at FLASH_BASE; `slots`: one that keeps its flash for checkpoints, of which the operation
        number `cut` is left half done, and the process with it."""
        given = {} if flash is None else {"HARNESS_FLASH": str(flash)}
        given |= {} if slots is None else {"HARNESS_SLOTS": str(slots)}
        given |= {"HARNESS_CUT": str(cut)} if cut else {}
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | given
        )

    def receive(self, data: bytes) -> tuple[bytes, list[str]]:
        """Pass received bytes (at most 65535); return the bytes sent and the events, one string each."""
        self._process.stdin.write(struct.pack("<H", len(data)) + data)
        self._process.stdin.flush()
        sent = self._block()
        return sent, self._block().decode().splitlines()

    def _block(self) -> bytes:
        head = self._process.stdout.read(4)
        if len(head) < 4:
            raise AssertionError(self._process.stderr.read().decode())
        return self._process.stdout.read(struct.unpack("<I", head)[0])

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process; a leak or a late sanitizer report is an error."""
        _, errors = self._process.communicate()
        assert self._process.returncode == 0, errors.decode()


def build(folder: Path, name: str, sources: list[Path], *options: str) -> Path:
    """Build the harness with the given sources under address and undefined-behaviour sanitizers; `options`: more of the compiler's."""
    program = folder / name
    here = Path(__file__).parent
    common = [here / "harness.c", here / f"harness_{name}.c", FIRMWARE / "agent/link.c", FIRMWARE / "agent/frame.c"]
    command = [tool("gcc"), *SANITIZED, *options, f"-I{FIRMWARE}", f"-I{here}", *common, *sources, "-o", program]
    subprocess.run(command, check=True)
    return program


def engine_sources() -> list[Path]:
    """Return the files of the whole agent and the training engine, but for the link and the port."""
    engine = [path for room in ENGINE_ROOMS for path in sorted((FIRMWARE / room).glob("*.c"))]
    trainer = [path for path in sorted((FIRMWARE / "trainer").glob("*.c")) if path.name != "main.c"]
    return [FIRMWARE / "agent/agent.c", FIRMWARE / "agent/optional_port.c", *trainer, *engine]


def agent_program(factory: pytest.TempPathFactory) -> Path:
    """Return the harness with the whole agent and the training engine, built once for all workers.

    The objects of the engine are those of its own tests, which are compiled with the same sanitizers.
    """
    engine, _ = make_host(factory, "objects")
    objects = [path for path in sorted(engine.rglob("*.o")) if path.relative_to(engine).parts[:2] in OBJECTS]
    sources = [
        path for path in engine_sources() if path.parent.name in ("agent", "trainer") and path.name != "registry.c"
    ]
    return built_once(factory, "agent-program", lambda folder: build(folder, "agent", [*sources, *objects]))
