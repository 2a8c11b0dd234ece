"""What a device under test needs of a debug probe, whatever it is: a real one, or the GDB stub of an emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hil.targets.core_sample import CallFrame, Sample
from hil.targets.probe import Calls, RamFill


class CoreProbe(Protocol):
    """A probe at a running core: `hil.targets.probe.Probe` or `hil.targets.gdb_probe.GdbProbe`.

    Every method raises Blocked if the probe failed.

    Attributes:
        unique_id: the full id of the probe, or the name of what is used in its place.
        no_counter: why it can read no cycle counter, as one clause; None if it can.
    """

    unique_id: str
    no_counter: str | None

    def start(self, fill: RamFill | None = None) -> bool:
        """Reset the board and let it run; return whether its RAM was filled before the program began."""
        ...

    def has_lost_power(self) -> bool:
        """Return whether the chip was without power since `start` filled its RAM."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Read memory while the board runs. Raises Blocked if the chip does not answer there."""
        ...

    def read_ram(self, address: int, size: int) -> bytes | None:
        """Read memory while the board runs; None if the chip does not answer there."""
        ...

    def write_ram(self, address: int, data: bytes) -> bool:
        """Write memory while the board runs; False if the chip does not answer there."""
        ...

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        ...

    def resume(self) -> None:
        """Let the halted core run."""
        ...

    def halt_at_reset(self) -> None:
        """Reset the board and halt its core before it runs what is in the flash."""
        ...

    def begin(self, registers: Mapping[str, int]) -> None:
        """Set registers of the halted core, of those in `REGISTERS` and `xpsr`, and let it run."""
        ...

    def is_halted(self) -> bool:
        """Return whether the core is halted by the probe."""
        ...

    def look(self) -> Sample:
        """Return a sample of the core with memory of its stack. A running core is halted for a moment."""
        ...

    def sample(self) -> list[Sample]:
        """Return several samples of the core, halted for a moment each; only the last one contains stack memory."""
        ...

    def stopped_at_returns(
        self, functions: Sequence[int], counter: int | None
    ) -> AbstractContextManager[Callable[[float], CallFrame | None]]:
        """Stop the core at the returns of these functions meanwhile, as `Probe.stopped_at_returns`."""
        ...

    def watched(self, functions: Sequence[int], counter: int) -> AbstractContextManager[Calls]:
        """Stop the core at every call of these functions meanwhile, and at its return, as `Probe.watched`."""
        ...

    def detach(self) -> bool:
        """Disconnect until `attach`; the board keeps running. Return whether nothing of the chip stays on for it."""
        ...

    def attach(self, wake: Callable[[], object] | None = None) -> None:
        """Connect again without halting the core; `wake` is called meanwhile, so that the core does not sleep."""
        ...

    def close(self) -> None:
        """Release the probe; the board keeps running."""
        ...
