"""A return of a function, with the cycles of its call if they can be told."""

from __future__ import annotations

from dataclasses import dataclass

from hil.errors import RigError
from hil.targets.core_sample import CallFrame

COUNTER_MASK = 0xFFFF_FFFF
FASTER, SLACK_S = 4, 0.1  # than the declared clock may a core or a stand-in run, and the time of the stops themselves


@dataclass(frozen=True)
class Returned:
    """A return of a function, at which the core is halted.

    Attributes:
        index: 0 for the first one.
        arguments: r0 to r3 at the call.
    """

    index: int
    arguments: tuple[int, ...]
    _result: int | RigError
    _cycles: int | RigError | None

    @property
    def result(self) -> int:
        """r0, the returned whole number or address. Raises RigError of an interrupt handler, which returns none."""
        if isinstance(self._result, RigError):
            raise self._result
        return self._result

    @property
    def cycles(self) -> int | None:
        """Cycles between call and return (counted); None without a cycle counter.

        Raises RigError if the firmware has switched the counter off, or has written it so that the figure cannot be.
        """
        if isinstance(self._cycles, RigError):
            raise self._cycles
        return self._cycles


def returned(function: str, index: int, call: CallFrame, clock_hz: int | None) -> Returned:
    """Return what a test sees of a call; `clock_hz` is None without a cycle counter, 0 if nobody knows the clock."""
    result = call.result if call.result is not None else RigError(
        f"{function} is an interrupt handler, or the end of one, and returns no result: read what it writes."
    )  # fmt: skip
    cycles = _cycles(function, call, clock_hz) if clock_hz is not None else None
    return Returned(index, call.arguments, result, cycles)


def _cycles(function: str, call: CallFrame, clock_hz: int) -> int | RigError:
    cure = "let the firmware leave the cycle counter alone, or take the time that it prints."
    if call.before is None or call.after is None:
        when = "call" if call.before is None else "return"
        return RigError(
            f"the cycle counter is off at the {when} of {function} (DEMCR.TRCENA or DWT_CTRL.CYCCNTENA is 0), so its "
            f"cycles are not known: {cure}"
        )
    taken = (call.after - call.before) & COUNTER_MASK
    most = FASTER * clock_hz * (call.seconds + SLACK_S)
    if not taken or (clock_hz and taken > most):
        took = f"{taken:,} cycles in {call.seconds:.3f} s" if taken else "no cycles at all"
        return RigError(
            f"the cycle counter says that {function} took {took}, which is impossible: the firmware writes DWT_CYCCNT "
            f"meanwhile, or switches it off and on: {cure}"
        )
    return taken
