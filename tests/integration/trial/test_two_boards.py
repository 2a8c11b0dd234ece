"""rig.toml has the probe of one board and the serial port of another board of the same kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.dut import Dut
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image, image_of
from hil.standins import start_virtual
from tests.device_at import device_at

NIGHTLY = pytest.mark.tier("nightly")
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


@contextlib.contextmanager
def virtual(name: str, image: Image, folder: Path) -> Iterator[Endpoints]:
    stand_in = start_virtual(boards.load(name), image, folder / f"{len(list(folder.iterdir()))}.log")
    try:
        yield stand_in.endpoints
    finally:
        stand_in.stop()


@contextlib.contextmanager
def flashed(name: str, image: Image, probe: Endpoints, port: Endpoints) -> Iterator[Dut]:
    """A device with the probe of one board and the port of another one, which holds the image too."""
    board = boards.load(name)
    if port is not probe:
        with device_at(board, Endpoints(name, "virtual", probe=port.probe, serial=port.serial), image=image) as other:
            other.flash()
    with device_at(board, Endpoints(name, "virtual", probe=probe.probe, serial=port.serial), image=image) as dut:
        dut.flash()
        yield dut


@pytest.mark.parametrize(
    "name",
    ["rp2040", *(pytest.param(name, marks=NIGHTLY) for name in ("imxrt1062", "nrf52840", "stm32f746", "stm32h7b3"))],
)
def test_the_probe_of_one_board_and_the_port_of_another(name: str, tmp_path: Path) -> None:
    image = image_of(name)
    with virtual(name, image, tmp_path) as a, virtual(name, image, tmp_path) as b:
        with flashed(name, image, a, b) as dut, pytest.raises(Blocked) as refused:
            _ = dut.agent
        assert refused.value.stage == "identity"
        assert refused.value.reason == (
            f"probe and port belong to two boards: an agent answers on {b.serial}, and it does not run on the {name} "
            f"at the probe {a.probe}: correct `probe` or `serial` in rig.toml (`hil devices` lists which of them are "
            "one USB device)."
        )
        with flashed(name, image, b, b) as dut:
            assert dut.agent.greeting["image_digest"] == image.digest


def test_the_agent_is_found_wherever_a_firmware_of_ones_own_keeps_it(tmp_path: Path) -> None:
    """Without a variable `agent`, in the static area; without the names of the areas, in any RAM."""
    image = image_of("rp2040")
    own = Image(image.path, image.sha256, own=True)
    with virtual("rp2040", image, tmp_path) as a, virtual("rp2040", image, tmp_path) as b:
        for hidden in (("agent",), ("agent", "__static_start")):
            own.__dict__["table"] = [symbol for symbol in image.table if symbol.name not in hidden]
            with flashed("rp2040", own, a, a) as dut:
                _ = dut.agent
            with (
                flashed("rp2040", own, a, b) as dut,
                pytest.raises(Blocked, match="probe and port belong to two boards"),
            ):
                _ = dut.agent
