"""Operations on a chip through pyOCD. Runs in the probe process (probe_child.py); deadlines are kept by its parent."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyocd.core.exceptions import Error as PyocdError
from pyocd.core.session import Session
from pyocd.coresight.cortex_m import CortexM
from pyocd.flash.loader import FlashLoader
from pyocd.probe.aggregator import DebugProbeAggregator
from pyocd.probe.debug_probe import DebugProbe

from hil.errors import Blocked
from hil.targets import cmsis_pack, connect_options, pyocd_targets, remote_probe
from hil.targets.core_sample import REGISTERS, Sample
from hil.targets.reset_catch import CORE_RESET, ResetCatch

Segments = Sequence[tuple[int, bytes]]
ANY_CORTEX_M = "cortex_m"  # pyOCD's generic target: it discovers the core and its memory, and writes nothing

DHCSR, S_SLEEP, S_LOCKUP = 0xE000EDF0, 1 << 18, 1 << 19  # ARM DDI 0403E.e, C1.6.2; the same on ARMv6-M


class PyocdSession:
    """At most one open pyOCD session. Every method may also raise the exceptions of pyOCD and its USB libraries.

    Args:
        report: called with the round trips to a remote probe (`EndingSocket`).
    """

    def __init__(self, report: remote_probe.Report = lambda answered, round_trip_s: None) -> None:
        remote_probe.install(report)
        self._session: Session | None = None

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
            Blocked: the probe is not attached, two have this id, or the pack is missing or does not contain the chip.
        """
        if pack_file is None:
            pyocd_targets.register(target)
        else:
            target, options = cmsis_pack.target_in(pack_file, chip), connect_options.with_pack(pack_file)
        if running:
            options = options | {"connect_mode": "attach"}
        self._open(unique_id, target, options)
        assert self._session is not None
        self._catch_no_reset()
        return str(self._session.probe.vendor_name)

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
        return any(
            probe.unique_id.lower() == unique_id.lower() for probe in DebugProbeAggregator.get_all_connected_probes()
        )

    def look(self, unique_id: str, address: int) -> int:
        """Return a word of memory of an unknown chip through a generic session, to explain a failed connection."""
        self._open(unique_id, ANY_CORTEX_M, connect_options.COMMON | {"connect_mode": "attach"})
        try:
            return self.word(address)
        finally:
            self.close()

    def _open(self, unique_id: str, target: str, options: dict[str, Any]) -> None:
        self.close()
        session = Session(_the_probe(unique_id), target_override=target, options=options)
        try:
            session.open()
        except BaseException:
            with contextlib.suppress(Exception):  # closing may fail too; the first failure is the reason
                _end(session)
            raise
        self._session = session

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
        with _alone(self._probe):
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
        return all(bytes(self._target.read_memory_block8(address, len(data))) == data for address, data in segments)

    def reset(self) -> None:
        """Reset the chip and let it run."""
        self._target.reset()

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes of memory, read while the chip runs."""
        start, end = address & ~3, (address + size + 3) & ~3
        words = self._target.read_memory_block32(start, (end - start) // 4)
        flat = b"".join(word.to_bytes(4, "little") for word in words)
        return flat[address - start : address - start + size]

    def sample(self, times: int, apart_s: float, stack_bytes: int) -> list[Sample]:
        """Sample the core `times` times, `apart_s` seconds apart, halting it for a moment each time.

        The last sample reads `stack_bytes` bytes from the stack pointer on, up to the end of the memory.
        """
        samples = []
        for number in range(times):
            if number:
                time.sleep(apart_s)
            status = int(self._target.read32(DHCSR))
            self._target.halt()
            values = self._target.read_core_registers_raw([*REGISTERS, "xpsr"])
            registers, exception = tuple(int(value) for value in values[:-1]), int(values[-1]) & 0x1FF
            stack = self._stack(registers[13], stack_bytes) if number + 1 == times else b""
            self._target.resume()
            samples.append(Sample(registers, exception, bool(status & S_SLEEP), bool(status & S_LOCKUP), stack))
        return samples

    def _stack(self, start: int, size: int) -> bytes:
        region = self._target.memory_map.get_region_for_address(start)
        end = start if region is None else min(start + size, region.end + 1)
        return self.read(start, end - start) if end > start else b""

    def rest(self) -> None:
        """Release the probe with all debug logic off except the cycle counter, which the firmware uses.

        pyOCD's own disconnection clears DEMCR, including the DWT enable that the firmware has set (Armv7-M, C1.6.5).
        """
        target = self._target
        if hasattr(target, "rest_hook"):
            target.rest_hook()
        target.write32(CortexM.DEMCR, target.read32(CortexM.DEMCR) & CortexM.DEMCR_TRCENA)
        target.write32(CortexM.DHCSR, CortexM.DBGKEY)
        assert self._session is not None
        self._session.options.set("resume_on_disconnect", False)  # pyOCD would clear DEMCR; the rest is done above
        self.close()

    def close(self) -> None:
        """Release the probe; the chip keeps running."""
        session, self._session = self._session, None
        if session is not None:
            _end(session)


@contextlib.contextmanager
def _alone(probe: DebugProbe) -> Iterator[None]:
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
    """Return the probe with exactly this id; pyOCD itself would also accept a part of an id."""
    like = DebugProbeAggregator.get_all_connected_probes(unique_id=unique_id)
    exact = [probe for probe in like if probe.unique_id.lower() == unique_id.lower()]
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
