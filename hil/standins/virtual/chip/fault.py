"""The exception for everything that the chip does not have or the manual forbids."""

from __future__ import annotations

from hil.errors import RigError


class ModelFault(RigError):
    """The program used something that the chip or its model does not have.

    Args:
        message: one sentence with the register or address and the rule.
        address: accessed address, if the fault is an access.
        access: `read`, `write`, `fetch` or `state`.
    """

    def __init__(self, message: str, address: int | None = None, access: str = "state") -> None:
        super().__init__(message)
        self.address = address
        self.access = access
