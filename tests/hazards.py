"""The firmwares of fixtures/hazards: what they do, how they are built, and how each shows itself on a board."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pexpect
from host_agent import tool

from hil.dut import Dut, Unreadable, opened
from hil.errors import Blocked, DeviceFault, RigError
from hil.rig import Rig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[1] / "fixtures" / "hazards"
WAYS = ("wrong", "fault", "nothing", "garbled", "unreadable", "refused")  # of `expect` (README.md there)
STOPPED = "stopped"  # by the stand-in, which names the place and the rule: as good as what silicon would do
SEND, LOOK, END = r"send (0x\w+)\r\n", r"look (0x\w+)\r\n", r"((?:ok|wrong)[^\n]*)\n"
IN_MEMORY = 0x600DF00D  # at the address of a line `look`
PATIENCE, SHORT_S = 8, 1.0  # how often nothing may come within this time of a stand-in's processes
LOOKS_AT = 2  # place of LOOK among the patterns
LOOKS, ASLEEP_S = 5, 0.1  # at the memory of a core that sleeps soon


@dataclass(frozen=True)
class Hazard:
    """A row of a table: `expect` are the ways in which the wrong firmware may be seen to fail on silicon.

    Where `seen` is False the stand-in does not do that today, or cannot run the correct twin; `because` says why.
    """

    id: str
    board: str
    family: str
    title: str
    manual: str
    firmware: str
    expect: list[str]
    seen: bool = True
    because: str = ""


@dataclass(frozen=True)
class Seen:
    """How a firmware showed itself: `ok`, one of WAYS or STOPPED; and the words that say so."""

    how: str
    words: str


def read_hazards() -> list[Hazard]:
    """Return the rows of all boards, those of the quickest stand-ins first."""
    tables = sorted(FOLDER.glob("*/hazards.toml"), reverse=True)
    rows = [row for table in tables for row in tomllib.loads(table.read_text(encoding="utf-8"))["hazard"]]
    return [Hazard(**row) for row in rows]


def build(hazard: Hazard, folder: Path) -> tuple[Path, Path]:
    """Return the wrong firmware and its correct twin; without a compiler as `tool`."""
    tool("arm-none-eabi-gcc")
    stem = folder / hazard.board / Path(hazard.firmware).stem
    twins = Path(f"{stem}-wrong.elf"), Path(f"{stem}-right.elf")
    made = subprocess.run(
        ["make", "-s", "-C", str(FOLDER), f"BUILD={folder}", f"PYTHON={sys.executable}", *map(str, twins)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout
    return twins


def run(rig: Rig, board: str, elf: Path, logs: Path) -> Seen:
    """Flash a firmware to a board of its own and return how it shows itself."""
    try:
        with opened(rig, board, elf, logs) as dut:
            _ = dut.serial  # before the first byte comes
            dut.flash()
            return _shown(dut)
    except (Blocked, DeviceFault):
        raise
    except RigError as error:
        return Seen("refused", str(error))


def _shown(dut: Dut) -> Seen:
    """Wait for the verdict of a firmware, and look now and then whether the core is in a fault."""
    seen = Seen("nothing", "")
    for _ in range(PATIENCE):
        try:
            which = dut.serial.expect([END, SEND, LOOK], timeout=SHORT_S)
        except pexpect.TIMEOUT as error:
            seen = _silent(dut, error)
            if seen.how in ("fault", STOPPED):
                break
            continue
        said = dut.serial.match[1].decode()
        if which == 0:
            return Seen("ok" if said.startswith("ok") else "wrong", said.strip())
        if which == LOOKS_AT:
            return _looked(dut, int(said, 16))
        dut.serial.write(bytes(ord("A") + number % 26 for number in range(int(said, 16))))
    return seen


def _looked(dut: Dut, address: int) -> Seen:
    for _ in range(LOOKS):  # the core may not sleep yet at the first
        try:
            (word,) = dut.read(address, np.uint32, 1)
        except RigError as error:
            return Seen("unreadable", str(error))
        if word != IN_MEMORY:
            return Seen("unreadable", f"0x{word:08X}")
        time.sleep(ASLEEP_S)
    return Seen("ok", f"0x{IN_MEMORY:08X}")


def _silent(dut: Dut, error: Exception) -> Seen:
    fault = dut.fault()
    if fault is not None:
        return Seen("fault" if re.match("the (processor|core) ", fault) else STOPPED, fault)
    garbled = isinstance(error, Unreadable) or "no text" in str(error)
    return Seen("garbled" if garbled else "nothing", str(error))
