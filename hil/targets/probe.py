"""Flash route through a debug probe, with pyOCD in a separate process and a deadline for each stage.

The identity of the chip is checked before anything is erased.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.targets import connect_options
from hil.targets.core_sample import Sample
from hil.targets.probe_process import Ended, Failed, ProbeProcess, RoundTrips, TimedOut

LOG = logging.getLogger(__name__)
DEADLINES_S = {
    "connect": 15.0,
    "identify": 5.0,
    "flash": 120.0,
    "reset": 5.0,
    "read": 10.0,
    "sample": 10.0,
    "close": 3.0,
}
VIRTUAL = "trainrig"  # vendor name of a virtual board's probe
SLOWEST_READ = 20_000  # bytes a second of a CMSIS-DAP probe on HID; extends the deadline of long reads
SAMPLES, SAMPLES_APART_S = 5, 0.05  # enough to distinguish a single instruction from a loop
STACK_BYTES = 1024  # about ten frames of this firmware


class Probe:
    """A debug probe that is connected to the board's chip.

    Args:
        board: catalogue entry.
        unique_id: the full id of the probe; a probe is never chosen by its position.
        pack: CMSIS pack that describes the chip, used instead of pyOCD's own target.
        process: process that runs pyOCD; by default a new one, which `close` ends.

    Attributes:
        virtual: whether the probe reports that it belongs to a virtual board, regardless of rig.toml.

    Raises:
        Blocked: the probe is not attached, cannot connect, or the chip is not the board's.
    """

    name = "pyocd"

    def __init__(
        self, board: Board, unique_id: str, pack: str | None = None, process: ProbeProcess | None = None
    ) -> None:
        self._id, self._board, self._pack = unique_id, board, pack
        self._process, self._own = process or ProbeProcess(), process is None
        try:
            self._connect()
            if board.identity is not None:
                self._identify(self._ask("identify", "identify the chip", "word", board.identity.address))
        except BaseException:
            self.close()
            raise

    def _connect(self, words: str = "connect", running: bool = False) -> None:
        """Connect to the chip; with `running`, without halting it."""
        board = self._board
        target = board.pyocd_target, connect_options.options(board), self._pack, board.chip
        try:
            maker = self._ask("connect", words, "connect", self._id, *target, running)
        except ChipUnreachable:
            word = None
            if board.identity is not None and not running:
                with contextlib.suppress(Blocked):
                    word = self._ask("identify", "identify the chip", "look", self._id, board.identity.address)
            if word is not None:
                self._identify(word)  # a wrong chip is the better reason
            raise
        self.virtual: bool = maker == VIRTUAL

    def _identify(self, word: int) -> None:
        """Check the word in the identity register of the board's chip."""
        identity = self._board.identity
        if identity is not None and word & identity.mask != identity.value:
            raise Blocked(
                "identity",
                f"the chip at the probe {self._id} has 0x{word & identity.mask:X} in {identity.register}, "
                f"but the {self._board.chip} of {self._board.name} has 0x{identity.value:X}: "
                "correct the board or the probe in rig.toml; nothing was erased.",
            )

    def _ask(self, stage: str, words: str, request: str, *arguments: Any, deadline_s: float | None = None) -> Any:
        """Send a request to the probe process and return its result, within the deadline of its stage."""
        deadline_s = deadline_s or DEADLINES_S[stage]
        try:
            return self._process.ask(deadline_s, request, *arguments)
        except TimedOut as late:
            raise Blocked(
                stage,
                f"the probe {self._id} did not {words} within {deadline_s:.0f} s{_of_network(late.trips)} "
                f"and its process was killed: {_cure(self._id)}.",
            ) from None
        except Ended as ended:
            raise Blocked(
                stage,
                f"the process of the probe {self._id} ended during a request ({ended}): "
                "run again, and report it if it happens again.",
            ) from None
        except Failed as failed:
            raise ChipUnreachable(
                stage,
                f"the probe {self._id} failed to {words} ({failed}): "
                "check its cable, the board's power and that no other program uses it.",
            ) from None

    def program(self, image: Image, always: bool = False) -> bool:
        """Program the image unless the flash holds it (`always`: even then), and verify it; return whether it did.

        If something other than the probe resets the board meanwhile, the image is programmed once more.

        Raises Blocked if the probe failed, the flash differs afterwards, or the board was reset both times.
        """
        outcome = self._program(image, always)
        again = outcome == "reset"
        if again:
            LOG.warning(
                "something other than the probe reset the board while its flash was written: it is written again."
            )
            self._connect()
            outcome = self._program(image, always)
        if outcome == "reset":
            raise Blocked(
                "flash",
                "the board was reset twice while its flash was written: "
                "check its supply, its reset line and its watchdog.",
            )
        if outcome == "differs":
            raise Blocked(
                "flash",
                f"the flash that the probe {self._id} reads back differs from {image.path.name}: run again; "
                "if the difference remains, the flash is worn or locked.",
            )
        return again or outcome == "programmed"

    def _program(self, image: Image, always: bool) -> str:
        return str(self._ask("flash", "flash the image", "program", image.flashed, always))

    def start(self) -> None:
        """Reset the board and let it run."""
        self._ask("reset", "reset the board", "reset")

    def read(self, address: int, size: int) -> bytes:
        """Read `size` bytes of the board's memory while it runs."""
        deadline_s = DEADLINES_S["read"] + size / SLOWEST_READ
        data: bytes = self._ask(
            "read", f"read {size} bytes at 0x{address:08X}", "read", address, size, deadline_s=deadline_s
        )
        return data

    def sample(self) -> list[Sample]:
        """Return several samples of the core, halted for a moment each; only the last sample contains stack memory."""
        samples: list[Sample] = self._ask("sample", "halt the core", "sample", SAMPLES, SAMPLES_APART_S, STACK_BYTES)
        return samples

    def detach(self) -> None:
        """Disconnect from the chip until `attach`; the board keeps running, with its debug logic off."""
        self._ask("close", "disconnect", "rest")

    def attach(self) -> None:
        """Connect to the chip again without halting it."""
        self._connect("connect again", running=True)

    def close(self) -> None:
        """Release the probe; the board keeps running."""
        if self._process.pid is not None:
            with contextlib.suppress(Blocked):
                self._ask("close", "disconnect", "close")
        if self._own:
            self._process.stop()


class ChipUnreachable(Blocked):
    """pyOCD reported a failure: the probe still answers, but the chip may not."""


def _of_network(trips: RoundTrips) -> str:
    """Return what a request was given beside its deadline, for the path to a remote probe."""
    if not trips.number:
        return ""
    return f" and the time of {trips.number:,} round trips of {trips.each_s * 1000:.3g} ms"


def _cure(unique_id: str) -> str:
    if unique_id.startswith("remote:"):
        return "look at the log of `pyocd server` there, or program the board once from a computer beside it"
    return "unplug the probe, plug it in again, and run again"
