"""The GDB stub of an emulator in the place of a debug probe.

A machine stands still, and its virtual time with it, while a client is connected and has not let it run. So a
connection is made for each look and ended by it, and held only while the core is halted or has breakpoints.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from hil.boards import Board
from hil.errors import Blocked, RigError
from hil.targets.call_stops import CallStops
from hil.targets.core_sample import REGISTERS, CallFrame, Sample
from hil.targets.gdb_remote import ANSWER_S, GdbRemote, StubFailed, StubRefused
from hil.targets.probe import SAMPLES, SAMPLES_APART_S, STACK_BYTES, Calls, RamFill

PC, SP = 15, 13
EXCEPTION = 0x1FF  # IPSR in xPSR, ARM DDI 0403E.e, B1.4.2
SLEEPS = (0xBF20, 0xBF30)  # WFE and WFI of 16 bits, ARM DDI 0403E.e, A7.7
NO_COUNTER = {"qemu": "qemu models no DWT, whose counter always reads 0 there"}  # DWT_CYCCNT in QEMU 7.2
GONE_S = 1.0  # time for an emulator that is ending to end


class GdbMachine(Protocol):
    """The machine whose stub it is: `hil.rig.Taken`."""

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        """Reset the machine by its emulator and let it run; return False if nothing can."""

    def alive(self, within_s: float = 0.0) -> None:
        """Raise Blocked if its process is gone, or will be within so many seconds; DeviceFault if by a lockup."""

    def lost_s(self) -> float:
        """Return the seconds in which its process could not run."""


class GdbProbe:
    """Looks at the core of an emulated board through a GDB stub; the interface is that of `CoreProbe`.

    Nothing is connected before it is needed. Every method raises Blocked if the stub does not answer as it must.

    Args:
        board: catalogue entry.
        path: the Unix socket of the stub.
        emulator: its name in messages, such as `qemu`.
        machine: resets the machine and says whether it lives.
        answer_s: longest time of an answer of the stub.
    """

    def __init__(self, board: Board, path: str, emulator: str, machine: GdbMachine, answer_s: float = ANSWER_S) -> None:
        self.unique_id = f"GDB stub of {emulator}"
        self.no_counter = NO_COUNTER.get(emulator)
        self._board, self._path, self._machine, self._answer_s = board, path, machine, answer_s
        self._stub: GdbRemote | None = None  # while the core is halted, or has breakpoints
        self._breakpoints: set[int] = set()

    def _looked(self) -> float:
        self._machine.alive()
        return self._machine.lost_s()

    @contextlib.contextmanager
    def _checked(self, words: str) -> Iterator[None]:
        """Give a failure of the stub its sentence. The connection is then closed and not used again."""
        try:
            yield
        except StubFailed as error:
            self._drop()
            self._machine.alive(GONE_S)  # the emulator has ended: that is the reason
            raise Blocked(
                "probe", f"the {self.unique_id} of {self._board.name} failed to {words}: it {error}: run again."
            ) from error
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        stub, self._stub = self._stub, None
        self._breakpoints.clear()
        if stub is not None:
            stub.close()

    @contextlib.contextmanager
    def _stopped(self, words: str) -> Iterator[GdbRemote]:
        """Halt the core for a `with` block; a core that was halted stays so."""
        refused = None
        with self._checked(words):
            held, ran = self._stub is not None, self._stub is not None and self._stub.running
            stub = self._connected()
            stub.interrupt()
            try:
                yield stub
            except StubRefused as error:
                refused = error
            if not held:
                self._stub = None
                stub.detach()
            elif ran:
                stub.go()
        if refused is not None:
            raise Blocked("probe", f"the {self.unique_id} cannot {words}: it answers {refused}.") from refused

    def _connected(self) -> GdbRemote:
        if self._stub is None:
            self._stub = GdbRemote(self._path, self._looked, self._answer_s)
        return self._stub

    # The core.

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        with self._checked("halt the core"):
            self._connected().interrupt()

    def resume(self) -> None:
        """Let the halted core run."""
        with self._checked("let the core run"):
            if self._stub is not None and not self._stub.running:
                if self._breakpoints:
                    self._stub.go()
                else:
                    stub, self._stub = self._stub, None
                    stub.detach()

    def halt_at_reset(self) -> None:
        """Reset the machine and halt its core at the first instruction of its image."""
        entry = 0

        def stop_there() -> None:
            nonlocal entry
            with self._stopped("stop at the first instruction after a reset") as stub:
                entry = stub.registers(len(REGISTERS))[PC]
                stub.set_breakpoint(entry)

        self.halt()
        with self._checked("reset the machine"):
            if not self._machine.reset(stop_there) or self._stub is None:
                raise StubFailed("has no monitor beside it that resets the machine")
            self._stub.running = True
            if not self._stub.stopped_within(self._answer_s):
                raise StubFailed("did not stop at the first instruction after a reset")
            self._stub.remove_breakpoint(entry)

    def begin(self, registers: Mapping[str, int]) -> None:
        """Set registers of the halted core, of those in `REGISTERS` and `xpsr`, and let it run."""
        with self._stopped("set registers of the core") as stub:
            numbers = {name: number for number, name in enumerate(REGISTERS)} | stub.numbers({"xpsr"})
            for name, value in registers.items():
                stub.set_register(numbers[name], value)
        self.resume()

    def is_halted(self) -> bool:
        """Return whether the core is halted by the probe."""
        return self.halted_within(0.0)

    def halted_within(self, seconds: float) -> bool:
        """Wait until the core is halted, and return whether it is."""
        with self._checked("wait for the core"):
            return self._stub is not None and self._stub.stopped_within(seconds)

    def start(self, fill: RamFill | None = None) -> bool:
        """Reset the machine and let it run; return whether its RAM was filled before the program began.

        The emulator keeps RAM that the image does not load.
        """

        def write() -> None:  # after the reset: the program's MPU allows what the program uses
            with self._stopped("write memory after the reset") as stub:
                for address, data in fill.areas if fill is not None else ():
                    stub.write(address, data)
            if not self._breakpoints:
                self._drop()  # without letting it run: that is done by the emulator

        self.halt()
        with self._checked("reset the machine"):
            if not self._machine.reset(write):
                raise StubFailed("has no monitor beside it that resets the machine")
            if self._stub is not None:
                self._stub.running = True
        return fill is not None

    def has_lost_power(self) -> bool:
        """Return False: an emulator that loses its power is gone."""
        return False

    def read(self, address: int, size: int) -> bytes:
        """Read memory. Raises Blocked if the machine has none there."""
        with self._stopped(f"read {size} bytes at 0x{address:08X}") as stub:
            return stub.read(address, size)

    def read_ram(self, address: int, size: int) -> bytes | None:
        """Read memory; None if the machine has none there."""
        with self._stopped(f"read {size} bytes at 0x{address:08X}") as stub:
            return _read(stub, address, size)

    def write_ram(self, address: int, data: bytes) -> bool:
        """Write memory; False if the machine has none there. A word or a half-word is one access."""
        with self._stopped(f"write {len(data)} bytes at 0x{address:08X}") as stub:
            try:
                stub.write(address, data)
            except StubRefused:
                return False
            return True

    def look(self) -> Sample:
        """Return a sample of the core with memory of its stack. A running core is halted for a moment."""
        with self._stopped("look at the core") as stub:
            return self._sample(stub, STACK_BYTES)

    def sample(self) -> list[Sample]:
        """Return several samples of the core, halted for a moment each; only the last one contains stack memory."""
        samples = []
        for number in range(SAMPLES):
            if number:
                time.sleep(SAMPLES_APART_S)
            with self._stopped("look at the core") as stub:
                samples.append(self._sample(stub, STACK_BYTES if number + 1 == SAMPLES else 0))
        return samples

    def _sample(self, stub: GdbRemote, stack_bytes: int) -> Sample:
        """Return a sample.

        A stub does not say whether the core sleeps. One that is halted after an instruction that waits is taken as
        asleep. A lockup ends QEMU. The stack pointer of threads is 0 if the stub has no register `psp`.
        """
        registers = stub.registers(len(REGISTERS))
        numbers = stub.numbers({"xpsr", "psp"})  # each time: QEMU reads single registers only after that
        if "xpsr" not in numbers:
            raise StubFailed("has no register xpsr: it is not that of a Cortex-M")
        xpsr = stub.register(numbers["xpsr"])
        psp = stub.register(numbers["psp"]) if "psp" in numbers else 0
        before = _read(stub, registers[PC] - 2, 2) if registers[PC] >= 2 else None
        asleep = before is not None and int.from_bytes(before, "little") in SLEEPS
        stack = self._stack(stub, registers[SP], stack_bytes) if stack_bytes else b""
        return Sample(registers, xpsr & EXCEPTION, asleep, False, stack, xpsr, psp)

    def _stack(self, stub: GdbRemote, start: int, size: int) -> bytes:
        memory = next((each for each in self._board.memory if start in each), None)
        end = min(start + size, memory.start + memory.size) if memory is not None else start
        return (_read(stub, start, end - start) or b"") if end > start else b""

    # Stops at functions: what `CallStops` uses.

    @contextlib.contextmanager
    def stopped_at_returns(
        self, functions: Sequence[int], counter: int | None
    ) -> Iterator[Callable[[float], CallFrame | None]]:
        """Stop the core at the returns of these functions meanwhile, as `Probe.stopped_at_returns`."""
        stops = CallStops(self, functions, counter)
        try:
            yield stops.stop_at_return
        finally:
            if self._stub is not None:  # it has not failed
                stops.end()

    @contextlib.contextmanager
    def watched(self, functions: Sequence[int], counter: int) -> Iterator[Calls]:
        """Stop the core at every call of these functions meanwhile, and at its return, as `Probe.watched`."""
        stops = CallStops(self, functions, counter)
        try:
            yield stops.collect
        finally:
            if self._stub is not None:  # it has not failed
                stops.end()

    def step(self) -> None:
        """Let the halted core run one instruction."""
        with self._stopped("run one instruction") as stub:
            stub.step()

    def registers(self, names: Sequence[str]) -> list[int]:
        """Return registers of the halted core by their names; Blocked if the stub has no such register."""
        with self._stopped("read the registers") as stub:
            found = dict(zip(REGISTERS, stub.registers(len(REGISTERS)), strict=True))
            others = stub.numbers(set(names) - found.keys())
            found |= {name: stub.register(number) for name, number in others.items()}
        if missing := [name for name in names if name not in found]:
            raise Blocked("probe", f"the {self.unique_id} has no register {missing[0]}: use another emulator.")
        return [found[name] for name in names]

    def word(self, address: int) -> int:
        """Return 32 bits of memory."""
        return int.from_bytes(self.read(address, 4), "little")

    def set_breakpoint(self, address: int) -> None:
        """Set a hardware breakpoint. The core must be halted."""
        with self._stopped(f"set a breakpoint at 0x{address:08X}") as stub:
            stub.set_breakpoint(address)
        self._breakpoints.add(address)

    def remove_breakpoint(self, address: int) -> None:
        """Remove a breakpoint. The core must be halted."""
        with self._stopped(f"remove the breakpoint at 0x{address:08X}") as stub:
            stub.remove_breakpoint(address)
        self._breakpoints.discard(address)

    # Opening and closing.

    def detach(self) -> bool:
        """Let the core run without a connection. Return True: an emulator has no debug logic."""
        self.close()
        return True

    def attach(self, wake: Callable[[], object] | None = None) -> None:
        """Do nothing: the next look makes a connection."""

    def close(self) -> None:
        """Remove breakpoints and let the core run without a connection."""
        if self._stub is not None:
            with contextlib.suppress(RigError):  # it is of no further use
                self.halt()
                for address in tuple(self._breakpoints):
                    self.remove_breakpoint(address)
                self.resume()


def _read(stub: GdbRemote, address: int, size: int) -> bytes | None:
    try:
        return stub.read(address, size)
    except StubRefused:
        return None
