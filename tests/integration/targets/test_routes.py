"""Which route a board has, what the agent's word decides, targets and packs of pyOCD, cycles, and ports that come back."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import tty
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import serial.tools.list_ports
import xxhash

from hil import boards
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError
from hil.images import Image, image_of
from hil.link.failures import Refused
from hil.rig_toml import read_bench
from hil.standins import start_virtual
from hil.targets import boot_loader, connect_options, flash_cycles, pyocd_targets
from hil.targets.boot_loader import ByBootLoader, ask_agent, leave_for_boot_loader
from hil.targets.cmsis_pack import device_of, target_in
from hil.targets.flash_route import AlreadyLoaded, Flashing, route_of
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.pyocd_targets.stm32f746xg import STM32F746xG
from hil.targets.pyocd_targets.stm32h7b3xx import STM32H7B3xx
from hil.targets.serial_port import emptied, open_serial
from hil.targets.uf2 import Uf2
from tests.device_at import device_at

H7, PICO, QEMU = (boards.load(name) for name in ("stm32h7b3", "rp2040", "mps2-an500"))
IMAGE = image_of("stm32h7b3")
VirtualEndpoints = Callable[[str], Endpoints]


class FakeLoader:
    """A boot loader that the board comes into at the n-th look, once it is `asked` for."""

    name, button = "fake", "press the button"

    def __init__(self, after: int = 0, asked: bool = True) -> None:
        self.after, self.asked, self.programmed = after, asked, 0

    def waits(self) -> bool:
        self.after -= self.asked
        return self.after < 0

    def program(self, image: Image) -> None:
        self.programmed += 1


def said(digest: int = IMAGE.digest, board: bytes = b"stm32h7b3") -> dict[str, Any]:
    return {"board": board.ljust(16, b"\0"), "image_digest": digest}


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any] | None], None]:
    """Decides what the agent says."""
    return lambda answer: monkeypatch.setattr(boot_loader, "ask_agent", lambda port: answer)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks follow one another without a pause."""
    monkeypatch.setattr(boot_loader, "POLL_S", 0.0)


@pytest.fixture
def leaves(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeLoader, bool], None]:
    """Decides whether the agent goes when it is asked to."""

    def decide(loader: FakeLoader, goes: bool = True) -> None:
        def ask(port: object) -> bool:
            loader.asked = goes
            return goes

        monkeypatch.setattr(boot_loader, "leave_for_boot_loader", ask)

    return decide


@pytest.mark.parametrize(
    ("answer", "always", "programs"),
    [(said(), False, 0), (said(), True, 1), (said(1), False, 1), (None, False, 1)],
)  # fmt: skip
def test_the_agents_digest_decides(
    agent: Callable[..., None], leaves: Callable[..., None], answer: dict[str, Any] | None, always: bool, programs: int
) -> None:
    agent(answer)
    loader = FakeLoader(asked=answer is None)
    leaves(loader)
    route = ByBootLoader(H7, None, loader, lambda sentence: None)  # type: ignore[arg-type]
    assert route.program(IMAGE, always) == bool(programs)
    assert (loader.programmed, route.name) == (programs, "fake")


class Answers:
    """A session with an agent that has other bytes than zeros at every address, or is too old to say."""

    def __init__(self, port: object, nonce: int) -> None:
        self.greeted = False

    def hello(self, deadline_s: float) -> dict[str, Any]:
        self.greeted = True
        return said()

    def request(self, name: str, address: int, total: int) -> dict[str, int]:
        assert self.greeted and name == "keep"
        if address == TOO_OLD:
            raise Refused(name, "unknown_request", 0x15, 0)
        return {"digest": xxhash.xxh32_intdigest(b"held" if address == HELD else b"other")}


TOO_OLD, HELD, OTHER = 0x0810_0000, 0x0811_0000, 0x0812_0000


@pytest.mark.parametrize(
    ("addresses", "programs"), [((HELD,), 0), ((OTHER,), 1), ((HELD, OTHER), 1), ((TOO_OLD,), 0), ((), 0)]
)
def test_what_lies_beside_the_image_is_asked_for_too(
    agent: Callable[..., None],
    leaves: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    addresses: tuple[int, ...],
    programs: int,
) -> None:
    """The digest of the image says nothing of it. An older agent cannot tell: the trial finds out."""
    agent(said())
    monkeypatch.setattr(boot_loader, "Session", Answers)
    image, loader = IMAGE, FakeLoader(asked=False)
    leaves(loader)
    for address in addresses:
        image = image.carrying(address, b"held")
    assert [address for address, _ in image.cargo] == list(addresses)
    assert ByBootLoader(H7, None, loader, lambda sentence: None).program(image) == bool(programs)  # type: ignore[arg-type]
    assert loader.programmed == programs


def test_another_board_is_not_flashed(agent: Callable[..., None]) -> None:
    agent(said(1, b"rp2040"))
    loader = FakeLoader()
    with pytest.raises(
        Blocked, match="the board reports the name 'rp2040', not 'stm32h7b3'.*nothing was flashed"
    ) as refused:
        ByBootLoader(H7, None, loader, lambda sentence: None).program(IMAGE)  # type: ignore[arg-type]
    assert (refused.value.stage, loader.programmed) == ("identity", 0)


def test_an_agent_that_goes_spares_the_person_the_button(
    agent: Callable[..., None], leaves: Callable[..., None]
) -> None:
    agent(said(1))
    told: list[str] = []
    loader = FakeLoader(after=5, asked=False)  # enumerates some looks after the request
    leaves(loader)
    assert ByBootLoader(H7, None, loader, told.append).program(IMAGE)  # type: ignore[arg-type]
    assert (loader.programmed, told) == (1, [])


def test_an_agent_that_cannot_go_or_does_not_arrive_leaves_it_to_the_person(
    agent: Callable[..., None], leaves: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(said(1))
    for goes in (False, True):
        told: list[str] = []
        loader = FakeLoader(asked=False)
        leaves(loader, goes)
        loader.after = 1 << 40

        def tell(sentence: str, loader: FakeLoader = loader, told: list[str] = told) -> None:
            told.append(sentence)
            loader.after, loader.asked = 3, True  # the button

        monkeypatch.setattr(boot_loader, "APPEAR_S", 0.05)
        assert ByBootLoader(H7, None, loader, tell).program(IMAGE)  # type: ignore[arg-type]
        assert told == ["stm32h7b3 needs its boot loader: press the button (within 60 s)."]


def test_who_waits_while_the_agent_answers_is_another_board(agent: Callable[..., None]) -> None:
    agent(said(1))
    loader = FakeLoader()
    with pytest.raises(
        Blocked, match="another board waits in its boot loader while the agent of stm32h7b3 answers"
    ) as refused:
        ByBootLoader(H7, None, loader, lambda sentence: None).program(IMAGE)  # type: ignore[arg-type]
    assert (refused.value.stage, loader.programmed) == ("identity", 0)


def test_a_person_is_told_once_and_waited_for(agent: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    agent(None)
    told: list[str] = []
    loader = FakeLoader(after=5)
    assert ByBootLoader(H7, None, loader, told.append).program(IMAGE)  # type: ignore[arg-type]
    assert told == ["stm32h7b3 needs its boot loader: press the button (within 60 s)."]
    monkeypatch.setattr(boot_loader, "ENTER_S", 0.05)
    with pytest.raises(Blocked, match="did not enter its boot loader within .* s: press the button, and run again"):
        ByBootLoader(H7, None, FakeLoader(after=1 << 40), told.append).program(IMAGE)  # type: ignore[arg-type]


def test_a_virtual_pico_goes_to_usb_boot_on_request(tmp_path: Path, process: ProbeProcess) -> None:
    """That it is there is told by the stand-in's log."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    log, image = tmp_path / "log", image_of("rp2040")
    stand_in = start_virtual(PICO, image, log)
    try:
        with device_at(PICO, stand_in.endpoints, process) as dut:
            dut.flash()
            assert ask_agent(dut.serial.pyserial) is not None
        loader, told = FakeLoader(), []
        loader.waits = lambda: "the program has started the boot loader" in log.read_text()  # type: ignore[method-assign]
        assert not loader.waits()
        with contextlib.closing(open_serial(str(stand_in.endpoints.serial), PICO.baud)) as port:
            assert ByBootLoader(PICO, port, loader, told.append).program(image, always=True)
            assert (loader.programmed, told, ask_agent(port, 0.5)) == (1, [], None)
    finally:
        stand_in.stop()


def test_a_new_pico_is_programmed_before_its_port_is_there(
    tmp_path: Path, process: ProbeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own firmware makes the port. Here the line of a virtual board is that port, once the boot loader has programmed."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    stand_in = start_virtual(PICO, image_of("rp2040"), tmp_path / "log")
    ports: list[SimpleNamespace] = []
    waits = [True]

    def program(loader: Uf2, image: Image) -> None:
        ids = {"vid": 0x2E8A, "pid": 0x000A, "serial_number": "E6614103E7452A2F", "location": "1-2:1.0"}
        ports.append(SimpleNamespace(device=stand_in.endpoints.serial, **ids))

    monkeypatch.setattr(Uf2, "waits", lambda loader: waits[0])
    monkeypatch.setattr(Uf2, "program", program)
    ends = Endpoints("rp2040", "hardware", serial_number="2e8a:000a")
    try:
        with device_at(PICO, stand_in.endpoints, process) as dut:
            dut.flash()
        monkeypatch.setattr(serial.tools.list_ports, "comports", lambda: ports)
        with device_at(PICO, ends) as dut:
            dut.connect()
            assert dut.flash() and dut.record.route == "uf2"
            assert dut.agent.greeting["board"].rstrip(b"\0") == b"rp2040"
        ports.clear()
        waits[0] = False
        with device_at(PICO, ends) as dut, pytest.raises(Blocked, match="2e8a:000a .*is not attached"):
            dut.connect()
    finally:
        stand_in.stop()


def test_a_board_without_a_boot_loader_stays(virtual_endpoints: VirtualEndpoints, process: ProbeProcess) -> None:
    ends = virtual_endpoints("stm32h7b3")
    with device_at(H7, ends, process) as dut:
        dut.flash()
        assert leave_for_boot_loader(dut.serial.pyserial) is False
        assert ask_agent(dut.serial.pyserial) is not None


def test_without_any_way_the_agent_alone_is_measured(agent: Callable[..., None]) -> None:
    route = ByBootLoader(H7, None, None, lambda sentence: None)  # type: ignore[arg-type]
    agent(said())
    assert (route.program(IMAGE), route.name) == (False, "agent")
    agent(said(0xABCD))
    with pytest.raises(
        Blocked, match=r"has no probe in rig\.toml and its agent runs another image \(digest 0000ABCD\): name its probe"
    ):
        route.program(IMAGE)
    agent(None)
    with pytest.raises(Blocked, match=r"its agent does not answer: name its probe .*flash stm32h7b3\.elf by hand"):
        route.program(IMAGE)


def test_the_bench_decides_the_route() -> None:
    def route(board: boards.Board, **ends: Any) -> Any:
        ends = Endpoints(board.name, **{"reality": "hardware"} | ends)
        return route_of(Flashing(board, ends, lambda: None, None, lambda sentence: None))  # type: ignore[arg-type, return-value]

    assert [route(board).name for board in (H7, PICO, QEMU)] == ["agent", "uf2", "agent"]
    assert isinstance(route(QEMU, reality="qemu"), AlreadyLoaded)
    assert route(dataclasses.replace(PICO, routes=("halfkay", "uf2"))).name == "halfkay"
    with pytest.raises(Blocked, match="remove `probe` from its table"):
        route(QEMU, probe="066FFF")


def test_an_agent_is_measured_without_a_probe(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess, data_home: Path
) -> None:
    """The virtual board as a bench names it that has no probe: its agent is asked through the serial port."""
    ends = virtual_endpoints("stm32h7b3")
    with device_at(H7, ends, process) as dut:
        dut.flash()
    alone = dataclasses.replace(ends, reality="hardware", probe=None, meter=None)
    with device_at(H7, alone) as dut:
        assert (dut.flash(), dut.has_probe, dut.record.route, dut.record.flash_cycles) == (False, False, "agent", 0)
        assert dut.record.verified == "agent"
        dut.image = image_of("rp2040")
        with pytest.raises(Blocked, match="runs another image"):
            dut.flash()
    with (
        contextlib.closing(Probe(H7, str(ends.probe), None, process)) as probe,
        contextlib.closing(open_serial(str(ends.serial), H7.baud)) as port,
    ):
        probe._ask("flash", "halt it", "program", [], False)  # leaves the core halted: nobody answers
        assert ask_agent(port, 0.5) is None
        probe.start()


def test_sectors_are_those_of_the_manuals() -> None:
    kb = 1024
    f746 = [32 * kb] * 4 + [128 * kb] + [256 * kb] * 3  # RM0385, table of the flash sectors
    for target, sizes in ((STM32F746xG, f746), (STM32H7B3xx, [8 * kb] * 256)):
        start = 0x0800_0000
        for size in sizes:
            for address in (start, start + size - 1):
                region = target.MEMORY_MAP.get_region_for_address(address)
                assert region.is_flash and region.sector_size == size
                assert (start - region.start) % size == 0
                assert region.algo is not None
            start += size
        assert target.MEMORY_MAP.get_region_for_address(start) is None


def test_the_catalogue_says_how_pyocd_connects_and_resets_and_a_pack_s_chip_is_halted_as_it_runs() -> None:
    said = {name: connect_options.options(boards.load(name)) for name in boards.names()}
    under_reset = {name for name, options in said.items() if options["connect_mode"] == "under-reset"}
    through_the_core = {name for name, options in said.items() if options["reset_type"] == "sysresetreq"}
    assert under_reset >= {"stm32h7b3", "stm32f746"} and through_the_core >= {"rp2040", "nrf52840"}
    assert said["imxrt1062"] == connect_options.COMMON | {"connect_mode": "halt", "reset_type": "default"}
    assert connect_options.with_pack("p.pack") == connect_options.COMMON | {"connect_mode": "halt", "pack": "p.pack"}
    assert not any(options["auto_unlock"] for options in said.values())


def test_a_target_is_derived_where_there_is_a_module_of_its_name_and_else_pyocd_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: dict[str, Any] = dict.fromkeys(("nrf52840", "rp2040", "mimxrt1060"), "pyOCD's")
    monkeypatch.setattr("pyocd.target.TARGET", known)
    for board in boards.names():
        pyocd_targets.register(boards.load(board).pyocd_target or "none")
    assert known["mimxrt1060"] == "pyOCD's"
    ours = known["nrf52840"], known["rp2040"], known["stm32f746xg"], known["stm32h7b3xx"]
    assert [target.__name__ for target in ours] == ["NRF52840", "RP2040", "STM32F746xG", "STM32H7B3xx"]
    assert ours[2] is STM32F746xG


@pytest.mark.parametrize(
    ("chip", "parts", "expected"),
    [
        ("STM32H7B3LIH6Q", ["STM32H7B3LIHxQ", "STM32H7B3LIHx", "STM32H7B0RBTx"], "STM32H7B3LIHxQ"),
        ("nRF52840", ["nRF52832_xxAA", "nRF52840_xxAA"], "nRF52840_xxAA"),
        ("MIMXRT1062DVL6A", ["MIMXRT1062xxxxA", "MIMXRT1064xxxxA"], "MIMXRT1062xxxxA"),
        ("RP2040", ["RP2040"], "RP2040"),
    ],
)  # fmt: skip
def test_a_chip_is_found_in_a_pack(chip: str, parts: list[str], expected: str) -> None:
    assert device_of(parts, chip, "p.pack") == expected


def test_a_chip_that_a_pack_does_not_have() -> None:
    with pytest.raises(Blocked, match="the pack p.pack does not have the RP2040"):
        device_of(["STM32H7B3LIHxQ"], "RP2040", "p.pack")
    with pytest.raises(Blocked, match="has nRF52840_xxAA and nRF52840_xxAB for the nRF52840"):
        device_of(["nRF52840_xxAA", "nRF52840_xxAB"], "nRF52840", "p.pack")


PDSC = """<?xml version="1.0"?>
<package schemaVersion="1.7.2"><vendor>V</vendor><name>H7_DFP</name><devices><family Dfamily="H7" Dvendor="STMicroelectronics:13">
<processor Dcore="Cortex-M7" DcoreVersion="r1p1" Dfpu="DP_FPU" Dmpu="MPU" Dendian="Little-endian"/><device Dname="STM32H7B3LIHxQ">
<memory name="FLASH" access="rx" start="0x08000000" size="0x200000" default="1" startup="1"/><debug __dp="0" __ap="0"/>
<memory name="RAM" access="rwx" start="0x24000000" size="0x100000" default="1"/></device></family></devices></package>
"""


def test_a_pack_describes_the_chip_to_pyocd(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess, tmp_path: Path
) -> None:
    pack = tmp_path / "H7.pack"
    with zipfile.ZipFile(pack, "w") as file:
        file.writestr("V.H7_DFP.pdsc", PDSC)
    assert target_in(str(pack), H7.chip) == "stm32h7b3lihxq"
    with contextlib.closing(Probe(H7, str(virtual_endpoints("stm32h7b3").probe), str(pack), process)) as probe:
        assert len(probe.read(0x2400_0000, 64)) == 64
    (tmp_path / "broken.pack").write_bytes(b"no zip file")
    with pytest.raises(Blocked, match=r"broken\.pack is not a CMSIS pack .*download"):
        target_in(str(tmp_path / "broken.pack"), H7.chip)


def test_rig_toml_names_packs_beside_it_and_a_boot_loader_once(tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(
        '[[board]]\nname = "stm32h7b3"\npack = "packs/H7.pack"\n\n[[board]]\nname = "rp2040"\nloader = "A"\n'
    )
    bench = read_bench(rig)
    assert bench.board[0].pack == str(tmp_path / "packs" / "H7.pack")
    rig.write_text('[[board]]\nname = "stm32h7b3"\nloader = "A"\n\n[[board]]\nname = "rp2040"\nloader = "A"\n')
    with pytest.raises(RigError, match="line 7, key loader: A is named for stm32h7b3 already"):
        read_bench(rig)


def test_cycles_are_counted_by_several_at_a_time_and_kept(tmp_path: Path) -> None:
    one = flash_cycles.identity_of(Endpoints("rp2040", "hardware", probe="E66", serial="/dev/ttyACM0"))
    other = flash_cycles.identity_of(Endpoints("rp2040", "hardware", serial="/dev/ttyACM0"))
    assert (one, other) == ("rp2040 at E66", "rp2040 at /dev/ttyACM0")
    threads = [threading.Thread(target=lambda: [flash_cycles.count(one, tmp_path) for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (flash_cycles.cycles(one, tmp_path), flash_cycles.cycles(other, tmp_path)) == (20, 0)
    assert [path.name for path in tmp_path.glob("*.[0-9]*")] == []
    (tmp_path / flash_cycles.FILE).write_text("damaged")
    assert flash_cycles.count(one, tmp_path) == 1


def terminal(link: Path) -> int:
    """Put a fresh pseudo-terminal at a path; return its other end."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    link.unlink(missing_ok=True)
    link.symlink_to(os.ttyname(theirs))
    os.close(theirs)
    return ours


def test_a_port_that_went_and_came_back_is_opened_again(tmp_path: Path) -> None:
    link = tmp_path / "ttyACM0"
    ends = Endpoints("rp2040", "hardware", serial=str(link))
    ours = terminal(link)
    port = open_serial(str(link), 115_200)
    assert emptied(port, ends) is port
    os.close(ours)  # the board enumerates again
    threading.Timer(0.3, lambda: again.append(terminal(link))).start()
    again: list[int] = []
    link.unlink()
    with contextlib.closing(emptied(port, ends, within_s=5)) as fresh:
        assert fresh is not port
        fresh.write(b"hello")
        assert os.read(again[0], 5) == b"hello"
        os.close(again[0])
        link.unlink()
        with pytest.raises(Blocked, match="did not come back within 0 s after flashing"):
            emptied(fresh, ends, within_s=0)
