"""Calls that are hard to follow, at their returns: recursion, interrupt handlers, a cycle counter that is not alone.

On a virtual board through real pyOCD, and on QEMU through its GDB stub.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from host_agent import tool

from hil.dut import Dut, opened
from hil.errors import DeviceFault, RigError
from hil.rig import Bench, Rig
from tests.foreign import CALLS, build

VIRTUAL, QEMU, QEMU_M33 = "stm32f746", "mps2-an386", "mps2-an505"
FLOAT = {
    VIRTUAL: ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
    QEMU: (),
    QEMU_M33: ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
}


@pytest.fixture(scope="module", params=[VIRTUAL, QEMU, QEMU_M33])
def dut(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dut]:
    board: str = request.param
    if board == VIRTUAL:
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    else:
        tool("qemu-system-arm")
    folder = tmp_path_factory.mktemp("calls")
    elf = build(folder, board, *FLOAT[board], source=CALLS, name="calls.elf")
    with Rig(Bench()) as rig, opened(rig, board, elf, folder / "log") as one:
        one.flash()
        yield one


def test_of_a_function_that_calls_itself_the_outermost_call_counts(dut):
    calls = list(dut.at_return("recur", times=3))
    assert [(call.arguments[0], call.result) for call in calls] == [(2, 102)] * 3


@pytest.mark.parametrize("function", ["pendsv_handler", "tail_of_handler"])
def test_an_interrupt_handler_returns_to_what_it_interrupted(dut, function):
    """Also a function to which it jumps at its end. Counted by the firmware itself."""
    handled = []
    for call in dut.at_return(function, times=3):
        handled.append(int(dut.read("handled")))
        assert dut.probe.look().exception == 0
        with pytest.raises(RigError, match=f"{function} is an interrupt handler, or the end of one, and returns no"):
            _ = call.result
    assert handled == list(range(handled[0], handled[0] + 3))
    before = int(dut.read("handled"))
    assert next(iter(dut.at_return("plain", times=1))).index == 0  # it goes on
    assert next(iter(dut.at_return("plain", times=1))).index == 0 and int(dut.read("handled")) > before


def test_a_function_that_a_handler_calls_returns_in_it(dut):
    for call in dut.at_return("within_handler", times=2):
        assert call.result == 12 and dut.probe.look().exception == 14


CYCLES = {
    "times_a_lap": r"times_a_lap took [\d,]+ cycles in \d+\.\d+ s, which is impossible: the firmware writes DWT_CYCCNT",
    "stops_half_way": "the cycle counter is off at the return of stops_half_way .DEMCR.TRCENA or DWT_CTRL.CYCCNTENA is 0",
    "begins_without": "the cycle counter is off at the call of begins_without",
}


@pytest.mark.parametrize("dut", [VIRTUAL], indirect=True)
@pytest.mark.parametrize("function", CYCLES)
def test_cycles_that_the_firmware_has_disturbed_are_an_error(dut, function):
    plain = {call.cycles for call in dut.at_return("plain", times=3)}
    assert len(plain) == 1 and min(plain) > 1000
    for call in dut.at_return(function, times=2):
        assert call.index in (0, 1)
        with pytest.raises(RigError, match=CYCLES[function]) as seen:
            _ = call.cycles
        assert not isinstance(seen.value, DeviceFault)


@pytest.mark.parametrize("times", [0, -1, True, 2.0, "2"])
def test_a_number_of_returns_that_is_none_is_refused(dut, times):
    with pytest.raises(RigError, match="times is .*: give a whole number, at least 1, or None for no end"):
        next(dut.at_return("plain", times=times))


def test_where_the_core_is_that_does_not_call_a_function_is_no_hang(dut):
    with pytest.raises(DeviceFault, match="fault_handler returned 0 of 2 times, and not again within 0.2 s: ") as seen:
        list(dut.at_return("fault_handler", times=2, timeout=0.2))
    said = str(seen.value)
    assert "looks found the core in" in said and "hang" not in said and "prints nothing" not in said
    assert said.endswith("; returns before the loop began are not seen (docs/dut.md, The core).")
