"""A board that something else resets while its flash is programmed: real pyOCD, and a reset injected on the virtual board."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from pyocd.coresight.cortex_m import CortexM

from hil import boards
from hil.errors import Blocked
from hil.images import Image, image_of
from hil.standins import start_virtual
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess

SIZE = 24_000  # bytes: their flash algorithm takes some 80,000 instructions on stm32h7b3, 1,000 on rp2040
Boards = Callable[..., AbstractContextManager[Probe]]


class Bytes(Image):
    """An image of given bytes in the place of an ELF file."""

    def __init__(self, address: int, data: bytes) -> None:
        super().__init__(Path("bytes.elf"), "0" * 64)
        self.__dict__["segments"] = [(address, data)]


@pytest.fixture
def resetting(process: ProbeProcess, tmp_path: Path) -> Boards:
    """Returns the probe of a virtual board that is reset after so many instructions."""

    @contextmanager
    def opened(board: str, *after: int):
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
        entry = boards.load(board)
        faults = tuple(f"reset:{instructions}" for instructions in after)
        stand_in = start_virtual(entry, image_of(board), tmp_path / "log", faults)
        try:
            with closing(Probe(entry, str(stand_in.endpoints.probe), None, process)) as probe:
                yield probe
        finally:
            stand_in.stop()

    return opened


def an_image(board: str) -> Bytes:
    start = next(region.start for region in boards.load(board).memory if region.name == "flash")
    return Bytes(start, os.urandom(SIZE))


@pytest.mark.parametrize(
    ("board", "after"),
    [("stm32h7b3", n) for n in (500, 5_000, 30_000, 50_199, 75_000)] + [("rp2040", n) for n in (500, 900)],
)
def test_one_reset_is_made_good(
    resetting: Boards, tmp_path: Path, caplog: pytest.LogCaptureFixture, board: str, after: int
) -> None:
    image = an_image(board)
    with resetting(board, after) as probe, caplog.at_level("INFO"):
        assert probe.program(image)
        for address, data in image.segments:
            assert probe.read(address, len(data)) == data
    assert "injected: the chip resets" in (tmp_path / "log").read_text(), "the reset is to fall into the programming"
    assert "reset the board while its flash was written" in caplog.text


def test_a_second_reset_is_the_reason(resetting: Boards) -> None:
    with resetting("stm32h7b3", 30_000, 60_000) as probe:
        with pytest.raises(Blocked, match=r"reset twice while its flash was written: check its supply") as told:
            probe.program(an_image("stm32h7b3"))
        assert told.value.stage == "flash"
        assert probe.program(an_image("stm32h7b3")), "the third time all is well"


def test_without_a_reset_the_flash_is_written_once(resetting: Boards, caplog: pytest.LogCaptureFixture) -> None:
    with resetting("stm32h7b3") as probe, caplog.at_level("INFO"):
        assert probe.program(an_image("stm32h7b3"))
        catch = int.from_bytes(probe.read(CortexM.DEMCR, 4), "little") & CortexM.DEMCR_VC_CORERESET
        assert not catch, "the firmware's own resets are not caught"
    assert "reset the board" not in caplog.text
