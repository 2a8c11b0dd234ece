"""Known faults of the serial ports of debug probes, in folders of the kind that Linux shows.

Facts: debugprobe's tags (USB ids, products, and bcdDevice from 0x0103 of 1.0.3 to 0x0231 of 2.3.1) and its pull request
165; Zephyr's nordic_segger.rst for the J-Link as a drive; classes of USB interfaces by USB-IF.
"""

from __future__ import annotations

import os
import tty
from pathlib import Path

import pytest

from hil.commands import doctor
from hil.dut import opened
from hil.images import image_of
from hil.rig import Rig
from hil.rig_toml import Bench, BenchBoard
from hil.targets.line_faults import line_faults

CDC, CDC_DATA, DRIVE, VENDOR = "02", "0a", "08", "ff"


def plug_in(
    sysfs: Path, ids: tuple[str, str], version: str, product: str, classes: list[str], tty: str = "ttyACM0"
) -> str:
    """Make a device with a port at its first CDC interface; return the path of the port."""
    device = sysfs / "devices/pci0000:00/usb1/1-2"
    device.mkdir(parents=True)
    facts = {"idVendor": ids[0], "idProduct": ids[1], "bcdDevice": version, "product": product}
    for fact, value in facts.items():
        (device / fact).write_text(value + "\n")
    for number, kind in enumerate(classes):
        interface = device / f"1-2:1.{number}"
        interface.mkdir()
        (interface / "bInterfaceClass").write_text(kind + "\n")
    port = sysfs / "class/tty" / tty
    port.mkdir(parents=True)
    (port / "device").symlink_to(device / f"1-2:1.{classes.index(CDC)}")
    return f"/dev/{tty}"


def debug_probe(sysfs: Path, version: str, product: str = "Debug Probe (CMSIS-DAP)") -> list[str]:
    return line_faults(plug_in(sysfs, ("2e8a", "000c"), version, product, [VENDOR, CDC, CDC_DATA]), sysfs)


@pytest.mark.parametrize(
    ("version", "words"),
    [("0103", "1.0.3"), ("0200", "2.0.0"), ("0201", "2.0.1"), ("0210", "2.1.0"), ("0220", "2.2.0"), ("0221", "2.2.1")],
)
def test_a_debug_probe_before_2_2_2_is_named_with_its_version(tmp_path: Path, version: str, words: str) -> None:
    (said,) = debug_probe(tmp_path, version)
    assert said.startswith(f"the Debug Probe at /dev/ttyACM0 has firmware {words}, which damages bytes")
    assert "put 2.2.2 or later on it" in said


@pytest.mark.parametrize("version", ["0222", "0223", "0230", "0231", "0300"])
def test_a_later_one_is_sound(tmp_path: Path, version: str) -> None:
    assert debug_probe(tmp_path, version, "Debugprobe on Pico (CMSIS-DAP)") == []


def test_another_firmware_with_its_ids_counts_its_versions_itself(tmp_path: Path) -> None:
    assert debug_probe(tmp_path, "0119", "YAPicoprobe CMSIS-DAP") == []


def test_a_j_link_that_is_a_drive_is_named_with_the_command_that_ends_it(tmp_path: Path) -> None:
    classes = [CDC, CDC_DATA, CDC, CDC_DATA, VENDOR, DRIVE]
    (said,) = line_faults(plug_in(tmp_path, ("1366", "1061"), "0100", "J-Link", classes), tmp_path)
    assert "is also a drive" in said and "MSDDisable in JLinkExe" in said


def test_a_j_link_that_is_none_and_another_probe_that_is_a_drive_are_sound(tmp_path: Path) -> None:
    j_link = plug_in(tmp_path / "a", ("1366", "1061"), "0100", "J-Link", [CDC, CDC_DATA, VENDOR])
    st_link = plug_in(tmp_path / "b", ("0483", "3754"), "0100", "STLINK-V3", [VENDOR, DRIVE, CDC, CDC_DATA])
    assert line_faults(j_link, tmp_path / "a") == line_faults(st_link, tmp_path / "b") == []


def test_ports_without_a_usb_device_and_other_systems(tmp_path: Path) -> None:
    (tmp_path / "class/tty/ttyS0/device").mkdir(parents=True)
    for port in ("/dev/ttyS0", "/dev/pts/3", "socket://lab-1:4001", "COM3", ""):
        assert line_faults(port, tmp_path) == []


SAID = "the J-Link is also a drive."


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("hil.commands.doctor", "hil.dut.with_port"):
        monkeypatch.setattr(f"{place}.line_faults", lambda port: [SAID] if "/" in port else [])


def test_the_doctor_tells(faulty: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_port_opens", lambda named: "it opens.")
    monkeypatch.setattr(doctor, "_agent_answers", lambda named: "it answers.")
    checks = doctor.examine(Bench(board=[BenchBoard(name="nrf52840", serial="/dev/ttyACM0")]), ())
    ours = [(check.subject, check.state, check.said) for check in checks if check.board]
    assert ours[:3] == [
        ("port opens", doctor.OK, "it opens."),
        ("line", doctor.WRONG, SAID),
        ("agent answers", doctor.OK, "it answers."),
    ]


def test_a_run_on_such_a_port_says_so(faulty: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    master, slave = os.openpty()
    tty.setraw(slave)
    bench = Bench(board=[BenchBoard(name="nrf52840", serial=os.ttyname(slave))])
    with Rig(bench) as rig, opened(rig, "nrf52840", image_of("nrf52840"), tmp_path / "log") as dut:
        assert dut.serial
        assert dut.record.warnings == [SAID]
    for end in (master, slave):
        os.close(end)
