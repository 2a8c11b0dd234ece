"""The catalogue of boards: every entry loads and hangs together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from hil import boards
from hil.boards import catalogue
from hil.errors import RigError
from hil.images import image_of
from hil.training.methods.elasticzo_memory import plan
from hil.training.methods.elasticzo_settings import VARIANTS, ElasticZoSettings
from hil.training.networks import build


@pytest.fixture(params=boards.names())
def entry(request: pytest.FixtureRequest) -> boards.Board:
    return boards.load(request.param)


def test_the_catalogue_is_not_empty() -> None:
    assert "stm32h7b3" in boards.names()
    assert boards.names() == sorted(boards.names())


def test_memories_are_apart(entry: boards.Board) -> None:
    regions = sorted(entry.memory, key=lambda region: region.start)
    for lower, upper in pairwise(regions):
        assert lower.start + lower.size <= upper.start, (lower.name, upper.name)
    for region in regions:
        assert region.kind in ("flash", "ram")
        assert region.start in region
        assert region.start + region.size - 1 in region
        assert region.start + region.size not in region
        assert region.start - 1 not in region


def test_every_entry_has_what_its_reality_needs(entry: boards.Board) -> None:
    assert entry.stand_in in ("virtual", "qemu")
    assert entry.counter in ("none", "dwt", "systick")
    assert (entry.qemu_machine is not None) == (entry.stand_in == "qemu")
    assert (entry.pyocd_target is not None) == ("pyocd" in entry.routes)
    assert entry.routes and set(entry.routes) <= {"pyocd", "halfkay", "uf2", "kernel"}
    assert (entry.routes == ("kernel",)) == (entry.stand_in == "qemu")
    assert entry.clock_hz > 1_000_000
    assert entry.baud >= 9600


def test_a_chip_that_a_probe_reaches_has_an_identity_that_its_mask_lets_through(entry: boards.Board) -> None:
    if "pyocd" in entry.routes:
        assert entry.identity is not None
        assert entry.identity.value & ~entry.identity.mask == 0 != entry.identity.value
        assert entry.identity.address % 4 == 0 and entry.identity.mask < 1 << 32


def test_budgets_are_within_the_ram_and_name_variants(entry: boards.Board) -> None:
    ram = sum(region.size for region in entry.memory if region.kind == "ram")
    for variant in VARIANTS:
        assert 0 < entry.sram_budget(variant, 8, "sample") <= ram
    for key in entry.budget:
        known = ("batch", "sram_bytes", "latency_ms")
        assert key in known or key.removeprefix("sram_bytes_").removeprefix("latency_ms_") in VARIANTS
    assert entry.latency_budget_ms("cls1", 9, "sample") is entry.latency_budget_ms("cls1", 8, "batch") is None
    if entry.stand_in == "qemu":
        assert entry.latency_budget_ms("cls1", 8, "sample") is None, "it never was silicon"


def test_a_budget_of_the_variant_goes_first() -> None:
    board = boards.load("stm32h7b3")
    assert board.sram_budget("cls1", 8, "sample") == board.budget["sram_bytes"]
    assert board.sram_budget("full-bp", 1, "sample") == board.budget["sram_bytes_full-bp"] != board.budget["sram_bytes"]


def test_a_budget_is_for_what_it_was_stated_for() -> None:
    board = boards.load("stm32h7b3")
    assert board.sram_budget("cls1", 9, "sample") is None
    assert board.sram_budget("cls1", 8, "batch") is None


def test_the_main_job_fits_the_largest_ram_of_every_board(entry: boards.Board) -> None:
    largest = max(region.size for region in entry.memory if region.kind == "ram")
    settings = ElasticZoSettings.of_variant("cls1", 5)
    assert plan(build("lenet5", 1), settings, settings.batch).total < largest


def test_facts_of_the_stm32h7b3() -> None:
    """RM0455, section 2.3, and DS13139: typed here from the table in the design, not from the catalogue."""
    board = boards.load("stm32h7b3")
    places = {region.name: (region.start, region.size) for region in board.memory}
    assert board.clock_hz == 280_000_000
    assert places["flash"] == (0x0800_0000, 2 * 2**20)
    assert places["axi_sram"] == (0x2400_0000, 2**20)
    assert places["dtcm"] == (0x2000_0000, 128 * 2**10)
    assert places["ahb_sram1"] == (0x3000_0000, 64 * 2**10)
    assert places["ahb_sram2"] == (0x3001_0000, 64 * 2**10)
    assert {name for name, _ in board.memory_gates.items()} == {"ahb_sram1", "ahb_sram2", "srd_sram"}


def test_facts_of_the_stm32f746() -> None:
    """RM0385, section 2.2, and DS10916: typed here from the table in the design; the three memories at 0x20000000 leave no gap."""
    board = boards.load("stm32f746")
    places = {region.name: (region.start, region.size) for region in board.memory}
    assert board.clock_hz == 216_000_000
    assert places["flash"] == (0x0800_0000, 2**20)
    assert places["dtcm"] == (0x2000_0000, 64 * 2**10)
    assert places["sram1"] == (0x2001_0000, 240 * 2**10)
    assert places["sram2"] == (0x2004_C000, 16 * 2**10)


def test_facts_of_the_imxrt1062() -> None:
    """IMXRT1060RM, chapter 3: typed here from the table in the design, not from the catalogue; FlexRAM's 512 KB are all there."""
    board = boards.load("imxrt1062")
    places = {region.name: (region.start, region.size) for region in board.memory}
    assert board.clock_hz == 600_000_000
    assert places["flash"] == (0x6000_0000, 2 * 2**20)
    assert (places["itcm"][0], places["dtcm"][0], places["ocram"][0]) == (0, 0x2000_0000, 0x2020_0000)
    assert sum(size for name, (_, size) in places.items() if name != "flash") == 2**20


def test_facts_of_the_rp2350() -> None:
    """RP2350 data sheet, address map, and the Pico SDK's `pico2.h`: typed here, not from the catalogue."""
    board = boards.load("rp2350")
    places = {region.name: (region.start, region.size) for region in board.memory}
    assert (board.clock_hz, board.core, board.fpu) == (150_000_000, "cortex-m33", "fpv5-sp-d16")
    assert places["flash"] == (0x1000_0000, 4 * 2**20)
    assert places["sram"] == (0x2000_0000, 520 * 2**10)
    assert board.identity is not None and board.identity.value.to_bytes(3, "little") == b"Mu\x02"


def test_an_unknown_board_gets_its_close_match() -> None:
    with pytest.raises(RigError, match=r"no board 'stm32h7b4'.*did you mean stm32h7b3"):
        boards.load("stm32h7b4")


def test_a_name_like_nothing_gets_the_whole_list() -> None:
    with pytest.raises(RigError) as refused:
        boards.load("zzz")
    assert all(name in str(refused.value) for name in boards.names())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("connect_mode", "conect_mode", r"mine\.toml: unknown key conect_mode: did you mean connect_mode"),
        (
            '"under-reset"',
            '"attach"',
            r"mine\.toml, key connect_mode: 'attach' is not one of halt, pre-reset, under-reset",
        ),
        ("connect_mode", 'reset_type = "hw"\nconnect_mode', r"mine\.toml, key reset_type: 'hw' is not one of default"),
        ("marker = ", "# ", r"mine\.toml: the key marker is missing: add it \(docs/new-board\.md"),
        ('"ram", start = 0x2400_0000, ', '"ram", ', r"mine\.toml, memory axi_sram: the key start is missing"),
        ('"flash", start', '"rom", start', r"mine\.toml, memory flash, key kind: 'rom' is not one of flash, ram"),
        (
            "ahb_sram2 = { reg",
            "ahb_sram3 = { reg",
            r"memory_gates: there is no memory ahb_sram3: did you mean ahb_sram",
        ),
        ("counter = ", 'ram_divided_by = "x"\ncounter = ', r"key ram_divided_by: 'x' is not one of chip, program"),
        ("mask = ", "maks = ", r"mine\.toml, \[identity\]: unknown key maks: did you mean mask"),
        ('title = "', "title = ", r"mine\.toml: .*line \d+.*: correct the TOML syntax there"),
    ],
)
def test_a_mistake_in_a_catalogue_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: str
) -> None:
    text = Path(catalogue.__file__).with_name("stm32h7b3.toml").read_text()
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new))
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    with pytest.raises(RigError, match=told):
        boards.load("mine")


@pytest.mark.parametrize("name", ["../boards/stm32h7b3", "stm32h7b3.toml", "", "STM32H7B3 "])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(RigError):
        boards.load(name)


def test_a_missing_firmware_names_path_and_cure(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"gone\.elf cannot be read .*: give the path of an ELF file"):
        image_of("stm32h7b3", tmp_path / "gone.elf")


@pytest.mark.parametrize("content", [b"", b":020000040800F2\n", b"\x7fELF"])
def test_firmware_that_is_no_elf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "firmware.hex"
    path.write_bytes(content)
    with pytest.raises(RigError, match=r"firmware\.hex is not an ELF file"):
        image_of("stm32h7b3", path)
