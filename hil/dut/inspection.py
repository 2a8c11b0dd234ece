"""Memory and core of a device under test, through its probe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from hil.boards import Board
from hil.dut.core import CoreView, Frame, Returned
from hil.dut.memory import Memory, Shape, Where
from hil.dut.record import DutRecord
from hil.errors import RigError
from hil.images import Image
from hil.rig import Taken
from hil.targets.core_probe import CoreProbe

RETURN_S = 10.0


class Inspection(ABC):
    """What a probe shows of a device. Each member raises Blocked if there is no probe, or it failed.

    Attributes:
        image: the firmware.
        record: what happened so far.
    """

    image: Image
    record: DutRecord
    _taken: Taken
    _painted = False  # whether the stack was, at the last reset

    @property
    def board(self) -> Board:
        """Catalogue entry of the board."""
        return self._taken.board

    @abstractmethod
    def _the_probe(self) -> CoreProbe:
        """Return the open probe, or open it. Raises Blocked if there is none."""

    def read(self, where: Where, dtype: npt.DTypeLike | None = None, shape: Shape | None = None) -> Any:
        """Return what is in memory, as an array or a number of NumPy, while the program runs.

        Args:
            where: a symbol, an expression of C (`linear->weights->data[3]`), or an address.
            dtype, shape: default: those of the debug information. An address needs a dtype.

        Raises:
            RigError: it is not there, or is something else; or a pointer on the way points nowhere.
            Blocked: there is no probe, or it failed.
            DeviceFault: the chip does not answer where it has memory.
        """
        self.record.reads += 1
        return self._memory.read(where, dtype, shape)

    def write(self, where: Where, value: Any) -> None:
        """Write memory while the program runs: a number, an array or a list, of the type of the debug information.

        An address, or a symbol without debug information, needs a value of NumPy (`np.uint32(1)`).

        Raises as `read`.
        """
        self._memory.write(where, value)

    @property
    def _memory(self) -> Memory:
        return Memory(self.image, self.board, self._probe_there())

    @property
    def _core(self) -> CoreView:
        return CoreView(self.image, self.board, self._probe_there())

    def _probe_there(self) -> Callable[[], CoreProbe]:
        """Return what opens the probe. Raises Blocked of a command, before anybody asks what is where in its memory."""
        if self._taken.command is not None:
            self._the_probe()
        return self._the_probe

    def halt(self) -> None:
        """Halt the core."""
        self._the_probe().halt()

    def resume(self) -> None:
        """Let the halted core run."""
        self._the_probe().resume()

    def registers(self) -> Mapping[str, int]:
        """Return r0 to r12, sp, lr, pc and xpsr; a running core is halted for a moment."""
        self.record.reads += 1
        return self._core.registers()

    def backtrace(self) -> Sequence[Frame]:
        """Return where the core is and what called it, innermost first; a running core is halted for a moment."""
        self.record.reads += 1
        return self._core.backtrace()

    def fault(self) -> str | None:
        """Return the fault that the core is in, with causes and place, as one sentence; None if it is in none."""
        self.record.reads += 1
        return self._noted(self._taken.chip_fault(self.image) or self._core.fault())

    def hang(self) -> str | None:
        """Return where the core hangs, or its fault, as one sentence; None if it waits for an interrupt."""
        self.record.reads += 1
        return self._noted(self._taken.chip_fault(self.image) or self._core.hang())

    def at_return(self, function: str, times: int | None = None, timeout: float = RETURN_S) -> Iterator[Returned]:
        """Iterate over the returns of a function: at each the core is halted, and goes on with the next one.

        Args:
            function: its name.
            times: how many returns; None: until the loop is left.
            timeout: seconds to wait for each call, and for its return.

        Raises:
            RigError: there is no such function, or two.
            DeviceFault: it is not called, or does not return; the sentence says where the core is.
            Blocked: there is no probe.
        """
        self.record.reads += 1
        return self._core.at_return(function, times, timeout, self._last_words)

    @property
    def cycles(self) -> int:
        """The cycle counter of the core, 32 bits (counted). Raises RigError if the core has none."""
        self.record.reads += 1
        return self._core.cycles()

    @property
    def stack_peak(self) -> int:
        """Most bytes of the stack in use since the last `reset` or `flash` (counted).

        A byte at the very edge that equals the paint is missed.

        Raises RigError if the image does not say where its stack is, or it was not painted.
        """
        self.record.reads += 1
        peak = self._core.stack_peak()
        if not self._painted or self._the_probe().has_lost_power():
            raise RigError(
                "the stack was not painted since the board was switched on: call dut.reset() or dut.flash() before, "
                "through a probe."
            )
        return peak

    def _last_words(self) -> str:
        """Return what the device printed last, as part of a sentence; empty without a port."""
        return ""

    def _noted(self, sentence: str | None) -> str | None:
        if sentence is not None:
            self.record.fault(sentence)
        return sentence
