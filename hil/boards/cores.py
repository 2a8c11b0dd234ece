"""What the rig knows of a processor core by its name in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from hil.errors import RigError, close_matches

# Tag_CPU_arch (Addenda to the ABI for the Arm architecture, 3.3.5.2)
V7, V6M, V6SM, V7EM, V8M_BASE, V8M_MAIN, V81M_MAIN = 10, 11, 12, 13, 16, 17, 21
OF_V6M = (V6M, V6SM)
OF_V7M = (V7, *OF_V6M)
OF_V7EM = (*OF_V7M, V7EM)


@dataclass(frozen=True)
class Core:
    """A processor core.

    Attributes:
        architectures: Tag_CPU_arch of code that it executes.
        is_armv6m: whether it is of Armv6-M, which lacks most instructions of 32 bits.
        has_cfsr: whether it has a Configurable Fault Status Register (Armv7-M and Armv8-M with the Main Extension).
    """

    architectures: tuple[int, ...]
    is_armv6m: bool = False
    has_cfsr: bool = True

    @property
    def has_sfsr(self) -> bool:
        """Whether it has a Secure Fault Status Register, which reads as 0 without the Security Extension."""
        return V8M_MAIN in self.architectures


CORES = {
    "cortex-m0": Core(OF_V6M, is_armv6m=True, has_cfsr=False),
    "cortex-m0plus": Core(OF_V6M, is_armv6m=True, has_cfsr=False),
    "cortex-m3": Core(OF_V7M),
    "cortex-m4": Core(OF_V7EM),
    "cortex-m7": Core(OF_V7EM),
    "cortex-m23": Core((*OF_V6M, V8M_BASE), has_cfsr=False),
    "cortex-m33": Core((*OF_V7EM, V8M_BASE, V8M_MAIN)),
    "cortex-m55": Core((*OF_V7EM, V8M_BASE, V8M_MAIN, V81M_MAIN)),
}


def core_of(board: str, core: str) -> Core:
    """Return a core of the catalogue. Raises RigError, which names the board, if the rig does not know it."""
    if core not in CORES:
        raise RigError(
            f"the catalogue says that {board} has the core {core!r}, which the rig does not know: "
            f"{close_matches(core, CORES)}"
        )
    return CORES[core]
