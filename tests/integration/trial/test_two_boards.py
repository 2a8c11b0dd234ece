"""rig.toml has the probe of one board and the serial port of another board of the same kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image, image_of
from hil.link.session import Session, fresh_nonce
from hil.standins import start_virtual
from hil.targets import Target, open_target
from hil.targets.one_board import check_one_board
from hil.training.trial.device import Device

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
def flashed(name: str, image: Image, probe: Endpoints, port: Endpoints) -> Iterator[Target]:
    """A target with the probe of one board and the port of another one, which holds the image too."""
    board = boards.load(name)
    for ends in (port, probe) if port is not probe else (probe,):
        target = open_target(board, Endpoints(name, "virtual", probe=ends.probe, serial=port.serial))
        target.flash(image)
        if ends is not probe:
            target.close()
    with contextlib.closing(target):
        yield target


@pytest.mark.parametrize(
    "name",
    ["rp2040", *(pytest.param(name, marks=NIGHTLY) for name in ("imxrt1062", "nrf52840", "stm32f746", "stm32h7b3"))],
)
def test_the_probe_of_one_board_and_the_port_of_another(name: str, tmp_path: Path) -> None:
    board, image = boards.load(name), image_of(name)
    with virtual(name, image, tmp_path) as a, virtual(name, image, tmp_path) as b:
        with flashed(name, image, a, b) as target, pytest.raises(Blocked) as refused:
            Device(Session(target.port, fresh_nonce()), board, image, target)
        assert refused.value.stage == "identity"
        assert refused.value.reason == (
            f"probe and port belong to two boards: an agent answers on {b.serial}, and it does not run on the {name} "
            f"at the probe {a.probe}: correct `probe` or `serial` in rig.toml (`hil devices` lists which of them are "
            "one USB device)."
        )
        with flashed(name, image, b, b) as target:
            Device(Session(target.port, fresh_nonce()), board, image, target)


def test_the_agent_is_found_wherever_a_firmware_of_ones_own_keeps_it(tmp_path: Path) -> None:
    """Without a variable `agent`, in the static area; without the names of the areas, in any RAM."""
    image = image_of("rp2040")
    own = Image(image.path, image.sha256, own=True)
    with virtual("rp2040", image, tmp_path) as a, virtual("rp2040", image, tmp_path) as b:
        for hidden in (("agent",), ("agent", "__static_start")):
            own.__dict__["table"] = [symbol for symbol in image.table if symbol.name not in hidden]
            with flashed("rp2040", image, a, a) as target:
                session = Session(target.port, fresh_nonce())
                session.hello()
                check_one_board(target, own, session)
            with flashed("rp2040", image, a, b) as target:
                session = Session(target.port, fresh_nonce())
                session.hello()
                with pytest.raises(Blocked, match="probe and port belong to two boards"):
                    check_one_board(target, own, session)
