"""Stops at calls and returns, on a core that follows a script of moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from hil.errors import Blocked
from hil.targets.call_stops import CallStops

F, BACK, OTHER = 0x100, 0x201, 0x300
SP, PSP = 0x2000_1000, 0x2000_2000


@dataclass
class Moment:
    """Where the core is before an instruction."""

    pc: int
    sp: int = SP
    lr: int = BACK
    r0: int = 0
    psp: int = PSP


@dataclass
class ScriptedCore:
    """It runs through its script and halts before a moment at a breakpoint, also before the one at which it stands."""

    script: Sequence[Moment]
    memory: dict[int, int] = field(default_factory=dict)
    at: int = 0
    breakpoints: set[int] = field(default_factory=set)
    halted: bool = False

    def halt(self) -> None:
        self.halted = True

    def resume(self) -> None:
        while self.at < len(self.script) and self.script[self.at].pc not in self.breakpoints:
            self.at += 1
        self.halted = self.at < len(self.script)

    def step(self) -> None:
        assert self.halted and self.script[self.at].pc not in self.breakpoints
        self.at += 1

    def halted_within(self, seconds: float) -> bool:
        return self.halted

    def registers(self, names: Sequence[str]) -> list[int]:
        assert self.halted
        return [getattr(self.script[self.at], name, 0) for name in names]

    def word(self, address: int) -> int:
        return self.memory[address]

    def set_breakpoint(self, address: int) -> None:
        assert self.halted
        self.breakpoints.add(address)

    def remove_breakpoint(self, address: int) -> None:
        assert self.halted
        self.breakpoints.remove(address)


def recursion(depth: int) -> list[Moment]:
    """A function that calls itself `depth` times and returns how deep it was; the inner calls return to 0x110."""
    calls = [Moment(F, SP - 16 * n, BACK if n == 0 else 0x111, depth - n) for n in range(depth + 1)]
    returns = [Moment(0x110, SP - 16 * (n + 1), 0x111, 100 + depth - n - 1) for n in range(depth - 1, -1, -1)]
    return [*calls, *returns, Moment(BACK & ~1, SP, 0, 100 + depth), Moment(OTHER)]


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_the_outermost_call_counts(depth):
    stops = CallStops(ScriptedCore(recursion(depth) * 2), [F], None)
    for _ in range(2):
        call = stops.stop_at_return(1.0)
        assert call is not None and (call.arguments[0], call.result) == (depth, 100 + depth)
    assert stops.stop_at_return(1.0) is None


@pytest.mark.parametrize("begun", range(1, 5))
def test_a_call_that_began_within_another_has_the_result_of_its_own_return(begun):
    core = ScriptedCore([Moment(OTHER), *recursion(4)[begun:]])
    call = CallStops(core, [F], None).stop_at_return(1.0)
    assert call is not None and (call.arguments[0], call.result) == (4 - begun, 100 + 4 - begun)
    assert core.breakpoints == {0x110} and core.halted


def framed(address: int, back: int, aligned: bool) -> dict[int, int]:
    return {address + 0x18: back, address + 0x1C: 0x0100_0000 | aligned << 9}


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize(("lr", "frame", "size"), [
    (0xFFFF_FFF1, SP, 0x20), (0xFFFF_FFF9, SP, 0x20), (0xFFFF_FFFD, PSP, 0x20),  # Armv6-M and Armv7-M
    (0xFFFF_FFE1, SP, 0x68), (0xFFFF_FFE9, SP, 0x68), (0xFFFF_FFED, PSP, 0x68),  # with floating point
    (0xFFFF_FFB0, SP, 0x20), (0xFFFF_FFB8, SP, 0x20), (0xFFFF_FFBC, PSP, 0x20), (0xFFFF_FFAC, PSP, 0x68),  # Armv8-M
    (0xFFFF_FFD9, SP + 0x28, 0x20), (0xFFFF_FFE9, SP, 0xA8),  # with the additional state, with s16 to s31
])  # fmt: skip
def test_a_handler_returns_to_what_its_frame_says(lr, frame, size, aligned):
    core = ScriptedCore(
        [
            Moment(F, SP, lr), Moment(0x500, SP - 8),  # the handler uses code of what it interrupted
            Moment(0x500, frame + size + 4 * aligned, r0=77), Moment(OTHER),
        ],
        framed(frame, 0x501 if aligned else 0x500, aligned),
    )  # fmt: skip
    call = CallStops(core, [F], None).stop_at_return(1.0)
    assert call is not None and call.result is None and core.at == 2


def test_a_handler_over_the_other_security_state_is_refused():
    with pytest.raises(Blocked, match="has interrupted the other security state .EXC_RETURN 0xFFFFFFB9., so its frame"):
        CallStops(ScriptedCore([Moment(F, SP, 0xFFFF_FFB9)]), [F], None).stop_at_return(1.0)
