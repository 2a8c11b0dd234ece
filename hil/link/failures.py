"""How a request ends that gets no reply, or none that is of use."""

from __future__ import annotations

from hil.errors import Blocked, DeviceFault, RigError


class Silent(Blocked):
    """The agent said nothing any more: a line that is cut, or a firmware that hangs."""

    def __init__(self, reason: str) -> None:
        super().__init__("link", reason)


class Refused(RigError):
    """The agent refused a request; `code` and its two words are in the message."""

    def __init__(self, request: str, code: str, a: int, b: int) -> None:
        super().__init__(f"the agent refused {request}: {code} ({a}, {b})")
        self.request, self.code, self.a, self.b = request, code, a, b


class Misfit(Blocked):
    """A reply or control frame came whole, and is not what the protocol says it is."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            "link",
            f"the agent's reply to {name!r} does not fit the protocol ({why}): flash the firmware of this version.",
        )


class Faulted(DeviceFault):
    """The processor has faulted, and said so itself (docs/link.md, `fault`).

    Attributes:
        kind: number of the exception (ARM DDI 0403E.e, B1.5.2).
        pc, lr: as the processor stacked them; 0 where its stack was not to be trusted.
        cfsr, address: Configurable Fault Status Register, and the address that it says is valid; 0 on ARMv6-M, which has neither.
    """

    def __init__(self, kind: int, pc: int, lr: int, cfsr: int, address: int) -> None:
        super().__init__(
            f"the processor faulted at pc 0x{pc:08X} (lr 0x{lr:08X}, CFSR 0x{cfsr:08X}, address 0x{address:08X})."
        )
        self.kind, self.pc, self.lr, self.cfsr, self.address = kind, pc, lr, cfsr, address
