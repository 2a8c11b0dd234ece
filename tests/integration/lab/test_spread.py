"""`pytest --board=all -n 4` in a lab of four virtual boards behind two exporters: each trial once, on every place."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

from hil import boards
from hil.commands.main import main
from hil.images import image_of
from hil.rig_toml import read_bench
from hil.standins import StandIn, start_virtual

from .processes import Lab, meter, resources, running

PLACES = {"f7-a": "stm32f746", "f7-b": "stm32f746", "h7 bench": "stm32h7b3", "rp2040 left": "rp2040"}
TRIALS = """
import pytest
from hil.trial import EnergyWindows, TrialSpec


@pytest.mark.parametrize("seed", range(3))
def test_a_trial(hil_board, hil_trial, seed):
    spec = TrialSpec(hil_board, "cls1", batch=1, steps=1, evaluate=0, seed=seed)
    assert hil_trial(spec).verdict == "pass"


def test_energy(hil_board, hil_trial):
    windows = EnergyWindows(windows=2, steps=1, idle_ms=20)
    outcome = hil_trial(TrialSpec(hil_board, "cls1", batch=2, steps=1, evaluate=0, energy=windows))
    assert outcome.verdict == "pass"
    assert len(outcome.energy.windows) == 2
"""


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of these places only, two behind each exporter; each with a power meter."""
    started: list[StandIn] = []
    offers: list[dict[str, dict[str, dict[str, Any]]]] = [{}, {}]
    for number, board in enumerate(PLACES.values()):
        started.append(start_virtual(boards.load(board), image_of(board), tmp_path_factory.mktemp("board") / "log"))
        ends = started[-1].endpoints
        offers[number % 2][f"group {number}"] = resources(ends) | meter(ends)
    with running(tmp_path_factory.mktemp("lab")) as lab:
        for side, offered in zip(("left", "right"), offers, strict=True):
            lab.export(f"{side} exporter", offered)
        for number, (place, board) in enumerate(PLACES.items()):
            tags = {"board": board} if place != "rp2040 left" else {}
            lab.place(place, f"{('left', 'right')[number % 2]} exporter/group {number}/*", **tags)
        yield lab
    for each in started:
        each.stop()


def test_all_boards_on_four_workers_use_every_place_and_run_each_trial_once(four: Lab, tmp_path: Path) -> None:
    """`hil init --labgrid` writes the bench. The boards that are not in the lab are left out by name."""
    assert main(["init", f"--rig={tmp_path / 'rig.toml'}", f"--labgrid={four.address}"]) == 0
    assert {each.name: each.wanted_place for each in read_bench(tmp_path / "rig.toml").board} == {
        "stm32f746": "any:stm32f746",
        "stm32h7b3": "h7 bench",
        "rp2040": "rp2040 left",
    }
    (tmp_path / "test_spread.py").write_text(TRIALS)
    holders: dict[str, set[str]] = {name: set() for name in PLACES}
    together, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            held = {name: four.holder(name) for name in PLACES}
            together[0] = max(together[0], sum(map(bool, held.values())))
            for name, holder in held.items():
                holders[name] |= {holder} - {""}

    watcher = threading.Thread(target=watch)
    watcher.start()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:labgrid", "-p", "no:cacheprovider", "--board=all"]
    names = " or ".join(sorted(set(PLACES.values())))
    try:
        ran = subprocess.run(
            [*command, "-n", "4", "-k", names, "test_spread.py"],
            cwd=tmp_path, capture_output=True, text=True, timeout=900,
        )  # fmt: skip
    finally:
        done.set()
        watcher.join()
    assert ran.returncode == 0 and "12 passed" in ran.stdout, ran.stdout[-3000:]
    record = json.loads((tmp_path / "reports/latest/results.json").read_text())
    passed = Counter(test["test"] for test in record["tests"] if test["verdict"] == "pass")
    assert len(passed) == len(record["trials"]) == 12 and set(passed.values()) == {1}
    assert all(len(each) == 1 for each in holders.values()), f"a worker has its place to the end: {holders}"
    assert holders["f7-a"] != holders["f7-b"] and together[0] == 4
    for name in PLACES:
        four.await_holder(name, "")
