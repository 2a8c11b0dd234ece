"""Samples that stay on the board and are not what they should be: another set, one that was cut short, a worn cell, a bit that flips."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.rig import Rig
from hil.rig_toml import Bench, read_bench
from hil.training.data import batches
from hil.training.trial import run as running_trials
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import Prepared, prepare
from hil.trial import TrialSpec, run_trial

BOARD, COUNT, EACH = "stm32h7b3", 40, 786
SPEC = TrialSpec(BOARD, "cls1", batch=4, steps=3, evaluate=0, data=f"fashion-mnist-1k@{COUNT}", keep="flash")
OTHER = replace(SPEC, data=f"fashion-mnist-1k+fog-5@{COUNT}")
Serve = Callable[..., dict[str, Any]]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a board on a desk whose flash holds the image and some bytes beside it; returns its addresses."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    running: list[subprocess.Popen[str]] = []

    def start(address: int = 0, data: bytes = b"", inject: tuple[str, ...] = ()) -> dict[str, Any]:
        region = max((one for one in boards.load(BOARD).memory if one.kind == "flash"), key=lambda one: one.size)
        flash = np.full(region.size, 0xFF, np.uint8)
        for at, held in [*image_of(BOARD).segments, *([(address, data)] if data else [])]:
            flash[at - region.start : at - region.start + len(held)] = np.frombuffer(held, np.uint8)
        flash.tofile("flash.bin")
        command = [sys.executable, "-m", "hil.standins.virtual", "--board", BOARD, "--leashed", "--flash", "flash.bin"]
        command += [word for fault in inject for word in ("--inject", fault)]
        log = (tmp_path / "bench.log").open("w")
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True))
        assert running[-1].stdout is not None
        said: dict[str, Any] = json.loads(running[-1].stdout.readline())
        return said

    yield start
    for process in running:
        process.kill()
        process.communicate()


def trial(said: dict[str, Any], spec: TrialSpec = SPEC, probe: bool = False) -> Outcome:
    """Run a trial on the board on the desk: by its serial port alone, or with its probe too."""
    line = f'probe = "{said["probe"]}"\n' if probe else ""
    Path("rig.toml").write_text(f'[[board]]\nname = "{BOARD}"\nserial = "{said["serial"]}"\n{line}')
    with Rig(read_bench(Path("rig.toml"))) as rig:
        return run_trial(spec, rig, Path.cwd())


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare(SPEC)


def kept_bytes(prepared: Prepared) -> tuple[int, bytes]:
    ((address, data),) = prepared.image.cargo
    return address, data


def test_a_set_that_is_there_is_used_and_not_written_again(serve: Serve, prepared: Prepared) -> None:
    outcome = trial(serve(*kept_bytes(prepared)))
    assert (outcome.verdict, len(outcome.steps)) == ("pass", 3), outcome.reason
    assert outcome.flash is not None and (outcome.flash.route, outcome.flash.programmed) == ("agent", False)


def damaged(data: bytes) -> dict[str, bytes]:
    """Return what else may lie there: another set, one that was cut short, one bit, nothing."""
    other = prepare(OTHER).image.cargo[0][1]
    assert len(other) == len(data) and other != data
    half, at = len(data) // 2, 17 * EACH + 300
    return {
        "another set": other,
        "cut short": data[:half] + b"\xff" * (len(data) - half),
        "cut at the last byte": data[:-1] + bytes([data[-1] ^ 0x80]),
        "one bit": data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
        "a label": data[: 5 * EACH] + bytes([data[5 * EACH] ^ 1]) + data[5 * EACH + 1 :],
        "nothing": b"\xff" * len(data),
    }


@pytest.mark.parametrize("what", ["another set", "cut short", "cut at the last byte", "one bit", "a label", "nothing"])
def test_other_bytes_in_flash_block_the_trial(serve: Serve, prepared: Prepared, what: str) -> None:
    """Nobody can write them here: there is neither probe nor boot loader."""
    address, data = kept_bytes(prepared)
    outcome = trial(serve(address, damaged(data)[what]))
    assert (outcome.verdict, outcome.stage, len(outcome.steps)) == ("blocked", "flash", 0)
    assert "its flash has other bytes beside the image than this trial needs: name its probe" in outcome.reason


@pytest.mark.parametrize("what", ["another set", "cut short"])
def test_a_route_that_says_it_has_written_is_found_out_by_the_agent(
    prepared: Prepared, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A route programs and verifies bytes that are not the set: the digest of the agent is the last word."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    address, data = kept_bytes(prepared)
    wrong = damaged(data)[what]
    image = replace(prepared.image, cargo=((address, wrong),))
    monkeypatch.setattr(running_trials, "prepare", lambda spec, elf: replace(prepare(spec, elf), image=image))
    outcome = run_trial(SPEC, Rig(Bench(), reality="virtual"), tmp_path)
    assert (outcome.verdict, outcome.stage, len(outcome.steps)) == ("blocked", "flash", 0)
    assert f"the flash of {BOARD} from 0x{address:08X} on has the digest" in outcome.reason
    assert "run again with --reflash" in outcome.reason


def test_a_supply_that_fails_while_the_set_is_written_costs_a_run(serve: Serve, prepared: Prepared) -> None:
    """The next run writes what is missing, and the one after it nothing."""
    address, data = kept_bytes(prepared)
    said = serve(inject=(f"flash_cut:{address}:400",))
    first = trial(said, probe=True)
    assert (first.verdict, len(first.steps)) == ("blocked", 0), first.reason
    torn = np.fromfile("flash.bin", np.uint8)[address - 0x0800_0000 :][: len(data)].tobytes()
    assert torn != data
    ends = [trial(said, probe=True) for _ in range(2)]
    assert [one.verdict for one in ends] == ["pass", "pass"], [one.reason for one in ends]
    assert [one.flash.programmed for one in ends if one.flash is not None] == [True, False]
    assert ends[0].final_digests == ends[1].final_digests


def test_another_set_is_written_over_the_first(serve: Serve, prepared: Prepared) -> None:
    said = serve(*kept_bytes(prepared))
    outcome = trial(said, OTHER, probe=True)
    assert outcome.verdict == "pass" and outcome.flash is not None and outcome.flash.programmed, outcome.reason


def test_a_worn_cell_is_found_by_the_probe(broken_trial: Callable[..., Outcome], prepared: Prepared) -> None:
    address, data = kept_bytes(prepared)
    at = next(at for at in range(1000, len(data)) if not data[at] & 0x10)  # it sticks at 1
    fields = {"batch": 4, "data": SPEC.data, "keep": "flash"}
    outcome = broken_trial(inject=[f"flash_stuck:{address - 0x0800_0000 + at}:4"], **fields)
    assert (outcome.verdict, outcome.stage) == ("blocked", "flash"), outcome.reason
    assert "differs" in outcome.reason


def test_a_bit_that_flips_in_a_kept_sample_is_a_difference_of_the_step_that_takes_it(
    broken_trial: Callable[..., Outcome], prepared: Prepared
) -> None:
    steps = 8
    order = batches(prepared.data, 4, SPEC.seed)
    number = int([next(order) for _ in range(steps)][-1][0])
    arena = image_of(BOARD).symbols["__arena_start"]
    pixels = [f"ram_flip:{arena + number * EACH + 2 + at}:7:40000000" for at in range(300, 484, 2)]
    outcome = broken_trial(steps=steps, inject=pixels, batch=4, data=SPEC.data, keep="ram")
    assert (outcome.verdict, len(outcome.steps)) == ("fail", steps), outcome.reason
    assert outcome.difference is not None and outcome.difference.step == steps - 1
