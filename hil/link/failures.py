"""Errors of a request that gets no reply, or no usable one."""

from __future__ import annotations

from typing import Any

from hil.errors import Blocked, DeviceFault, RigError


class Silent(Blocked):
    """The agent no longer answers: the line is cut, or the firmware hangs.

    Attributes:
        looked_at: whether the reason says already what the probe found.
    """

    def __init__(self, reason: str, looked_at: bool = False) -> None:
        super().__init__("link", reason)
        self.looked_at = looked_at

    def __reduce__(self) -> tuple[Any, ...]:
        """Give pickle the arguments of this class."""
        return type(self), (self.reason, self.looked_at)


class PortLost(Blocked):
    """The serial port is gone: the board was unplugged, enumerates again after a reset, or the network was cut."""

    def __init__(self, reason: str) -> None:
        super().__init__("link", reason)

    def __reduce__(self) -> tuple[Any, ...]:
        """Give pickle the arguments of this class."""
        return type(self), (self.reason,)


class Refused(RigError):
    """The agent answered a request with an error: `code` and its two words `a` and `b`.

    `said` is the message, if there is a better one than code and words.
    """

    def __init__(self, request: str, code: str, a: int, b: int, said: str = "") -> None:
        super().__init__(said or f"the agent refused {request}: {code} ({a}, {b})")
        self.request, self.code, self.a, self.b = request, code, a, b


class ProtocolMismatch(Blocked):
    """A reply or control frame with a correct CRC does not fit its description in messages.toml."""

    def __init__(self, name: str, why: str) -> None:
        reason = f"the agent's reply to {name!r} does not fit the protocol ({why}): flash the firmware of this version."
        super().__init__("link", reason)


class Faulted(DeviceFault):
    """The processor reported a fault (docs/link.md, `fault`).

    Attributes:
        kind: number of the exception (ARM DDI 0403E.e, B1.5.2).
        pc, lr: as the processor stacked them; 0 if its stack could not be trusted.
        cfsr, address: Configurable Fault Status Register, of a SecureFault the Secure Fault Status Register, and the
            valid fault address; 0 on ARMv6-M, which has neither.
    """

    def __init__(self, kind: int, pc: int, lr: int, cfsr: int, address: int) -> None:
        super().__init__(
            f"the processor faulted at pc 0x{pc:08X} (lr 0x{lr:08X}, CFSR 0x{cfsr:08X}, address 0x{address:08X})."
        )
        self.kind, self.pc, self.lr, self.cfsr, self.address = kind, pc, lr, cfsr, address
