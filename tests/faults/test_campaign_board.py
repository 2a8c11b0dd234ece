"""Checkpoints in the flash of a board that outlives the process of the campaign, as one on a desk does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.boards import load
from hil.commands.main import main
from hil.images import image_of
from hil.step_digest import step_digest
from hil.training.campaign.checkpoints import tensor_digests
from hil.training.data import batches
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

SLOTS = {  # where they begin, and the erase or programming in the middle of the tensors of the second checkpoint
    "stm32h7b3": (0x0818_0000, 90), "stm32f746": (0x0808_0000, 345), "nrf52840": (0x000C_0000, 345), "rp2040": (0x1018_0000, 9),
    "rp2350": (0x1038_0000, 9),
}  # fmt: skip
SLOTS_AT, _ = SLOTS["stm32h7b3"]
WHAT = {"board": "stm32h7b3", "network": "lenet5-tflite", "method": "last-layer"}
OPTIONS = [word for name, value in WHAT.items() for word in (f"--{name}", value)]
STEPS = 6
BATCH, MOVING = 2, {"queries": 1, "eta": 1.0}  # every step moves weights
SETTINGS = ["--batch", str(BATCH), "--steps", str(STEPS), "--evaluate", "0"] + [
    word for name, value in MOVING.items() for word in ("--set", f"{name}={value}")
]
Serve = Callable[..., dict[str, Any]]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a bench whose flash holds the image, and names its port in rig.toml: nothing is to be programmed. The current folder is an empty one."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    monkeypatch.setattr("hil.training.trial.device.STEP_DEADLINE_S", 20.0)
    running: list[subprocess.Popen[str]] = []

    def start(*inject: str, board: str = "stm32h7b3") -> dict[str, Any]:
        region = max(
            (memory for memory in load(board).memory if memory.kind == "flash"), key=lambda memory: memory.size
        )
        flash = np.full(region.size, 0xFF, np.uint8)
        for address, data in image_of(board).segments:
            flash[address - region.start : address - region.start + len(data)] = np.frombuffer(data, np.uint8)
        flash.tofile("flash.bin")
        command = [sys.executable, "-m", "hil.standins.virtual", "--board", board, "--leashed", "--flash", "flash.bin"]
        command += [word for fault in inject for word in ("--inject", fault)]
        log = (tmp_path / "bench.log").open("w")
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True))
        assert running[-1].stdout is not None
        said: dict[str, Any] = json.loads(running[-1].stdout.readline())
        Path("rig.toml").write_text(f'[[board]]\nname = "{board}"\nserial = "{said["serial"]}"\n')
        return said

    yield start
    for process in running:
        process.kill()
        process.communicate()


def uninterrupted(board: str = WHAT["board"]) -> list[int]:
    """Return the digest after every step, from the reference alone."""
    spec = TrialSpec(
        board,
        "adaptive",
        network=WHAT["network"],
        method=WHAT["method"],
        batch=BATCH,
        steps=STEPS,
        settings=MOVING,
        evaluate=0,
    )
    prepared = prepare(spec)
    reference, order, digests = reference_of(prepared.method), batches(prepared.data, BATCH, 1), []
    for _ in range(STEPS):
        chosen = next(order)
        digests.append(
            step_digest(reference.step(prepared.data.train_images[chosen], prepared.data.train_labels[chosen]).digests)
        )
    assert len(set(digests)) == STEPS, "a step that moves nothing cannot be lost"
    return digests


def status(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["campaign", "status", "c", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.tier("nightly")
def test_the_supply_fails_in_the_middle_of_a_checkpoint(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """The board comes back with nothing in its memory; the campaign goes on by itself, and the slot that was not being written is whole."""
    serve(
        f"flash_cut:{SLOTS_AT}:90"
    )  # a checkpoint is an erase, 55 flash words of tensors and 3 of its header: in the middle of the second
    assert main(["campaign", "start", "c", *OPTIONS, *SETTINGS, "--board-every", "1"]) == 0
    said = capsys.readouterr().out
    assert "blocked at link" in said and "continues at step 2 of 6" in said
    found = status(capsys)
    assert (found["state"], found["digest"], found["steps_again"]) == ("pass", f"{uninterrupted()[-1]:08x}", 0)
    assert "the supply fails in the middle of an operation of the flash" in Path("bench.log").read_text()


@pytest.mark.parametrize(
    "board", ["stm32h7b3", *(pytest.param(board, marks=pytest.mark.tier("nightly")) for board in list(SLOTS)[1:])]
)
def test_a_cut_in_a_checkpoint_leaves_the_older_slot_to_go_on_from(
    serve: Serve, capsys: pytest.CaptureFixture[str], board: str
) -> None:
    """The host keeps none before the end: the board's first checkpoint is all there is, and its second was being written."""
    address, operation = SLOTS[board]
    serve(f"flash_cut:{address}:{operation}", board=board)
    given = [*OPTIONS, *SETTINGS, "--board", board, "--checkpoint-every", "100", "--board-every", "1"]
    assert main(["campaign", "start", "c", *given]) == 0
    assert "continues at step 1 of 6, 1 computed again" in capsys.readouterr().out
    found = status(capsys)
    assert (found["state"], found["digest"], found["steps_again"]) == ("pass", f"{uninterrupted(board)[-1]:08x}", 1)
    assert "the supply fails in the middle of an operation of the flash" in Path("bench.log").read_text()


def test_what_this_computer_has_lost_the_board_has(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    serve()
    assert main(["campaign", "start", "c", *OPTIONS, *SETTINGS, "--board-every", "4"]) == 0
    journal = (Path("c") / "journal.jsonl").read_bytes().splitlines(keepends=True)
    fifth = next(at for at, line in enumerate(journal) if b'"step":4,' in line and b'"kind":"step"' in line)
    (Path("c") / "journal.jsonl").write_bytes(b"".join(journal[: fifth + 1]))  # as after a cut in step 5 ...
    for path in Path("c").glob("checkpoint-*"):
        path.unlink()  # ... and a disk that lost its checkpoints
    digests = uninterrupted()
    assert main(["campaign", "resume", "c"]) == 0
    assert "continues at step 4 of 6, 1 computed again" in capsys.readouterr().out
    found = status(capsys)
    assert (found["state"], found["digest"], found["steps_again"]) == ("pass", f"{digests[-1]:08x}", 1)

    assert main(["weights", "save", "mine.npz", *OPTIONS, "--batch", "1"]) == 0
    assert f"before step {STEPS}, digest {digests[-1]:08x}" in capsys.readouterr().out
    with np.load("mine.npz", allow_pickle=False) as arrays:
        weights = [arrays[name] for name in sorted(arrays.files)]
    assert step_digest(tensor_digests(weights)) == digests[-1]
    weights[0] = weights[0] // 2
    np.savez("half.npz", **{f"w{index}": tensor for index, tensor in enumerate(weights)})  # type: ignore[arg-type]
    assert main(["weights", "load", "half.npz", *OPTIONS, "--batch", "1"]) == 0
    assert f"digest {step_digest(tensor_digests(weights)):08x}" in capsys.readouterr().out
    assert main(["weights", "save", "back.npz", *OPTIONS, "--batch", "1"]) == 0
    with np.load("back.npz", allow_pickle=False) as arrays:
        assert all((arrays[f"w{index}"] == tensor).all() for index, tensor in enumerate(weights))
    capsys.readouterr()
    assert main(["weights", "save", "other.npz", "--board", "stm32h7b3"]) == 2
    assert (
        "is not of lenet5 by elasticzo-int8 cls1: name the network and variant of the checkpoint"
        in capsys.readouterr().err
    )
    assert not Path("other.npz").exists()


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("operation", [1, 2, 30, 56, 57, 58, 59, 60, 61, 119, 120, 200])
def test_the_supply_fails_in_any_operation(serve: Serve, capsys: pytest.CaptureFixture[str], operation: int) -> None:
    serve(f"flash_cut:{SLOTS_AT}:{operation}")
    assert main(["campaign", "start", "c", *OPTIONS, *SETTINGS, "--board-every", "1"]) == 0
    found = status(capsys)
    assert (found["state"], found["digest"]) == ("pass", f"{uninterrupted()[-1]:08x}") and found["steps_again"] <= 1


@pytest.mark.tier("nightly")
def test_a_board_that_has_just_been_made_holds_none(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    serve()
    assert main(["weights", "save", "mine.npz", *OPTIONS, "--batch", "1"]) == 2
    assert "the flash of stm32h7b3 holds no checkpoint" in capsys.readouterr().err
