"""Whatever a plugin's object raises in any method that the house calls, is one sentence that names the plugin."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hil.boards import load
from hil.endpoints import Endpoints
from hil.errors import Blocked, DeviceFault
from hil.images import Image
from hil.meters.meter import InvalidWindow, Meter, Streaming
from hil.meters.open import open_meter
from hil.rig import Rig
from hil.rig.reality import start, stopped_after
from hil.rig_toml import Bench
from hil.standins import StandIn
from hil.targets.flash_route import Flashing, route_of, verified_by
from tests.unit.plugins.conftest import BOARD

Plugin = Callable[..., Path]
METER = """
import numpy as np
from hil.energy.meter_kind import MeterKind
from hil.meters.meter import InvalidWindow, Meter
class PM1(Meter):
    def __init__(self, address, sheet, host):
        super().__init__(sheet, host)
        self.identity = "PM1"
    def configure(self, setting): pass
    def arm(self): pass
    def capture(self, deadline_s): return "nothing"
    def watch(self): return np.ones(3)
    def close(self): pass
    def pieces(self, deadline_s):
        raise InvalidWindow("overload", beyond_range=True)
        yield
    METHOD
KIND = MeterKind(PM1, BOARDS)
"""
SHEET = (Path(__file__).parents[2] / "integration/plugins/acme/acme_rig/acme-pm1.toml").read_text()
STAND_IN = """
import sys
from hil.endpoints import Endpoints
from hil.standins import StandIn, StandInKind
class Sim(StandIn):
    broken = True
    METHOD
def start(board, image, log):
    command = [sys.executable, "-c", "print('there', flush=True); input()"]
    return Sim(command, lambda line: Endpoints(board.name, "sim", serial=line), log, "sim")
KIND = StandInKind(start)
"""
ARGUMENTS = {"configure": (None,), "capture": (1.0,), "pieces": (1.0,), "ask": (b"",), "chip_fault": (None,),
             "reset": (None,), "serves": (None, None)}  # fmt: skip


def methods_of(kind: type) -> list[str]:
    return sorted(name for name, each in vars(kind).items() if inspect.isfunction(each) and name[0] != "_")


@pytest.mark.parametrize("method", [*methods_of(Meter), *methods_of(Streaming)])
def test_a_method_of_a_meter_that_raises(tmp_path: Path, plugin: Plugin, method: str) -> None:
    code = METER.replace("METHOD", f"def {method}(self, *_): return {{}}['no key']")
    folder = plugin(tmp_path / "acme", code, "meters: pm1 = M:KIND")
    (folder / "pm1.toml").write_text(SHEET)
    with (
        pytest.raises(
            Blocked, match=r"^plugin: 'pm1' in the meters of acme-rig .* it raised KeyError \('no key'; .*line"
        ),
        open_meter("", 3.3, "pm1") as meter,
    ):
        getattr(meter, method)(*ARGUMENTS.get(method, ()))


def test_the_interface_of_a_meter_stays(tmp_path: Path, plugin: Plugin) -> None:
    """It is a Meter that streams; a window to be measured again is no defect; a wrong result is one."""
    folder = plugin(tmp_path / "acme", METER.replace("METHOD", "limit = 3"), "meters: pm1 = M:KIND")
    (folder / "pm1.toml").write_text(SHEET)
    with open_meter("", 3.3, "pm1") as meter:
        assert isinstance(meter, Meter) and isinstance(meter, Streaming) and meter.identity == "PM1"
        assert meter.watch().tolist() == [1, 1, 1] and meter.limit == 3  # type: ignore[attr-defined]
        meter.limit = 4  # type: ignore[attr-defined]
        assert meter.limit == 4 and not hasattr(meter, "mark")  # type: ignore[attr-defined]
        with pytest.raises(InvalidWindow, match="overload"):
            list(meter.pieces(1.0))
        with pytest.raises(Blocked, match="its capture is not what the interface says: it is no Capture but str"):
            meter.capture(1.0)
        with pytest.raises(Blocked, match="PM1 has no mark"):
            meter.mark  # type: ignore[attr-defined]  # noqa: B018


def test_a_meter_that_cannot_be_closed_hides_no_error(tmp_path: Path, plugin: Plugin) -> None:
    code = METER.replace("METHOD", "def close(self): return 1 / 0")
    (plugin(tmp_path / "acme", code, "meters: pm1 = M:KIND") / "pm1.toml").write_text(SHEET)
    with pytest.raises(DeviceFault, match="the device"), open_meter("", 3.3, "pm1"):
        raise DeviceFault("the device is wrong.")


@pytest.mark.parametrize("method", methods_of(StandIn))
def test_a_method_of_a_stand_in_that_raises(tmp_path: Path, plugin: Plugin, method: str) -> None:
    raising = f"def {method}(self, *_):\n        if self.broken: exit(3)\n        return super().{method}(*_)"
    plugin(tmp_path / "acme", STAND_IN.replace("METHOD", raising), "stand_ins: sim = M:KIND")
    found = None
    try:
        with pytest.raises(Blocked, match="^plugin: 'sim' in the stand ins of acme-rig .* it raised SystemExit"):
            found = start("sim", load("mps2-an386"), Image(Path("no.elf"), "0" * 64), tmp_path / "log")
            getattr(found, method)(*ARGUMENTS.get(method, ()))
    finally:
        if found is not None:
            found.broken = False  # type: ignore[attr-defined]
            found.stop()


def test_a_stand_in_without_endpoints_and_one_that_cannot_be_stopped(tmp_path: Path, plugin: Plugin) -> None:
    plugin(
        tmp_path / "acme",
        "from types import SimpleNamespace as N\nfrom hil.standins import StandInKind\n"
        "NOTHING = StandInKind(lambda *_: 7)\nNONE = StandInKind(lambda *_: N(endpoints=3, stop=lambda: 1 / 0))",
        "stand_ins: nothing = M:NOTHING",
        "stand_ins: none-there = M:NONE",
    )
    board, image, log = load("mps2-an386"), Image(Path("no.elf"), "0" * 64), tmp_path / "log"
    with pytest.raises(Blocked, match="'nothing' in the stand ins of .*: int has no endpoints"):
        start("nothing", board, image, log).endpoints  # noqa: B018
    with pytest.raises(Blocked, match="its endpoints is not what the interface says: it is 3, and no Endpoints"):
        start("none-there", board, image, log).endpoints  # noqa: B018
    with pytest.raises(DeviceFault), stopped_after(start("none-there", board, image, log)):
        raise DeviceFault("the device is wrong.")
    with (
        pytest.raises(Blocked, match="it raised ZeroDivisionError"),
        stopped_after(start("none-there", board, image, log)),
    ):
        pass


def test_a_rig_releases_the_rest_if_a_stand_in_cannot_be_stopped(tmp_path: Path, plugin: Plugin) -> None:
    released = []
    rig = Rig(Bench(), tmp_path)
    rig._locks.release = lambda: released.append("locks")  # type: ignore[method-assign]
    plugin(
        tmp_path / "acme",
        "from types import SimpleNamespace as N\nfrom hil.standins import StandInKind\n"
        "KIND = StandInKind(lambda *_: N(stop=lambda: 1 / 0))",
        "stand_ins: sim = M:KIND",
    )
    broken = start("sim", load("mps2-an386"), Image(Path("no.elf"), "0" * 64), tmp_path / "log")
    assert rig._kept is not None
    rig._kept._kept += [("sim", "a", broken), ("sim", "b", broken)]
    with pytest.raises(Blocked, match="'sim' in the stand ins"):
        rig.close()
    assert released == ["locks"]


ROUTE = """
class Other:
    name = "another"
    ATTRIBUTE
    def program(self, image, always=False): return True
def route(flashing): return Other()
"""


@pytest.mark.parametrize(
    ("attribute", "why"),
    [
        ("verified = property(lambda self: 1 / 0)", r"it raised ZeroDivisionError \("),
        ("verified = 'surely'", "its verified is not what the interface says: it is 'surely', and none of"),
        (
            "def program(self, image, always=False): raise OSError('no port')\n    done =",
            r"it raised OSError \(no port; ",
        ),
    ],
)
def test_a_flash_route_that_raises_or_says_something_else(
    tmp_path: Path, plugin: Plugin, attribute: str, why: str
) -> None:
    """Its own name may be another one than that under which it is offered."""
    code = (
        ROUTE.replace("    def program(self, image, always=False): return True\n", "") if "done" in attribute else ROUTE
    )
    code = code.replace("ATTRIBUTE", attribute.replace("\n    done =", ""))
    plugin(tmp_path / "acme", code, "flash_routes: isp = M:route", "boards: acme = M:BOARDS",
           board=BOARD.replace('["kernel"]', '["isp"]'))  # fmt: skip
    with pytest.raises(Blocked, match=rf"^plugin: 'isp' in the flash routes of acme-rig .*{why}"):
        flash(load("acme"))


def flash(board: Any) -> None:
    ends = Endpoints("x", "hardware")
    route = route_of(Flashing(board, ends, lambda: None, None, print))  # type: ignore[arg-type, return-value]
    verified_by(route)
    route.program(Image(Path("no.elf"), "0" * 64))


def test_a_route_may_leave_out_what_has_a_default(tmp_path: Path, plugin: Plugin) -> None:
    plugin(tmp_path / "acme", ROUTE.replace("ATTRIBUTE", ""), "flash_routes: isp = M:route", "boards: acme = M:BOARDS",
           board=BOARD.replace('["kernel"]', '["isp"]'))  # fmt: skip
    ends = Endpoints("x", "hardware")
    route = route_of(Flashing(load("acme"), ends, lambda: None, None, print))  # type: ignore[arg-type, return-value]
    assert verified_by(route) == "none" and route.name == "another" and route.program(None)  # type: ignore[arg-type]
