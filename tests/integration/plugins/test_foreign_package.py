"""A package outside this repository adds a board, its flash route and stand-in, and a meter, without a change here.

It is installed (a .dist-info on the path), or a folder that rig.toml names. Users see it through the command line.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hil.plugins.folders import VARIABLE
from tests.one_process import one_process

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ACME = Path(__file__).parent / "acme"
CODE = bytes(range(200))
TEST = """
def test_the_program_is_in_the_flash(hil_dut):
    hil_dut.serial.write(b"?")
    hil_dut.serial.expect(r"holds (\\d+) bytes, sum (\\d+)", timeout=30)
    assert [int(number) for number in hil_dut.serial.match.groups()] == [200, sum(range(200))]
"""


def elf(code: bytes) -> bytes:
    """Return an ELF file for Arm that loads code at address 0 (ELF for the Arm Architecture, 2023Q3)."""
    header = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 1, 52, 0, 0x05000000, 52, 32, 1, 40, 0, 0)
    return header + struct.pack("<8I", 1, 84, 0, 0, len(code), len(code), 5, 4) + code


def install(site: Path) -> None:
    """Put the package into a folder of the path, as an installer does."""
    shutil.copytree(ACME / "acme_rig", site / "acme_rig")
    project = tomllib.loads((ACME / "pyproject.toml").read_text())["project"]
    about = site / f"acme_rig-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [line for group, names in groups for line in (f"[{group}]", *(f"{a} = {b}" for a, b in names.items()))]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


@dataclass
class Bench:
    """A user's folder with firmware, a test, readings of the meter and rig.toml, and the package as `way` says."""

    folder: Path
    way: str

    def run(self, *command: str, code: int = 0) -> str:
        """Run a command there, and return its output without errors."""
        without = {key: value for key, value in os.environ.items() if key != VARIABLE}
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=self.folder, capture_output=True, text=True, timeout=300,
            env=without | {"PYTHONPATH": str(self.folder / "site")},
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def hil(self, *arguments: str, code: int = 0) -> str:
        return self.run("hil.commands.main", *arguments, code=code)


@pytest.fixture(scope="module", params=["folder", "package"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("mine")
    (folder / "site").mkdir()
    if request.param == "folder":
        shutil.copytree(ACME, folder / "acme")
        (folder / "rig.toml").write_text('plugins = ["acme"]\n')
    else:
        install(folder / "site")
    (folder / "mine.elf").write_bytes(elf(CODE))
    (folder / "test_mine.py").write_text(TEST)
    t_s = np.arange(3000) / 1000
    works = (t_s >= 1) & (t_s < 2)
    np.savetxt(folder / "readings.txt", np.stack([t_s, np.where(works, 0.011, 0.001), works], axis=1))
    return Bench(folder, request.param)


def test_it_is_listed_with_its_package_and_version(bench: Bench) -> None:
    found = json.loads(bench.hil("plugins", "--json"))
    own = [one for one in found["plugins"] if one["package"] != "trainrig"]
    assert [(one["kind"], one["name"]) for one in own] == [
        ("boards", "acme-m4"),
        ("flash_routes", "acme-isp"),
        ("meters", "acme-pm1"),
        ("stand_ins", "acme-sim"),
    ]
    folder = str(bench.folder / "acme") if bench.way == "folder" else None
    assert {(one["package"], one["version"], one["folder"], one["error"]) for one in own} == {
        ("acme-rig", "1.2", folder, None)
    }
    assert {"stm32h7b3", "pyocd", "keithley-2450", "qemu"} <= {one["name"] for one in found["plugins"]}
    assert found["errors"] == []


def test_its_board_is_in_the_catalogue_and_runs_on_its_stand_in(bench: Bench) -> None:
    (board,) = (one for one in json.loads(bench.hil("boards", "--json")) if one["name"] == "acme-m4")
    assert (board["auto"]["reality"], board["budget"], board["routes"]) == ("acme-sim", {}, ["acme-isp"])


def test_a_test_runs_on_its_board_flashed_by_its_route(bench: Bench) -> None:
    options = one_process("--board=acme-m4", "--elf=mine.elf")
    bench.run("pytest", "-p", "no:cacheprovider", *options)  # the bench tests need the agent, and are left out
    (run,) = (path for path in (bench.folder / "reports").glob("2*") if path.is_dir())
    (entry,) = json.loads((run / "results.json").read_text())["device_tests"]
    assert (entry["board"], entry["reality"], entry["verdict"]) == ("acme-m4", "acme-sim", "pass")
    assert bench.hil("summary", str(run)).count("acme-sim, a stand-in")


def test_its_board_may_be_attached(bench: Bench) -> None:
    """rig.toml names it, with a port that is not there: `hil doctor` says so, and nothing else is wrong."""
    rig = bench.folder / "attached.toml"
    plugins = 'plugins = ["acme"]\n' if bench.way == "folder" else ""
    rig.write_text(plugins + '[[board]]\nname = "acme-m4"\nserial = "/dev/none"\nelf = "mine.elf"\n')
    assert "acme-m4" in bench.hil("devices", f"--rig={rig}")
    wrong = [
        one for one in json.loads(bench.hil("doctor", "--json", f"--rig={rig}", code=1)) if one["state"] == "wrong"
    ]
    assert [(one["board"], one["subject"]) for one in wrong] == [("acme-m4", "port opens")]


def test_its_meter_measures(bench: Bench) -> None:
    said = bench.hil("measure", "--meter=readings.txt", "--model=acme-pm1", "--volt=3.0", "--json")
    found = json.loads(said)
    assert "PM1" in json.dumps(found["meter"])
    assert found["energy"]["value"] == pytest.approx(0.033, rel=0.01)


def test_another_board_loads_nothing_of_it(bench: Bench) -> None:
    """A plain pytest, and one on a board of trainrig, import no plugin."""
    (bench.folder / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure(config):\n    assert 'acme_rig' not in sys.modules\n"
    )
    try:
        bench.run("pytest", "-p", "no:cacheprovider", "-q", "--collect-only")
        bench.run("pytest", "-p", "no:cacheprovider", "-q", "--collect-only", "--board=mps2-an386", "test_mine.py")
    finally:
        (bench.folder / "conftest.py").unlink()
