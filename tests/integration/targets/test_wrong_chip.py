"""rig.toml names one board, and the probe is that of another: the error names both."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from hil import boards
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import image_of
from hil.steady_clock import steady_s
from hil.targets import connect_options
from hil.targets.chip_found import ChipFound
from hil.targets.probe import DEADLINES_S, Probe
from hil.targets.probe_process import Failed, ProbeProcess

BOARDS = ("imxrt1062", "nrf52840", "rp2040", "rp2350", "stm32f746", "stm32h7b3")
# CPUID and DPIDR of the virtual chips: those of the catalogue's silicon as far as manuals and pyOCD give them.
FOUND = {
    "imxrt1062": "Cortex-M7, CPUID 0x411FC271, DPIDR 0x0BD11477",
    "nrf52840": "Cortex-M4, CPUID 0x410FC241, DPIDR 0x2BA01477",
    "rp2040": "Cortex-M0+, CPUID 0x410CC601, DPIDR 0x0BC12477",
    "rp2350": "Cortex-M33, CPUID 0x411FD210, DPIDR 0x4C013477",
    "stm32f746": "Cortex-M7, CPUID 0x410FC271, DPIDR 0x5BA02477",
    "stm32h7b3": "Cortex-M7, CPUID 0x411FC271, DPIDR 0x6BA02477",
}


@pytest.mark.parametrize(("there", "named"), list(itertools.permutations(BOARDS, 2)))
def test_the_chip_that_is_there_and_the_board_that_is_named(
    virtual_endpoints: Callable[[str], Endpoints], process: ProbeProcess, there: str, named: str
) -> None:
    at = virtual_endpoints(there)
    assert refused(named, at, process) == ("identity", sentence(there, named, at))


@pytest.mark.parametrize("named", ["imxrt1062", "nrf52840", "rp2040", "stm32f746"])
def test_the_chip_that_is_there_asleep(
    virtual_endpoints: Callable[[str], Endpoints], process: ProbeProcess, named: str
) -> None:
    """An STM32 that sleeps without DBG_SLEEP answers no access, and pyOCD finds no core until it is reset."""
    there = boards.load("stm32h7b3")
    at = virtual_endpoints(there.name)
    with contextlib.closing(Probe(there, str(at.probe), None, process, at.process)) as probe:
        probe.program(image_of(there.name))
        probe.start()
        assert probe.detach()  # the firmware waits for the host in Sleep mode
    assert not awake(str(at.probe), process)
    assert refused(named, at, process) == ("identity", sentence(there.name, named, at))


def awake(unique_id: str, process: ProbeProcess) -> bool:
    """Return whether pyOCD's generic target finds a core within a second."""
    until = steady_s() + 1.0
    while steady_s() < until:
        try:
            process.ask(30.0, "connect", unique_id, "cortex_m", connect_options.COMMON, None, "", True)
        except Failed as failed:
            assert "No cores were discovered" in str(failed)
            return False
    return True


def refused(named: str, at: Endpoints, process: ProbeProcess) -> tuple[str, str]:
    """Return stage and reason of the refusal to connect a board to the probe of another."""
    with pytest.raises(Blocked) as error:
        Probe(boards.load(named), str(at.probe), None, process, at.process)
    return error.value.stage, error.value.reason


def sentence(there: str, named: str, at: Endpoints) -> str:
    """Return the reason that names both boards."""
    board, other = boards.load(named), boards.load(there)
    return (
        f"the chip at the probe {at.probe} is that of {there} ({other.chip}): {FOUND[there]}; rig.toml names {named} "
        f"({board.chip}): correct the board or the probe in rig.toml; nothing was erased."
    )


class Recorded(ProbeProcess):
    """A process at a probe; notes its requests with their deadlines."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, deadline_s: float, request: str, *arguments: Any, stand_in: int | None = None) -> Any:
        self.asked.append((deadline_s, request, *arguments))
        return super().ask(deadline_s, request, *arguments, stand_in=stand_in)


def test_each_connection_that_finds_the_chip_has_a_deadline_of_its_own(
    virtual_endpoints: Callable[[str], Endpoints],
) -> None:
    """One for all was too short on a busy computer, and the sentence did not say which chip is there."""
    at, process = virtual_endpoints("rp2040"), Recorded()
    try:
        with pytest.raises(Blocked, match="is that of rp2040"):
            Probe(boards.load("nrf52840"), str(at.probe), None, process, at.process)
    finally:
        process.stop()
    tried = [(asked[0], asked[3]) for asked in process.asked if asked[1] == "survey"]
    assert tried == [(DEADLINES_S["connect"], target) for target in ("cortex_m", "rp2040")]


def test_a_chip_that_no_board_of_the_catalogue_has(
    virtual_endpoints: Callable[[str], Endpoints], process: ProbeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [boards.load(name) for name in ("nrf52840", "stm32h7b3")]
    monkeypatch.setattr(boards, "working", lambda: (others, []))
    probe = str(virtual_endpoints("rp2040").probe)
    with pytest.raises(Blocked, match=r"0x1754D in boot ROM's magic, but .* \(Cortex-M0\+, CPUID 0x410CC601") as one:
        known = boards.load("rp2040").identity
        assert known is not None
        unlike = dataclasses.replace(boards.load("rp2040"), name="mine", identity=dataclasses.replace(known, value=1))
        Probe(unlike, probe, None, process)
    assert one.value.stage == "identity"
    with pytest.raises(
        Blocked, match=r"failed to connect .*although a chip answers \(Cortex-M4, CPUID 0x410FC241"
    ) as one:
        monkeypatch.setattr(boards, "working", lambda: (others[1:], []))
        Probe(boards.load("stm32h7b3"), str(virtual_endpoints("nrf52840").probe), None, process)
    assert one.value.stage == "connect"


def test_a_debug_port_without_a_core_that_can_be_read() -> None:
    assert str(ChipFound(0x2BA01477)) == "unknown core, no core that can be read, DPIDR 0x2BA01477"
    assert ChipFound(0x2BA01477).boards() == []
