"""A board that does not exist, added to a copy of the tree as docs/new-board.md says: a port, a catalogue file and a chip file, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from host_agent import FIRMWARE, tool

from tests.built_firmware import built_firmware

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = FIRMWARE.parent
MADE_UP = Path(__file__).parent / "made_up"
PORT = Path("firmware/ports/made-up")
THREE = {"made-up.toml": Path("hil/boards/made-up.toml"), "made_up.py": Path("hil/standins/virtual/boards/made_up.py")}
MANIFEST = Path("firmware/prebuilt/MANIFEST.toml")
TESTS = "tests/unit/boards/test_catalogue.py", "tests/unit/firmware/test_prebuilt.py"

# What a user's own script does: a short trial, the record thrown away.
TRIAL = """
import json, sys
from pathlib import Path
import hil
from hil import boards
from hil.images import image_of
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import EnergyWindows, TrialSpec, run_trial

spec = TrialSpec("made-up", "cls1", steps=4, evaluate=0, probe_every=2, energy=EnergyWindows(windows=2, steps=1, idle_ms=20))
with Rig(Bench()) as rig:
    outcome = run_trial(spec, rig, Path(sys.argv[1]))
    print(json.dumps({
        "from": hil.__file__, "verdict": outcome.verdict, "reason": outcome.reason, "steps": len(outcome.steps),
        "arena": image_of("made-up").symbols["__arena_end"],
    }))
"""


def files(root: Path) -> dict[Path, bytes]:
    """Return what is in the rooms `hil` and `firmware`, without what compilers leave there."""
    found = [path for room in ("hil", "firmware") for path in (root / room).rglob("*") if path.is_file()]
    left = {"__pycache__", "build"}
    return {path.relative_to(root): path.read_bytes() for path in found if not left & {*path.relative_to(root).parts}}


def add_board(tree: Path) -> None:
    """Copy the rooms, and put the made-up board beside the others; its port is a relative's with other pins and memories."""
    for room in ("hil", "firmware", "fixtures"):
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("build"))
    shutil.copytree(tree / "firmware/ports/nrf52840", tree / PORT)
    shutil.copytree(MADE_UP / "port", tree / PORT, dirs_exist_ok=True)
    text = (tree / PORT / "port.c").read_text()
    assert 'return "nrf52840";' in text
    (tree / PORT / "port.c").write_text(text.replace('return "nrf52840";', 'return "made-up";'))
    for name, place in THREE.items():
        shutil.copy(MADE_UP / name, tree / place)


def run(tree: Path, *command: str) -> str:
    """Run a command in the copied tree, which `import hil` takes, and return what it prints."""
    environment: Mapping[str, str] = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree with the made-up board in it, its image built and in the manifest."""
    tool("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("tree")
    add_board(folder)
    shutil.copytree(built_firmware(tmp_path_factory) / "build", folder / "firmware/build")  # objects of its core
    run(folder, tool("make"), "-C", "firmware", "-j2", "prebuilt", "IMAGES=made-up", f"PYTHON={sys.executable}")
    return folder


def test_nothing_but_the_three_things_was_added_or_changed(tree: Path) -> None:
    ours, theirs = files(ROOT), files(tree)
    added = {path for path in theirs.keys() - ours.keys() if path.parent != PORT}
    assert added == {*THREE.values(), Path("firmware/prebuilt/made-up.elf")}
    assert {path for path in ours if theirs.get(path) != ours[path]} == {MANIFEST}
    old, new = (tomllib.loads(content[MANIFEST].decode()) for content in (ours, theirs))
    assert new == old | {"made-up": new["made-up"]}


def test_its_virtual_bench_trains_as_the_reference_does(tree: Path, tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    said = json.loads(run(tree, sys.executable, "-c", TRIAL, str(tmp_path)).splitlines()[-1])
    assert (said["verdict"], said["steps"]) == ("pass", 4), said["reason"]
    assert Path(said["from"]).is_relative_to(tree)
    assert said["arena"] == 0x20000000 + 224 * 1024
    assert "P1.12 goes high" in (tmp_path / "bench.log").read_text()


def test_the_tests_of_every_board_take_it(tree: Path) -> None:
    for path in (
        *TESTS,
        "tests/built_once.py",
        "tests/built_firmware.py",
        "tests/host_make.py",
        "tests/unit/firmware/conftest.py",
        "tests/unit/firmware/host_agent.py",
    ):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tree / path)
    said = run(tree, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "made-up", *TESTS)
    passed = re.search(r"^(\d+) passed, \d+ deselected", said, re.M)
    assert passed and int(passed[1]) >= 10, said


def test_a_board_s_list_names_it(tree: Path) -> None:
    assert "Made-up board" in run(tree, sys.executable, "-c", "from hil.commands.main import main; main(['boards'])")
