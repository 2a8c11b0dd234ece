"""Power: uhubctl's own words by a program that speaks as it does, and a SCPI supply on a socket through PyVISA itself."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.endpoints import HubPort, SupplyOutput
from hil.errors import Blocked
from hil.standins.virtual.meter.power_supply import PowerSupply
from hil.standins.virtual.meter.server import InstrumentServer
from hil.targets.power import cycle, open_power

HUB = HubPort("1-1.4", 2)
# What uhubctl 2.x prints (mvp/uhubctl, uhubctl.c: main and print_port_status), of a USB 3 hub, which is two hubs to it.
FAKE = """\
#!{python}
import json, os, sys
state = {state!r}
asked = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(state) as file: now = json.load(file)
now["asked"].append(sys.argv[1:])
def show(word):
    for hub, flags in (("1-1.4", "0503 power highspeed enable connect [2e8a:000c power Debug Probe E6616408432D7B2F]"), ("2-1.4", "02a0 power 5gbps Rx.Detect")):
        print(f"{{word}} status for hub {{hub}} [0bda:5411 Generic USB2.1 Hub, USB 2.10, 4 ports, ppps]")
        print(f"  Port {{asked['-p']}}: " + (flags if now["on"] else "0000 off"))
if asked["-l"] != "1-1.4":
    print(f"No compatible devices detected at location {{asked['-l']}}!", file=sys.stderr)
    print("Run with -h to get usage info.", file=sys.stderr)
    sys.exit(1)
show("Current")
if "-a" in asked:
    if not now["stuck"]: now["on"] = asked["-a"] == "on"
    print(f"Sent power {{asked['-a']}} request")
    show("New")
with open(state, "w") as file: json.dump(now, file)
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A uhubctl on the PATH; the file is what it knows and was asked."""
    state, program = tmp_path / "hub.json", tmp_path / "bin" / "uhubctl"
    state.write_text(json.dumps({"on": True, "stuck": False, "asked": []}))
    program.parent.mkdir()
    program.write_text(FAKE.format(python=sys.executable, state=str(state)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return state


def test_a_port_of_a_hub_is_switched_off_and_on(hub: Path) -> None:
    with open_power(HUB) as switch:
        cycle(switch, off_s=0)
        assert switch.check() == "port 2 of the USB hub 1-1.4 can be switched, and is on."
        switch.switch(False)
        assert switch.check() == "port 2 of the USB hub 1-1.4 can be switched, and is off."
    asked = json.loads(hub.read_text())["asked"]
    assert [each[:4] for each in asked] == [["-l", "1-1.4", "-p", "2"]] * 5
    assert [each[4:] for each in asked] == [["-a", "off"], ["-a", "on"], [], ["-a", "off"], []]


def test_a_hub_that_does_not_do_what_it_says(hub: Path) -> None:
    hub.write_text(json.dumps({"on": True, "stuck": True, "asked": []}))
    with (
        open_power(HUB) as switch,
        pytest.raises(Blocked, match="port 2 of the USB hub 1-1.4 is not off after `uhubctl -a off`") as blocked,
    ):
        cycle(switch, off_s=0)
    assert blocked.value.stage == "power"
    assert len(json.loads(hub.read_text())["asked"]) == 1, "nothing more is asked of it"


def test_a_hub_that_is_not_there(hub: Path) -> None:
    with (
        open_power(HubPort("3-2", 1)) as switch,
        pytest.raises(
            Blocked, match=r"No compatible devices detected at location 3-2!\): `uhubctl` without arguments lists"
        ),
    ):
        switch.check()


def test_uhubctl_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.targets.uhubctl.BESIDE_THE_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Blocked, match="uhubctl is not installed: apt install uhubctl"), open_power(HUB):
        pytest.fail("there is nothing to open")


def test_a_uhubctl_that_hangs(tmp_path: Path, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin" / "uhubctl").write_text("#!/bin/sh\nexec sleep 30\n")
    monkeypatch.setattr("hil.targets.uhubctl.DEADLINE_S", 0.2)
    with open_power(HUB) as switch, pytest.raises(Blocked, match="could not switch port 2 .* timed out"):
        switch.switch(False)


class Supply:
    """A supply that is served on a socket, and what it switched."""

    def __init__(self) -> None:
        self.switched: list[bool] = []
        self.instrument = PowerSupply(3.3, self.switched.append)
        self.heard: list[str] = []
        self.server = InstrumentServer(self)

    def execute(self, line: str) -> str | None:
        self.heard.append(line)
        return self.instrument.execute(line)

    def output(self, volts: float = 3.3, channel: int | None = 1) -> SupplyOutput:
        return SupplyOutput(self.server.resource, volts, 0.5, channel)


@pytest.fixture
def supply() -> Iterator[Supply]:
    one = Supply()
    one.server.start()
    yield one
    one.server.close()


def test_an_output_is_set_before_it_is_switched_on(supply: Supply) -> None:
    supply.execute("NONSENSE")  # somebody else's mistake is still in the queue
    with open_power(supply.output()) as switch:
        assert "trainrig,virtual supply,1,1 answers" in switch.check() and "is on" in switch.check()
        assert supply.switched == [], "looking switches nothing"
        cycle(switch, off_s=0)
    assert supply.switched == [False, True]
    told = [line for line in supply.heard if not line.endswith("?")]
    off, volt, on = told.index("OUTP OFF"), told.index("VOLT 3.3"), told.index("OUTP ON")
    assert off < volt < on and "CURR 0.5" in told[volt:on]
    assert told[off - 1] == "INST:NSEL 1", "selected, then switched"
    assert "*RST" not in told, "its other outputs feed others"


def test_a_supply_without_numbers_is_not_asked_for_one(supply: Supply) -> None:
    with open_power(supply.output(channel=None)) as switch:
        cycle(switch, off_s=0)
    assert supply.switched == [False, True] and not any("NSEL" in line for line in supply.heard)


@pytest.mark.parametrize(("volts", "channel", "switched"), [(12.0, 1, [False]), (3.3, 2, [])])
def test_what_a_supply_refuses_ends_the_cycle(supply: Supply, volts: float, channel: int, switched: list[bool]) -> None:
    with (
        open_power(supply.output(volts, channel)) as switch,
        pytest.raises(Blocked, match=r'reports -222,"Parameter data out of range": correct `power`'),
    ):
        cycle(switch, off_s=0)
    assert supply.switched == switched, "a voltage that was refused is not switched on, another channel is not touched"


def test_an_output_that_stays_off(supply: Supply, monkeypatch: pytest.MonkeyPatch) -> None:
    def tripped(line: str) -> str | None:
        return "0" if line == "OUTP?" else PowerSupply.execute(supply.instrument, line)

    monkeypatch.setattr(supply.instrument, "execute", tripped)
    with (
        open_power(supply.output()) as switch,
        pytest.raises(Blocked, match="output 1 of the supply .* is still off: look at its front panel"),
    ):
        cycle(switch, off_s=0)


def test_a_supply_that_is_not_there() -> None:
    with (
        pytest.raises(Blocked, match="did not take") as blocked,
        open_power(SupplyOutput("TCPIP0::127.0.0.1::9::SOCKET", 3.3, 0.5)),
    ):
        pytest.fail("there is nothing to open")
    assert blocked.value.stage == "power"
