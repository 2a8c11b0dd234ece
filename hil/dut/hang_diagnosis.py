"""Diagnose a board that is silent or has faulted: find the place in its code (docs/recovery.md)."""

from __future__ import annotations

from hil.boards import Board, faults
from hil.boards.cores import core_of
from hil.dut.line_counters import LineTest, count_line_bytes
from hil.errors import Blocked, DeviceFault
from hil.images import Image
from hil.images.stack_area import overflow_of
from hil.images.unwind import LR, Read, call_chain
from hil.link.failures import Faulted, Silent
from hil.targets.core_probe import CoreProbe
from hil.targets.core_sample import Sample
from hil.targets.serial_port import SerialPort

CFSR, MMFAR, BFAR = 0xE000ED28, 0xE000ED34, 0xE000ED38  # ARM DDI 0403E.e, B3.2.15 to B3.2.18; ARMv6-M has none
SFSR, SFAR = 0xE000EDE4, 0xE000EDE8  # ARM DDI 0553B.l, SFSR and SFAR
READS = (  # of newlib, and usual names of drivers
    "_read", "_read_r", "read", "__sread", "__srefill_r", "__srget_r", "getchar", "getc", "_getc_r", "fgetc", "fgets",
    "uart_getc", "uart_getchar", "uart_read", "uart_get", "usart_read", "serial_read", "inbyte", "HAL_UART_Receive",
)  # fmt: skip
WAITS = ("port_wait", "port_sleep_ms", "wait_for_interrupt")
SP, PC = 13, 15
EXC_RETURN, ON_PSP = 0xFFFFFF80, 4  # lowest value in lr, and the bit of the process stack (ARM DDI 0553B.l, EXC_RETURN)


class Hang(DeviceFault):
    """The firmware runs and does not return to its link; `looks` is where the core was, as part of a sentence."""

    def __init__(self, sentence: str, looks: str = "") -> None:
        super().__init__(sentence)
        self.looks = looks


def fault_sentence(fault: Faulted, board: Board, image: Image) -> str:
    """Return a sentence with kind, causes and place of a fault that the agent has reported."""
    secure = fault.kind == faults.SECURE_FAULT  # then the agent has sent SFSR in the place of CFSR
    cfsr, sfsr = (0, fault.cfsr) if secure else (fault.cfsr, 0)
    what = faults.describe(fault.kind, cfsr, fault.address, _armv6m(board), sfsr)
    if not fault.pc:
        return f"the processor faulted: {what}, and its stack was overrun: neither pc nor lr is known."
    caller = (
        f", called from {image.place(fault.lr, call=True)}"
        if fault.lr & 1 and fault.lr < 0xF0000000
        else f", lr 0x{fault.lr:08X}"
    )
    return f"the processor faulted: {what} at pc {image.place(fault.pc)}{caller}."


def fault_of(probe: CoreProbe, board: Board, image: Image) -> DeviceFault | None:
    """Return the fault that a core handles or is locked up in, with its causes and place; None if there is none."""
    return _faulted(probe, probe.look(), board, image)


def found_by(probe: CoreProbe, board: Board, image: Image, silence: Silent) -> DeviceFault | None:
    """Return what the probe finds of a firmware that prints nothing: a fault or a hang, None if it waits for bytes."""
    samples = probe.sample()
    fault = _faulted(probe, samples[-1], board, image)
    if fault is None and _reads(samples, image):
        return None
    found = fault or _hangs_or_waits(silence, samples, image, None)
    return found if isinstance(found, DeviceFault) else None


def waits_of(probe: CoreProbe, image: Image) -> str | None:
    """Return where a core waits for input, as part of a sentence; None if it is in no function that reads."""
    samples = probe.sample()
    last = samples[-1]
    if last.exception or not _reads(samples, image):
        return None
    return f"the core waits for input at pc {image.place(last.pc)}{_callers(image, last)}"


def _reads(samples: list[Sample], image: Image) -> bool:
    """Return whether every look found the core in a function that reads, or in what that calls."""
    last = samples[-1]
    chain = call_chain(image.path, last.pc, dict(enumerate(last.registers[:PC])), last.word)
    names = [_function(image, last)]
    for each in chain:
        if not each.called:  # an exception
            break
        names.append(image.function_at(each.address, True).partition("+")[0])
    reader = next((number for number, name in enumerate(names) if name in READS), None)
    if reader is None:
        return False
    within, callers = {*READS, *names[: reader + 1]}, set(names[reader + 1 :])
    return all(_is_within(image, sample, within, callers) for sample in samples)


def _is_within(image: Image, sample: Sample, within: set[str], callers: set[str]) -> bool:
    """Return whether a look found the core in one of some functions, or in one that they have called.

    Only the last look has the stack; of the others, lr says who called. It is stale in the `callers`, which go on after
    a call.
    """
    name = _function(image, sample)
    if name in within:
        return True
    return name not in callers and image.function_at(sample.registers[LR], True).partition("+")[0] in within


def _armv6m(board: Board) -> bool:
    return core_of(board.name, board.core).is_armv6m


def looked_at(
    silence: Silent, probe: CoreProbe, port: SerialPort | None, board: Board, image: Image
) -> Silent | DeviceFault:
    """Return what the probe finds of a board that does not answer: a fault, a `Hang`, or the silence in more words.

    Without a port the line is not tested.
    """
    try:
        samples = probe.sample()
        fault = _faulted(probe, samples[-1], board, image)
        count = fault is None and port is not None and image.has_agent
        line = count_line_bytes(probe, port, image) if count and port is not None else None
        return fault or _hangs_or_waits(silence, samples, image, line)
    except Blocked as blocked:
        return Silent(f"{silence.reason} Nor can the probe say where the core is: {blocked.reason}", looked_at=True)


def _word(probe: CoreProbe, address: int) -> int | None:
    data = probe.read_ram(address, 4) if not address % 4 and 0 <= address < 0xFFFF_FFFC else None
    return int.from_bytes(data, "little") if data is not None else None


def _cause(probe: CoreProbe, exception: int, board: Board) -> tuple[str, int]:
    """Return the exception that a core handles, with what its fault registers say; and CFSR, 0 without one."""
    core, cfsr, sfsr, at = core_of(board.name, board.core), 0, 0, None
    if exception in faults.KINDS and exception != faults.NMI and core.has_cfsr:
        cfsr = _register(probe, CFSR)
        sfsr = _register(probe, SFSR) if core.has_sfsr else 0
        at = (
            MMFAR if cfsr >> faults.MMARVALID & 1
            else BFAR if cfsr >> faults.BFARVALID & 1
            else SFAR if sfsr >> faults.SFARVALID & 1 else None
        )  # fmt: skip
    address = _register(probe, at) if at is not None else 0
    return faults.describe(exception, cfsr, address, _armv6m(board), sfsr), cfsr


def _register(probe: CoreProbe, address: int) -> int:
    return int.from_bytes(probe.read(address, 4), "little")


def _faulted(probe: CoreProbe, last: Sample, board: Board, image: Image) -> DeviceFault | None:
    """Return the fault that a core handles or is locked up in, with its causes and place; None if there is none."""
    if last.lockup:
        what, cfsr = _cause(probe, faults.HARD_FAULT, board)
        return DeviceFault(
            f"the core is locked up: it faulted while it handled a fault ({what}){_overflow(last, board, image, cfsr)}."
        )
    if last.exception in faults.KINDS:
        what, cfsr = _cause(probe, last.exception, board)

        def read(at: int) -> int | None:  # the stack of a thread is elsewhere
            return last.word(at) if last.word(at) is not None else _word(probe, at)

        lost = ", and its last words were lost on the line" if image.has_agent else ""
        return DeviceFault(
            f"the processor faulted: {what}{_before_fault(last, image, read)}; "
            f"it stopped at pc {image.place(last.pc)}{_overflow(last, board, image, cfsr)}{lost}."
        )
    return None


def _overflow(last: Sample, board: Board, image: Image, cfsr: int) -> str:
    """Return what says that the stack has overflowed, as `overflow_of`: that of the thread, if it has one."""
    lr = last.registers[LR]
    of_thread = lr >= EXC_RETURN and lr & ON_PSP
    return overflow_of(image, board, last.psp if of_thread else last.registers[SP], cfsr, not of_thread)


def _before_fault(last: Sample, image: Image, read: Read) -> str:
    """Return where the core was when it faulted: what the handler interrupted, and its caller."""
    chain = call_chain(image.path, last.pc, dict(enumerate(last.registers[:PC])), read, last.psp or None)
    at = next((number for number, each in enumerate(chain) if not each.called), None)
    if at is None:
        return ""
    caller = f", called from {image.place(chain[at + 1].address, call=True)}" if len(chain) > at + 1 else ""
    return f" at pc {image.place(chain[at].address)}{caller}"


def _hangs_or_waits(silence: Silent, samples: list[Sample], image: Image, line: LineTest | None) -> Silent | Hang:
    """Decide between a silent line and a hang.

    An agent that reads bytes does not hang, wherever its core was sampled. One that reads none hangs, unless it waits
    for bytes.
    """
    last = samples[-1]
    waiting = [sample.asleep or _function(image, sample) in WAITS for sample in samples]
    if line is not None and (line.taken or (not line.reached and any(waiting))):
        return Silent(f"{silence.reason} By the counts of both ends {line.sentence()}", looked_at=True)
    if all(waiting):
        return Silent(
            f"{silence.reason} The core waits for bytes at pc {image.place(last.pc)}: they do not reach it, "
            "check the line.",
            looked_at=True,
        )
    functions = ", ".join(dict.fromkeys(_function(image, sample) for sample in samples))
    looks = (
        f"{len(samples)} looks found the core in {functions}, the last at pc {image.place(last.pc)}"
        f"{_callers(image, last)}"
    )
    return Hang(f"the firmware hangs: {silence.reason.partition(':')[0]}; {looks}.", looks)


def _function(image: Image, sample: Sample) -> str:
    return image.function_at(sample.pc).partition("+")[0]


def _callers(image: Image, sample: Sample) -> str:
    """Return the callers from the stack, or else the content of lr."""
    registers = dict(enumerate(sample.registers[:PC]))
    found = call_chain(image.path, sample.pc, registers, sample.word)
    if found:
        return "".join(
            f", {'called from' if each.called else 'which interrupted'} {image.place(each.address, call=each.called)}"
            for each in found
        )
    return f", lr {image.place(registers[LR], call=True)}"
