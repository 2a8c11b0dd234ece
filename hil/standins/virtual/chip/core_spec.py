"""Description of a core, and the interface of peripherals that act in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine
    from hil.standins.virtual.chip.scb import SystemControlBlock


@runtime_checkable
class EventSource(Protocol):
    """A peripheral that acts on its own in virtual time (picoseconds)."""

    def update(self, now: int) -> None: ...

    def next_event(self) -> int | None: ...


@dataclass(frozen=True)
class CoreSpec:
    """Differences between cores.

    Args:
        cpu: Unicorn's CPU model.
        interrupts, priority_bits: number of interrupts and of priority bits of the NVIC.
        boot_address: address of the vector table at reset.
        reset_hz: clock frequency after reset.
        private: attaches the core's private peripherals to a machine and returns the system control block.
        buffers_writes: whether stores to peripherals may arrive after later instructions; not on Cortex-M0+.
        refused: flags of `count` for instructions that Unicorn executes but this core does not have.
    """

    cpu: int
    interrupts: int
    priority_bits: int
    boot_address: int
    reset_hz: int
    private: Callable[[Machine], SystemControlBlock]
    refused: int = 0
    buffers_writes: bool = True
