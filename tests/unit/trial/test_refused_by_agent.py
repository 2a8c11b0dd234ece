"""What a refusal of the agent means: a network that does not fit blocks, a plan that is wrong fails."""

from __future__ import annotations

from hil.errors import Blocked, DeviceFault
from hil.link.failures import Refused
from hil.training.trial.device import refused

PLANNED = 60_000


def test_a_network_that_does_not_fit_blocks() -> None:
    found = refused(Refused("configure", "does_not_fit", PLANNED, 50_000), PLANNED)
    assert isinstance(found, Blocked) and found.stage == "plan" and "60,000 bytes of an arena of 50,000" in str(found)


def test_an_agent_that_plans_more_than_the_page_on_memory_fails() -> None:
    """A defect of the firmware made it want 4 GiB; the verdict was `blocked`, with the advice of a smaller batch."""
    found = refused(Refused("configure", "does_not_fit", 2**32 - 1, 1 << 20), PLANNED)
    assert isinstance(found, DeviceFault)
    assert "4,294,967,295 bytes of arena, but docs/memory.md gives 60,000" in str(found)


def test_any_other_refusal_fails() -> None:
    assert isinstance(refused(Refused("step", "slots_empty", 0, 1), PLANNED), DeviceFault)
