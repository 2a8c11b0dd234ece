"""Operations on a chip through pyOCD. Runs in the probe process (probe_child.py); deadlines are kept by its parent."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyocd.core.exceptions import Error as PyocdError
from pyocd.core.exceptions import TransferFaultError
from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.coresight.core_ids import CORE_TYPE_NAME
from pyocd.coresight.cortex_m import CortexM
from pyocd.flash.loader import FlashLoader
from pyocd.probe.aggregator import DebugProbeAggregator
from pyocd.probe.debug_probe import DebugProbe
from pyocd.target import TARGET

from hil.errors import Blocked
from hil.steady_clock import steady_s
from hil.targets import cached_reads, cmsis_pack, connect_options, pyocd_targets, remote_probe
from hil.targets.call_stops import CallStops
from hil.targets.chip_found import ChipFound
from hil.targets.core_sample import REGISTERS, CallFrame, Sample
from hil.targets.probe_about import ProbeAbout, about
from hil.targets.pyocd_core import PyocdCore
from hil.targets.reset_catch import CORE_RESET, ResetCatch
from hil.targets.session_delegate import CaughtAtReset, SessionDelegate, powered_down
from hil.targets.usb_places import MADE_UP, PREFIX, pyocd_id

Segments = Sequence[tuple[int, bytes]]
Gate = tuple[int, int]  # address and bits of the register that switches the clock of a memory
Write = tuple[int, bytes, Gate | None]  # address, whole words, and the gate of their memory
ACCESS_BITS = {1: 8, 2: 16, 4: 32}  # by bytes
BOOT_S = 2.0  # longest time of a boot ROM
ANY_CORTEX_M = "cortex_m"  # pyOCD's generic target: it discovers the core and its memory, and writes nothing

CPUID = 0xE000ED00  # ARM DDI 0403E.e, B3.2.3; the same on ARMv6-M and Armv8-M
DHCSR, S_SLEEP, S_LOCKUP = 0xE000EDF0, 1 << 18, 1 << 19  # ARM DDI 0403E.e, C1.6.2; the same on ARMv6-M


class PyocdSession:
    """At most one open pyOCD session. Every method may also raise the exceptions of pyOCD and its USB libraries.

    Args:
        report: called with the round trips to a remote probe (`EndingSocket`).
    """

    def __init__(self, report: remote_probe.Report = lambda answered, round_trip_s: None) -> None:
        remote_probe.install(report)
        self._session: Session | None = None
        self._delegate = SessionDelegate()
        self._stops: CallStops | None = None

    def idle(self) -> float | None:
        """Do what is to be done between two requests; return the seconds until it is to be done again, None: never."""
        return None

    def connect(
        self,
        unique_id: str,
        target: str,
        options: dict[str, Any],
        pack_file: str | None = None,
        chip: str = "",
        running: bool = False,
    ) -> str:
        """Connect a probe to a chip; return the vendor name of the probe.

        A pack gives target and options by the order code of the chip. With `running`, neither halt nor reset the chip.

        Raises:
            Blocked: the probe is not attached, two have this id, the pack is missing or does not contain the chip, or
                what the probe would read is not what the core sees (`cached_reads`).
        """
        if pack_file is None:
            pyocd_targets.register(target)
        else:
            target, options = cmsis_pack.target_in(pack_file, chip), connect_options.with_pack(pack_file)
        if running:
            options = options | {"connect_mode": "attach"}
        self._open(unique_id, target, options)
        assert self._session is not None
        self._read_as_the_core()
        self._catch_no_reset()
        return str(self._session.probe.vendor_name)

    def _read_as_the_core(self) -> None:
        """Close the session unless its reads are what the core sees."""
        try:
            cached_reads.check(self._probe, self._target.selected_core_or_raise)
        except Blocked:
            self.close()
            raise

    def _catch_no_reset(self) -> None:
        """Clear the reset vector catch, which a probe that was unplugged during a reset leaves set (Armv7-M, C1.6.5).

        Only power-on would clear it otherwise. pyOCD keeps the setting that it finds when it connects, and the core
        would halt at every reset.
        """
        found = self._target.get_vector_catch()
        if found & CORE_RESET:
            self._target.set_vector_catch(found & ~CORE_RESET)

    def attached(self, unique_id: str) -> bool:
        """Return whether a probe with exactly this id is attached."""
        wanted = pyocd_id(unique_id).lower()
        return any(probe.unique_id.lower() == wanted for probe in DebugProbeAggregator.get_all_connected_probes())

    def about(self, unique_id: str) -> ProbeAbout:
        """Return what a probe says of itself. The chip is left alone; a session that is open is closed."""
        self.close()
        return about(_the_probe(unique_id))

    def survey_targets(self, targets: Sequence[str]) -> list[str]:
        """Return the targets to try for `survey`, in order, of pyOCD's names of targets.

        Those that select one of several debug ports on one wire (multi-drop) come after the generic one, which does
        not, so that none answers it.
        """
        for target in targets:
            pyocd_targets.register(target)
        return [ANY_CORTEX_M, *(target for target in targets if hasattr(TARGET.get(target), "select_dp"))]

    def survey(self, unique_id: str, target: str, addresses: Sequence[int]) -> ChipFound | None:
        """Return what identifies an unknown chip, to explain a failed connection; None if no core can be found.

        A chip in which no core is found, since it may sleep, is reset once and halted.

        Args:
            unique_id: of the probe.
            target: one of `survey_targets`.
            addresses: of the words to read.
        """
        pyocd_targets.register(target)
        for delegate in (SessionDelegate(), CaughtAtReset()):
            with contextlib.suppress(*ERRORS):
                self._open(unique_id, target, connect_options.COMMON | {"connect_mode": "attach"}, delegate)
                break
        else:
            return None
        try:
            return self._surveyed(addresses)
        finally:
            with contextlib.suppress(*ERRORS):
                self.close()

    def _surveyed(self, addresses: Sequence[int]) -> ChipFound:
        dpidr, words = int(self._target.dp.dpidr.idr), {}
        for address in (CPUID, *addresses):
            with contextlib.suppress(*ERRORS):  # the chip has nothing there, or no core, or its debug port is locked
                words[address] = self.word(address)
        cpuid = words.pop(CPUID, None)
        kind = cpuid and CORE_TYPE_NAME.get((cpuid >> 24, cpuid >> 4 & 0xFFF))
        return ChipFound(dpidr, cpuid, kind or "", words)

    def _open(
        self, unique_id: str, target: str, options: dict[str, Any], delegate: SessionDelegate | None = None
    ) -> None:
        self.close()
        session = Session(_the_probe(unique_id), target_override=target, options=options)
        session.delegate = delegate = delegate or SessionDelegate()
        try:
            session.open()
        except BaseException:
            with contextlib.suppress(Exception):  # it may fail too; the first failure is the reason
                powered_down(session.target.dp)  # pyOCD leaves a debug port on at which it has failed
            with contextlib.suppress(Exception):
                _end(session)
            raise
        self._session, self._delegate = session, delegate

    @property
    def _target(self) -> Any:
        if self._session is None:
            raise Blocked("connect", "the connection of the probe was closed after a failure: run again.")
        return self._session.target

    @property
    def _probe(self) -> DebugProbe:
        return self._target.session.probe

    def word(self, address: int) -> int:
        """Return 32 bits of memory."""
        return int(self._target.read32(address))

    def program(self, segments: Segments, always: bool) -> str:
        """Program bytes into the flash and verify them.

        Return `held` if the flash already held them, `programmed`, `differs` if the verification failed, or `reset` if
        something other than the debugger reset the chip meanwhile. After `reset` connect again, because pyOCD still
        believes that its flash algorithm is ready. With `always`, program even if the flash holds the bytes.
        """
        with alone(self._probe):
            return self._program(segments, always)

    def _program(self, segments: Segments, always: bool) -> str:
        self._target.reset_and_halt()
        if not always and self._holds(segments):
            return "held"
        loader = FlashLoader(self._session, progress=_quiet)
        for address, data in segments:
            loader.add_data(address, data)
        catch = ResetCatch(self._session)
        try:
            with catch:
                loader.commit()
        except ERRORS:
            if not catch.seen:
                raise
        if catch.seen:
            return "reset"
        self._target.reset_and_halt()
        return "programmed" if self._holds(segments) else "differs"

    def _holds(self, segments: Segments) -> bool:
        return all(self.read(address, len(data)) == data for address, data in segments)

    def reset(self) -> None:
        """Reset the chip and let it run."""
        self._target.reset()

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes of memory, read while the chip runs.

        They come from the core's access port: pyOCD's target would look for a software breakpoint at each of them,
        which takes longer than the transfer, and the rig sets none.
        """
        start, end = address & ~3, (address + size + 3) & ~3
        words = self._target.selected_core_or_raise.ap.read_memory_block32(start, (end - start) // 4)
        flat = struct.pack(f"<{len(words)}I", *words)
        return flat[address - start : address - start + size]

    def start_with(self, entry: int, writes: Sequence[Write]) -> bool:
        """Reset the chip, write memory before the program at `entry` runs its first instruction, and let it run.

        A boot ROM runs before that, up to a breakpoint, because it uses RAM of its own. If the program does not begin
        at `entry`, nothing is written.

        Returns:
            Whether the memory was written.
        """
        target = self._target
        with alone(self._probe):
            target.reset_and_halt()
            begins = self._run_to(entry)
            for address, data, gate in writes if begins else ():
                with self._clocked(gate):
                    words = len(data) // 4
                    target.write_memory_block32(address, struct.unpack(f"<{words}I", data[: 4 * words]))
            target.resume()
        return begins

    def _run_to(self, address: int) -> bool:
        """Let the halted core run to an address; return whether it stopped there."""
        target = self._target
        if target.read_core_register("pc") == address:
            return True
        target.set_breakpoint(address, Target.BreakpointType.HW)
        try:
            target.resume()
            end = steady_s() + BOOT_S
            while target.get_state() != Target.State.HALTED:
                if steady_s() > end:
                    target.halt()
                    break
            return bool(target.read_core_register("pc") == address)
        finally:
            target.remove_breakpoint(address)
            target.flush()

    def read_clocked(self, address: int, size: int, gate: Gate | None) -> bytes | None:
        """Return `size` bytes of memory with the clock of their memory on; None if the chip does not answer there."""
        with self._clocked(gate):
            try:
                return self.read(address, size)
            except TransferFaultError:
                return None

    def write_clocked(self, address: int, data: bytes, gate: Gate | None) -> bool:
        """Write memory while the chip runs, with the clock of the memory on; False if the chip does not answer there.

        A word or a half-word on its boundary is one access, as registers of peripherals need it.
        """
        with self._clocked(gate):
            try:
                if len(data) in ACCESS_BITS and address % len(data) == 0:
                    self._target.write_memory(address, int.from_bytes(data, "little"), ACCESS_BITS[len(data)])
                else:
                    self._target.write_memory_block8(address, list(data))
                self._target.flush()
            except TransferFaultError:
                return False
        return True

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        self._target.halt()

    def halt_at_reset(self) -> None:
        """Reset the chip and halt its core before it runs what is in the flash."""
        with alone(self._probe):
            self._target.reset_and_halt()

    def begin(self, registers: dict[str, int]) -> None:
        """Set registers of the halted core and let it run."""
        with alone(self._probe):
            self._target.write_core_registers_raw(list(registers), list(registers.values()))
            self._target.resume()

    def sector(self, address: int) -> tuple[int, int] | None:
        """Return start and size of the sector of flash at an address, which can be read then; None if there is none.

        Flash behind a serial interface is read as memory only after something has set that up: the flash algorithm.
        """
        region = self._target.memory_map.get_region_for_address(address)
        if region is None or not region.is_flash:
            return None
        with alone(self._probe):
            region.flash.init(region.flash.Operation.VERIFY)
            region.flash.cleanup()
        size = int(region.sector_size)
        return address - (address - int(region.start)) % size, size

    def resume(self) -> None:
        """Let the halted core run."""
        self._target.resume()

    def is_halted(self) -> bool:
        """Return whether the core is halted by the debugger."""
        return bool(self._target.get_state() == Target.State.HALTED)

    @contextlib.contextmanager
    def _clocked(self, gate: Gate | None) -> Iterator[None]:
        """Switch on the clock of a memory meanwhile: (address, bits) of its register; None: it has none."""
        if gate is None:
            yield
            return
        register, bits = gate
        before = self.word(register)
        if before & bits != bits:
            self._target.write32(register, before | bits)
        try:
            yield
        finally:
            if before & bits != bits:
                self._target.write32(register, before)

    def watch_calls(self, functions: Sequence[int], counter: int | None) -> None:
        """Stop the core at every call of these functions from now on (`CallStops`)."""
        self._stops = CallStops(self._core(), functions, counter)

    def _core(self) -> PyocdCore:
        return PyocdCore(self._target)

    def calls(self, most: int, wait_s: float) -> list[tuple[int, int, int]]:
        """Return the next calls of the watched functions (`CallStops.collect`)."""
        return self._stops.collect(most, wait_s) if self._stops is not None else []

    def next_return(self, wait_s: float) -> CallFrame | None:
        """Let the core run to the next return of a watched function (`CallStops.stop_at_return`)."""
        return self._stops.stop_at_return(wait_s) if self._stops is not None else None

    def watch_no_calls(self) -> None:
        """End `watch_calls`."""
        stops, self._stops = self._stops, None
        if stops is not None:
            stops.end()

    def sample(self, times: int, apart_s: float, stack_bytes: int) -> list[Sample]:
        """Sample the core `times` times, `apart_s` seconds apart, halting it for a moment each time.

        A core that was halted stays so. The last sample reads `stack_bytes` bytes from the stack pointer on, up to the
        end of the memory.
        """
        samples, halted = [], self.is_halted()
        for number in range(times):
            if number:
                self._let_run(apart_s)
            status = int(self._target.read32(DHCSR))
            self._target.halt()
            *values, xpsr, psp = map(int, self._target.read_core_registers_raw([*REGISTERS, "xpsr", "psp"]))
            stack = self._stack(values[13], stack_bytes) if number + 1 == times else b""
            if not halted:
                self._target.resume()
            asleep, lockup = bool(status & S_SLEEP), bool(status & S_LOCKUP)
            samples.append(Sample(tuple(values), xpsr & 0x1FF, asleep, lockup, stack, xpsr, psp))
        return samples

    def _let_run(self, seconds: float) -> None:
        """Let a running core run so long."""
        time.sleep(seconds)

    def _stack(self, start: int, size: int) -> bytes:
        region = self._target.memory_map.get_region_for_address(start)
        end = start if region is None else min(start + size, region.end + 1)
        return self.read(start, end - start) if end > start else b""

    def rest(self) -> bool:
        """Release the probe with all debug logic off except the cycle counter, which the firmware uses.

        pyOCD's own disconnection clears DEMCR, including the DWT enable that the firmware has set (Armv7-M, C1.6.5).
        So pyOCD is told to leave the core as it is (`resume_on_disconnect`), and the rest is done here.

        Returns:
            Whether the debug port has given up its power: CDBGPWRUPREQ and CSYSPWRUPREQ are 0, and acknowledged.
        """
        target, delegate = self._target, self._delegate
        target.write32(CortexM.DEMCR, target.read32(CortexM.DEMCR) & CortexM.DEMCR_TRCENA)
        target.write32(CortexM.DHCSR, CortexM.DBGKEY)
        if hasattr(target, "rest_hook"):
            target.rest_hook()  # the last access: the memory of a core that sleeps cannot be read after it
        target.flush()
        assert self._session is not None
        self._session.options.set("resume_on_disconnect", False)
        delegate.powers_down = True
        self.close()
        return delegate.is_off

    def close(self) -> None:
        """Release the probe; the chip keeps running."""
        session, self._session = self._session, None
        if session is not None:
            _end(session)


@contextlib.contextmanager
def alone(probe: DebugProbe) -> Iterator[None]:
    """Keep a remote probe locked. pyOCD would ask for its lock at every transfer: three requests instead of one."""
    probe.lock()
    try:
        yield
    finally:
        with contextlib.suppress(*ERRORS):  # a server releases the lock of a connection that broke
            probe.unlock()


def _end(session: Session) -> None:
    """Close a session; even if this fails, the connection of its probe is closed."""
    try:
        session.close()
    finally:
        remote_probe.close_connection(session.probe)


def _the_probe(unique_id: str) -> DebugProbe:
    """Return the probe with exactly this id, or at this USB place; pyOCD itself would also accept a part of an id."""
    wanted = pyocd_id(unique_id)
    like = DebugProbeAggregator.get_all_connected_probes(unique_id=wanted) if wanted else []
    exact = [probe for probe in like if probe.unique_id.lower() == wanted.lower()]
    if len(exact) == 1:
        return exact[0]
    if len(exact) > 1:
        raise Blocked(
            "connect", f"{len(exact)} attached probes report the id {unique_id}: unplug all but the board's own."
        )
    if like:
        names = " and of ".join(sorted(probe.unique_id for probe in like))
        raise Blocked(
            "connect", f"{unique_id} is only a part of {names}: write the probe's full serial number into rig.toml."
        )
    if unique_id.startswith(PREFIX):
        raise Blocked(
            "connect",
            f"no probe without a serial number is plugged in at {unique_id}: plug it in there, or correct `probe` in "
            "rig.toml (`hil devices` lists the probes).",
        )
    if MADE_UP.fullmatch(unique_id):
        raise Blocked(
            "connect",
            f"the probe {unique_id} is not attached: pyOCD makes up such an id for a probe without a serial number, "
            "and it changes when the probe is plugged in: write its USB place into rig.toml, as `hil devices` lists "
            f"it ({PREFIX}1-2).",
        )
    raise Blocked(
        "connect", f"the probe {unique_id} is not attached: plug it in, or correct its serial number in rig.toml."
    )


def _quiet(progress: float) -> None:
    """Ignore pyOCD's progress: a progress bar would disturb the output of pytest."""


# What pyOCD raises when a chip is not the expected one.
ERRORS = (
    PyocdError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    AssertionError,  # about its own state, after a connection broke during a request
)
