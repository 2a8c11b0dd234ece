"""What a debug probe finds at its other end, when it is not the chip that rig.toml names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hil import boards
from hil.boards import Board
from hil.boards.catalogue import IdentityRegister


@dataclass(frozen=True)
class ChipFound:
    """Registers that were read through a debug port that answers.

    Attributes:
        dpidr: identification register of the debug port (ARM IHI 0031, B2.2.5).
        cpuid: of the core (Armv7-M, B3.2.3); None if no core can be read.
        core: name of the core by its CPUID, such as `Cortex-M7`; empty if unknown.
        words: by address, the identity registers of the catalogue that can be read.
    """

    dpidr: int
    cpuid: int | None = None
    core: str = ""
    words: Mapping[int, int] = field(default_factory=dict)

    def is_chip_of(self, identity: IdentityRegister) -> bool:
        """Return whether an identity register has the value that the catalogue says."""
        word = self.words.get(identity.address)
        return word is not None and word & identity.mask == identity.value

    def boards(self) -> list[Board]:
        """Return the boards of the catalogue that have this chip: its core, and the value of its identity register."""
        return [
            board
            for board in with_identity()
            if board.identity is not None
            and self.is_chip_of(board.identity)
            and self.core.lower().replace("+", "plus") == board.core
        ]

    def __str__(self) -> str:
        core = "no core that can be read" if self.cpuid is None else f"CPUID 0x{self.cpuid:08X}"
        return f"{self.core or 'unknown core'}, {core}, DPIDR 0x{self.dpidr:08X}"


def with_identity() -> list[Board]:
    """Return the boards of the catalogue whose chip is reached through a probe and has an identity register."""
    # a faulty entry of another board is reported where that board is used
    return [board for board in boards.working()[0] if board.identity is not None and board.pyocd_target is not None]
