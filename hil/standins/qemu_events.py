"""The events of QEMU, from a monitor of their own, whose two pipes keep them until somebody reads."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

NAME = "events"  # of the pipes in the folder of the stand-in, `.in` and `.out`
BLOCK = 1 << 16  # bytes; as many as a pipe holds, of which an event takes about 130


class QemuEvents:
    """The events of one machine (QEMU Machine Protocol Specification, 2.2 and 2.5).

    Args:
        folder: for the pipes.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._rest = folder / NAME, b""
        paths = [self._path.with_suffix(end) for end in (".in", ".out")]
        for path in paths:
            os.mkfifo(path)
        self._files = [os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in paths]
        os.write(self._files[0], json.dumps({"execute": "qmp_capabilities"}).encode() + b"\n")

    @property
    def arguments(self) -> list[str]:
        """The arguments of QEMU."""
        return ["-chardev", f"pipe,id={NAME},path={self._path}", "-mon", f"chardev={NAME},mode=control"]

    def own_resets(self) -> int:
        """Return how often the program, or its watchdog, has reset the machine since the last call.

        QEMU says of a reset whether its guest asked for it (QAPI schema, event RESET); one of its monitor is none.
        """
        data = self._rest
        with contextlib.suppress(BlockingIOError, IndexError):
            while came := os.read(self._files[1], BLOCK):
                data += came
        *lines, self._rest = data.split(b"\n")
        found = [json.loads(line) for line in lines if line.strip()]
        return sum(each.get("event") == "RESET" and bool(each.get("data", {}).get("guest")) for each in found)

    def close(self) -> None:
        """Close the pipes."""
        while self._files:
            os.close(self._files.pop())
