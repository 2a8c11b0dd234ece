"""Flash route through a debug probe, with pyOCD in a separate process and a deadline for each stage.

The identity of the chip is checked before anything is erased.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hil.boards import Board
from hil.boards.catalogue import IdentityRegister
from hil.endpoints import Verify
from hil.errors import Blocked, DeviceFault, RigError
from hil.images import Image
from hil.process_time import stopped_sentence
from hil.targets import connect_options
from hil.targets.chip_found import ChipFound, with_identity
from hil.targets.core_sample import CallFrame, Sample
from hil.targets.flash_route import Flashing
from hil.targets.probe_about import ProbeAbout
from hil.targets.probe_process import MOST_DEADLINES, Failed, ProbeEnded, ProbeProcess, RoundTrips, TimedOut
from hil.threads import ThreadPool

LOG = logging.getLogger(__name__)
DEADLINES_S = {
    "connect": 15.0,
    "identify": 5.0,
    "flash": 120.0,
    "reset": 5.0,
    "read": 10.0,
    "write": 10.0,
    "halt": 5.0,
    "sample": 10.0,
    "close": 3.0,
}
POWER_DOWN_S = 10.0  # pyOCD waits 5 s for each of two acknowledgements of the debug port
VIRTUAL = "trainrig"  # vendor name of a virtual board's probe
CURE = "check its cable, the board's power and that no other program uses it."
LOOK_THERE = "look at bench.log in the folder of the trial, and run again."
SLOWEST_READ = 20_000  # bytes a second of a CMSIS-DAP probe on HID; extends the deadline of long reads
SLOWEST_CALL_S = 60.0  # longest time of a watched call
Calls = Callable[[int, float], list[tuple[int, int, int]]]
SAMPLES, SAMPLES_APART_S = 5, 0.05  # enough to distinguish a single instruction from a loop
DHCSR, C_DEBUGEN = 0xE000EDF0, 1
STACK_BYTES = 1024  # about ten frames of this firmware


@dataclass(frozen=True)
class RamFill:
    """What is written into RAM before a program begins.

    Attributes:
        entry: address of the program's first instruction.
        areas: (address, bytes); both are multiples of 4.
    """

    entry: int
    areas: tuple[tuple[int, bytes], ...]


class Probe:
    """A debug probe that is connected to the board's chip.

    Args:
        board: catalogue entry.
        unique_id: the full id of the probe; a probe is never chosen by its position.
        pack: CMSIS pack that describes the chip, used instead of pyOCD's own target.
        process: process that runs pyOCD; by default a new one, which `close` ends.
        stand_in: process of the stand-in that the probe belongs to; None for hardware.
        running: connect without halting or resetting the core.

    Attributes:
        unique_id: the full id of the probe.
        no_counter: None, as it can read a cycle counter (`CoreProbe`).
        virtual: whether the probe reports that it belongs to a virtual board, regardless of rig.toml.

    Raises:
        Blocked: the probe is not attached, cannot connect, or the chip is not the board's.
    """

    name = "pyocd"
    no_counter: str | None = None
    verified: Verify = "probe"  # `program` reads back what it has written

    def __init__(
        self,
        board: Board,
        unique_id: str,
        pack: str | None = None,
        process: ProbeProcess | None = None,
        stand_in: int | None = None,
        running: bool = False,
    ) -> None:
        self.unique_id, self._board, self._pack, self._stand_in = unique_id, board, pack, stand_in
        self._process, self._own = process or ProbeProcess(), process is None
        self._debugged = False  # whether the core was halted in `start`
        self._lost_power = False  # since `start`, as `attach_after_power_loss` saw
        try:
            if running:
                self._open("connect again", running=True)
            else:
                self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        """Connect to the chip and check that it is the board's, before anything is erased."""
        identity = self._board.identity
        try:
            self._open("connect")
            word = self._ask("identify", "identify the chip", "word", identity.address) if identity is not None else 0
        except ChipUnreachable as error:
            found = self._survey()
            if found is None or (identity is not None and found.is_chip_of(identity)):
                raise
            raise self._other_chip(found, error) from None
        if identity is not None and word & identity.mask != identity.value:
            raise self._other_chip(self._survey(), self._mismatch(identity, word))

    def _mismatch(self, identity: IdentityRegister, word: int) -> Blocked:
        return Blocked(
            "identity",
            f"the chip at the probe {self.unique_id} has 0x{word & identity.mask:X} in {identity.register}, "
            f"but the {self._board.chip} of {self._board.name} has 0x{identity.value:X}",
        )

    def _open(self, words: str, running: bool = False) -> None:
        """Open the session; with `running`, without halting the chip."""
        board = self._board
        target = board.pyocd_target, connect_options.options(board), self._pack, board.chip
        self.virtual: bool = self._ask("connect", words, "connect", self.unique_id, *target, running) == VIRTUAL

    def _survey(self) -> ChipFound | None:
        """Return which chip is there; None if that cannot be said."""
        known = {board.name: board for board in (*with_identity(), self._board)}.values()
        targets = sorted({str(board.pyocd_target) for board in known})
        addresses = sorted({board.identity.address for board in known if board.identity is not None})
        what, deadline_s = "identify the chip", DEADLINES_S["connect"]  # for each connection that is tried
        try:
            for target in self._ask("identify", what, "survey_targets", targets, deadline_s=deadline_s):
                found: ChipFound | None = self._ask(
                    "identify", what, "survey", self.unique_id, target, addresses, deadline_s=deadline_s
                )
                if found is not None:
                    return found
        except Blocked:
            return None
        return None

    def _other_chip(self, found: ChipFound | None, error: Blocked) -> Blocked:
        """Return the error of a chip that is not the board's, or that cannot be read although its debug port answers.

        Args:
            found: what was read of the chip; None if nothing.
            error: of the connection, or of the identity register.
        """
        board, identity = self._board, self._board.identity
        cure = "correct the board or the probe in rig.toml; nothing was erased."
        others = [other for other in (found.boards() if found is not None else []) if other.name != board.name]
        if found is not None and others:
            names = " or ".join(f"{other.name} ({other.chip})" for other in others)
            reason = f"the chip at the probe {self.unique_id} is that of {names}: {found}; rig.toml names {board.name}"
            return Blocked("identity", f"{reason} ({board.chip}): {cure}")
        if isinstance(error, ChipUnreachable) and found is not None:
            if identity is None or identity.address not in found.words:
                return Blocked(
                    error.stage,
                    f"{error.said}, although a chip answers ({found}): check that rig.toml names the right board, that "
                    "its debug port is not locked, and that no other program uses the probe.",
                )
            error = self._mismatch(identity, found.words[identity.address])
        there = f" ({found})" if found is not None else ""
        return Blocked("identity", f"{error.reason}{there}: {cure}")

    def _ask(self, stage: str, words: str, request: str, *arguments: Any, deadline_s: float | None = None) -> Any:
        """Send a request to the probe process and return its result, within the deadline of its stage."""
        deadline_s = deadline_s or DEADLINES_S[stage]
        try:
            return self._process.ask(deadline_s, request, *arguments, stand_in=self._stand_in)
        except TimedOut as late:
            raise Blocked(stage, self._late(late, words, deadline_s)) from None
        except ProbeEnded as ended:
            raise Blocked(
                stage,
                f"the process of the probe {self.unique_id} ended during a request ({ended}): "
                "run again, and report it if it happens again.",
            ) from None
        except Failed as failed:
            cure = CURE if self._stand_in is None else LOOK_THERE
            raise ChipUnreachable(stage, f"the probe {self.unique_id} failed to {words} ({failed})", cure) from None

    def _late(self, late: TimedOut, words: str, deadline_s: float) -> str:
        """Return the sentence about a request that was not answered."""
        if late.stopped is not None:
            return stopped_sentence(f"the stand-in for {self._board.name}", late.stopped)
        if late.own_stopped is not None:
            who = f"the process of the probe {self.unique_id} (number {late.own_stopped})"
            return f"{who} was stopped by a signal: run again."
        if late.went_on:
            return (
                f"the probe {self.unique_id} answered {late.trips.number:,} times, and did not {words} within "
                f"{MOST_DEADLINES * deadline_s:.0f} s: run again, and report it if it happens again."
            )
        if self._stand_in is not None:
            return (
                f"the probe {self.unique_id} of the stand-in for {self._board.name} did not {words}: it made no "
                f"progress for {deadline_s:.0f} s in which its processes could run: {LOOK_THERE}"
            )
        return (
            f"the probe {self.unique_id} did not {words} within {deadline_s:.0f} s{_after(late.trips)}, "
            f"and its process was killed: {_cure(self.unique_id)}."
        )

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
                f"the flash that the probe {self.unique_id} reads back differs from {image.path.name}: run again; "
                "if the difference remains, the flash is worn or locked.",
            )
        return again or outcome == "programmed"

    def _program(self, image: Image, always: bool) -> str:
        return str(self._ask("flash", "flash the image", "program", image.flashed, always))

    def start(self, fill: RamFill | None = None) -> bool:
        """Reset the board and let it run; return whether its RAM was filled before the program began."""
        if fill is None:
            self._ask("reset", "reset the board", "reset")
            return False
        writes = [(address, data, self._gate(address)) for address, data in fill.areas]
        deadline_s = DEADLINES_S["reset"] + sum(len(data) for _, data in fill.areas) / SLOWEST_READ
        filled = bool(self._ask("reset", "reset the board", "start_with", fill.entry, writes, deadline_s=deadline_s))
        self._debugged, self._lost_power = True, False  # the probe had halted the core
        return filled

    def has_lost_power(self) -> bool:
        """Return whether the chip was without power since `start` filled its RAM.

        Only a power-on reset clears the bit by which a probe switches halting debug on (DHCSR.C_DEBUGEN, ARM DDI
        0403E.e, C1.6.2; ARM DDI 0419E, C1.6.3).
        """
        return self._lost_power or (self._debugged and not self._debug_is_on())

    def _debug_is_on(self) -> bool:
        return bool(self._ask("reset", "read DHCSR", "word", DHCSR) & C_DEBUGEN)

    def _gate(self, address: int) -> tuple[int, int] | None:
        """Return address and bits of the clock gate of the memory at an address; None if it has none."""
        for memory in self._board.memory:
            gate = self._board.memory_gates.get(memory.name)
            if address in memory and gate is not None:
                return gate.address, gate.bits
        return None

    def read_ram(self, address: int, size: int) -> bytes | None:
        """Read RAM that the program may not have switched on; None if the chip does not answer there."""
        deadline_s = DEADLINES_S["read"] + size / SLOWEST_READ
        words = f"read {size} bytes at 0x{address:08X}"
        data: bytes | None = self._ask(
            "read", words, "read_clocked", address, size, self._gate(address), deadline_s=deadline_s
        )
        return data

    def read(self, address: int, size: int) -> bytes:
        """Read `size` bytes of the board's memory while it runs."""
        deadline_s = DEADLINES_S["read"] + size / SLOWEST_READ
        data: bytes = self._ask(
            "read", f"read {size} bytes at 0x{address:08X}", "read", address, size, deadline_s=deadline_s
        )
        return data

    def write_ram(self, address: int, data: bytes) -> bool:
        """Write memory while the board runs; return False if the chip does not answer there.

        A word or a half-word on its boundary is one access, as registers of peripherals need it.
        """
        deadline_s = DEADLINES_S["read"] + len(data) / SLOWEST_READ
        words = f"write {len(data)} bytes at 0x{address:08X}"
        written = self._ask("write", words, "write_clocked", address, data, self._gate(address), deadline_s=deadline_s)
        return bool(written)

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        self._ask("halt", "halt the core", "halt")

    def resume(self) -> None:
        """Let the halted core run."""
        self._ask("halt", "let the core run", "resume")

    def halt_at_reset(self) -> None:
        """Reset the board and halt its core before it runs what is in the flash."""
        self._ask("reset", "reset the board and halt its core", "halt_at_reset")

    def begin(self, registers: Mapping[str, int]) -> None:
        """Set registers of the halted core, by pyOCD's names, and let it run."""
        self._ask("halt", "set registers of the core", "begin", dict(registers))

    def sector(self, address: int) -> tuple[int, int] | None:
        """Return start and size of the sector of flash at an address; None if there is none."""
        found: tuple[int, int] | None = self._ask("read", "look up a sector", "sector", address)
        return found

    def program_bytes(self, address: int, data: bytes) -> None:
        """Erase the sectors of the flash at an address, program bytes there, and read them back.

        The core is reset and stands still afterwards.

        Raises Blocked if the probe failed; DeviceFault if the flash has other bytes afterwards.
        """
        outcome = self._ask("flash", f"program {len(data)} bytes", "program", [(address, data)], True)
        if outcome != "programmed":
            why = "something reset the board meanwhile" if outcome == "reset" else "it reads back other bytes"
            raise DeviceFault(f"the flash at 0x{address:08X} did not take {len(data):,} bytes: {why}.")

    def is_halted(self) -> bool:
        """Return whether the core is halted by the probe."""
        return bool(self._ask("halt", "ask whether the core is halted", "is_halted"))

    def look(self) -> Sample:
        """Return a sample of the core with memory of its stack. A running core is halted for a moment."""
        samples: list[Sample] = self._ask("sample", "halt the core", "sample", 1, 0.0, STACK_BYTES)
        return samples[0]

    @contextlib.contextmanager
    def stopped_at_returns(
        self, functions: Sequence[int], counter: int | None
    ) -> Iterator[Callable[[float], CallFrame | None]]:
        """Stop the core at the returns of these functions meanwhile.

        Yields a function: seconds to wait -> the next call, with the core halted at its return; None without one. It
        lets the core run on from the last return.
        """
        self._ask("sample", "set breakpoints", "watch_calls", list(functions), counter)
        try:
            yield lambda wait_s: self._ask(
                "sample", "stop the core at a return", "next_return", wait_s,
                deadline_s=DEADLINES_S["sample"] + 2 * wait_s,
            )  # fmt: skip
        finally:
            self._ask("sample", "remove breakpoints", "watch_no_calls")

    @contextlib.contextmanager
    def watched(self, functions: Sequence[int], counter: int) -> Iterator[Calls]:
        """Stop the core at every call of these functions meanwhile, and at its return.

        Yields a function: (most calls, seconds without one) -> the third argument of each call, and the word at address
        `counter` before and after it.
        """
        self._ask("sample", "set breakpoints", "watch_calls", list(functions), counter)
        try:
            yield lambda most, wait_s: self._ask(
                "sample", "stop the core at a call", "calls", most, wait_s,
                deadline_s=DEADLINES_S["sample"] + most * (wait_s + SLOWEST_CALL_S),
            )  # fmt: skip
        finally:
            self._ask("sample", "remove breakpoints", "watch_no_calls")

    def sample(self) -> list[Sample]:
        """Return several samples of the core, halted for a moment each; only the last sample contains stack memory."""
        samples: list[Sample] = self._ask("sample", "halt the core", "sample", SAMPLES, SAMPLES_APART_S, STACK_BYTES)
        return samples

    def detach(self) -> bool:
        """Disconnect from the chip until `attach`; the board keeps running, with its debug logic off.

        Returns:
            Whether the chip's debug port has given up its power.
        """
        return bool(self._ask("close", "disconnect", "rest", deadline_s=DEADLINES_S["close"] + POWER_DOWN_S))

    def attach(self, wake: Callable[[], object] | None = None) -> None:
        """Connect to the chip again without halting it.

        Args:
            wake: called again and again meanwhile, so that the core does not sleep: the memory of some chips cannot be
                read then. It is not called again after it has raised RigError.
        """
        if wake is None:
            self._open("connect again", running=True)
            return
        with ThreadPool(max_workers=1) as worker:
            opening = worker.submit(self._open, "connect again", running=True)
            with contextlib.suppress(RigError):
                while not opening.done():
                    wake()
        opening.result()

    def attach_after_power_loss(self, wake: Callable[[], object]) -> None:
        """Connect again to a chip that answers no more while it sleeps: without its supply it has lost DBG_SLEEP.

        Only a power-on reset clears DBGMCU_CR (RM0455 and RM0385, DBGMCU). `wake` is as in `attach`.
        """
        self._lost_power = self._debugged
        self.attach(wake)

    def close(self) -> None:
        """Release the probe; the board keeps running."""
        if self._process.pid is not None:
            with contextlib.suppress(Blocked):
                self._ask("close", "disconnect", "close")
        if self._own:
            self._process.stop()


def about_probe(process: ProbeProcess, unique_id: str, stand_in: int | None = None) -> ProbeAbout:
    """Return what a probe says of itself. The chip is left alone. Raises Blocked if it is not attached, or failed."""
    try:
        found: ProbeAbout = process.ask(DEADLINES_S["connect"], "about", unique_id, stand_in=stand_in)
    except (Failed, ProbeEnded, TimedOut) as error:
        why = f" ({error})" if str(error) else ""
        raise Blocked("probe", f"the probe {unique_id} does not open{why}: {CURE}") from None
    return found


class ChipUnreachable(Blocked):
    """pyOCD reported a failure: the probe still answers, but the chip may not. `said` is the reason without a cure."""

    def __init__(self, stage: str, said: str, cure: str = CURE) -> None:
        super().__init__(stage, f"{said}: {cure}")
        self.said, self.cure = said, cure

    def __reduce__(self) -> tuple[Any, ...]:
        """Give pickle all arguments."""
        return type(self), (self.stage, self.said, self.cure)


def _after(trips: RoundTrips) -> str:
    """Return what a remote probe had answered before."""
    if not trips.number:
        return ""
    return f" of its last answer, after {trips.number:,} round trips of {trips.each_s * 1000:.3g} ms or more"


def _cure(unique_id: str) -> str:
    if unique_id.startswith("remote:"):
        return "look at the log of `pyocd server` there, or program the board once from a computer beside it"
    return "unplug the probe, plug it in again, and run again"


def through_probe(flashing: Flashing) -> Probe | None:
    """Return the flash route `pyocd`, if the board is attached through a probe. Raises Blocked as `Probe`."""
    ends = flashing.endpoints
    if ends.probe is None:
        return None
    return Probe(flashing.board, ends.probe, ends.pack, flashing.process, ends.process)
