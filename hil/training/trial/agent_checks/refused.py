"""A request that the agent must refuse, with the error that docs/link.md gives it."""

from __future__ import annotations

from typing import Any

from hil.errors import DeviceFault
from hil.training.trial.device import Device

Error = tuple[str, int, int]  # code and both words


def expect(device: Device, error: Error | None, request: str, **values: Any) -> None:
    """Send a request that must be refused with an error, or carried out (None).

    Raises:
        DeviceFault: it is carried out, or refused for another reason.
    """
    refusal = device.refusal(request, **values)
    found = None if refusal is None else (refusal.code, refusal.a, refusal.b)
    if found != error:
        wanted = "carry it out" if error is None else f"refuse it with {error[0]} ({error[1]}, {error[2]})"
        instead = "carries it out" if found is None else f"answers {found[0]} ({found[1]}, {found[2]})"
        sent = ", ".join(
            f"{name} {value if isinstance(value, int) else f'of {len(value)} bytes'}" for name, value in values.items()
        )
        raise DeviceFault(f"request {request} ({sent}): the agent must {wanted}, but {instead} (docs/link.md).")
