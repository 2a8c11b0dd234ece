"""Diagnose a board that is silent or has faulted: find the place in its code (docs/recovery.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hil.boards import Board, faults
from hil.errors import Blocked, DeviceFault
from hil.images import Image
from hil.images.unwind import LR, return_addresses
from hil.link.failures import Faulted, Silent
from hil.targets import Target
from hil.targets.core_sample import Sample
from hil.trial.line_counters import LineTest, count_line_bytes

CFSR = 0xE000ED28  # ARM DDI 0403E.e, B3.2.15; ARMv6-M has none
WAITS = ("port_wait", "port_sleep_ms", "wait_for_interrupt")
PC = 15


class Hang(DeviceFault):
    """The firmware runs and does not return to its link."""


@contextlib.contextmanager
def placed(target: Target, board: Board, image: Image) -> Iterator[None]:
    """Add the place in the code to an error of a silent or faulted board.

    Raises:
        DeviceFault: the processor has faulted, or hangs: `Hang`.
        Silent: the original error, with the findings of the probe if there is one.
    """
    try:
        yield
    except Faulted as fault:
        raise DeviceFault(fault_sentence(fault, board, image)) from fault
    except Silent as silence:
        raise _looked_at(silence, target, board, image) from silence


def fault_sentence(fault: Faulted, board: Board, image: Image) -> str:
    """Return a sentence with kind, causes and place of a fault that the agent has reported."""
    what = faults.describe(fault.kind, fault.cfsr, fault.address, _armv6m(board))
    if not fault.pc:
        return f"the processor faulted: {what}, and its stack was overrun: neither pc nor lr is known."
    caller = (
        f", called from {image.place(fault.lr, call=True)}"
        if fault.lr & 1 and fault.lr < 0xF0000000
        else f", lr 0x{fault.lr:08X}"
    )
    return f"the processor faulted: {what} at pc {image.place(fault.pc)}{caller}."


def _armv6m(board: Board) -> bool:
    return board.core == "cortex-m0plus"


def _looked_at(silence: Silent, target: Target, board: Board, image: Image) -> Blocked | DeviceFault:
    if target.probe is None:
        return silence
    try:
        samples = target.probe.sample()
        cfsr = _cfsr(target, samples, board)
        return _faulted(samples[-1], board, image, cfsr) or _hangs_or_waits(
            silence, samples, image, count_line_bytes(target, image)
        )
    except Blocked as blocked:
        return Silent(f"{silence.reason} Nor can the probe say where the core is: {blocked.reason}")


def _cfsr(target: Target, samples: list[Sample], board: Board) -> int:
    handles = samples[-1].lockup or faults.HARD_FAULT <= samples[-1].exception <= max(faults.KINDS)
    if target.probe is None or _armv6m(board) or not handles:
        return 0
    return int.from_bytes(target.probe.read(CFSR, 4), "little")


def _faulted(last: Sample, board: Board, image: Image, cfsr: int) -> DeviceFault | None:
    if last.lockup:
        return DeviceFault(
            "the core is locked up: it faulted while it handled a fault "
            f"({faults.describe(faults.HARD_FAULT, cfsr, 0, _armv6m(board))})."
        )
    if last.exception in faults.KINDS:
        what = faults.describe(last.exception, cfsr, 0, _armv6m(board))
        return DeviceFault(
            f"the processor faulted: {what}; it stopped at pc {image.place(last.pc)}, "
            "and its last words were lost on the line."
        )
    return None


def _hangs_or_waits(silence: Silent, samples: list[Sample], image: Image, line: LineTest | None) -> Silent | Hang:
    """Decide between a silent line and a hang.

    An agent that reads bytes does not hang, wherever its core was sampled. One that reads none hangs, unless it waits
    for bytes.
    """
    last = samples[-1]
    waiting = [sample.asleep or _function(image, sample) in WAITS for sample in samples]
    if line is not None and (line.taken or (not line.reached and any(waiting))):
        return Silent(f"{silence.reason} By the counts of both ends {line.sentence()}")
    if all(waiting):
        return Silent(
            f"{silence.reason} The core waits for bytes at pc {image.place(last.pc)}: they do not reach it, "
            "check the line."
        )
    functions = ", ".join(dict.fromkeys(_function(image, sample) for sample in samples))
    return Hang(
        f"the firmware hangs: {silence.reason.partition(':')[0]}; {len(samples)} looks found the core in {functions}, "
        f"the last at pc {image.place(last.pc)}{_callers(image, last)}."
    )


def _function(image: Image, sample: Sample) -> str:
    return image.function_at(sample.pc).partition("+")[0]


def _callers(image: Image, sample: Sample) -> str:
    """Return the callers from the stack, or else the content of lr."""
    registers = dict(enumerate(sample.registers[:PC]))
    found = return_addresses(image.path, sample.pc, registers, sample.word)
    if found:
        return "".join(f", called from {image.place(back, call=True)}" for back in found)
    return f", lr {image.place(registers[LR], call=True)}"
