"""What the model refuses: one exception for everything that the chip does not have or the manual forbids."""

from __future__ import annotations

from hil.errors import RigError


class ModelFault(RigError):
    """The program did something that the chip does not have, or that the model does not know.

    Args:
        message: one sentence that names the register or address and the rule.
        address: the address accessed, if it was an access.
        access: `read`, `write`, `fetch` or `state`.
    """

    def __init__(self, message: str, address: int | None = None, access: str = "state") -> None:
        super().__init__(message)
        self.address = address
        self.access = access
