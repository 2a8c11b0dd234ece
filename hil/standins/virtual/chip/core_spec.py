"""What a chip says about its core, and what the machine around it expects of blocks that live in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hil.standins.virtual.chip.machine import Machine
    from hil.standins.virtual.chip.scb import SystemControlBlock


class Source(Protocol):
    """A peripheral with a life of its own in virtual time (picoseconds)."""

    def update(self, now: int) -> None: ...

    def next_event(self) -> int | None: ...


@dataclass(frozen=True)
class CoreSpec:
    """What differs between cores.

    Args:
        cpu: Unicorn's CPU model.
        interrupts, priority_bits: of the NVIC.
        boot_address: where the vector table is at reset.
        reset_hz: first clock.
        private: attaches the core's private peripherals to a machine and returns its system control block.
        refused: flags of `count` for instructions that Unicorn executes and this core does not have.
    """

    cpu: int
    interrupts: int
    priority_bits: int
    boot_address: int
    reset_hz: int
    private: Callable[[Machine], SystemControlBlock]
    refused: int = 0
