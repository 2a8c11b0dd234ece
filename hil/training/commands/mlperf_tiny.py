"""`hil mlperf-tiny`: prepare a board for the runner of MLPerf Tiny, which then controls it (docs/measure.md)."""

from __future__ import annotations

import argparse
import contextlib
import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from hil.arguments import add_rig
from hil.commands.rig_of import rig_of
from hil.dut import Dut
from hil.errors import RigError
from hil.number_text import whole_number
from hil.training.graph.formats import Format
from hil.training.matrix.cells import cells
from hil.training.networks import build
from hil.training.networks.files import is_path, read_network, title_of
from hil.training.networks.published import Published, published_as
from hil.training.trial.board import opened_board
from hil.training.trial.device import Device
from hil.training.trial.prepare import Loadable, loadable

TASKS = ("images", "features", "reconstruction")  # as the link numbers them
SLOTS = {"images": 2, "features": 2, "reconstruction": 6}  # of a sample, and of its bytes as received
LONGEST_MODEL = 16  # bytes (hil/link/messages.toml, `mlperf_tiny`)
POLL_S = 0.5


def main(arguments: list[str]) -> int:
    """Load a network, enable the commands, and release the port; a stand-in runs until Ctrl-C."""
    options = _parser().parse_args(arguments)
    known = _published(options.network)
    task = options.task or _task_of(known)
    model = options.model or (known.benchmark if known else "") or title_of(options.network)
    if not 0 < len(model.encode()) <= LONGEST_MODEL or not model.isascii():
        raise RigError(f"--model={model}: the board sends this name, choose 1 to {LONGEST_MODEL} ASCII characters.")
    found = ready(options.board, options.network, task, options.checkpoint, options.seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        rig_of(options.rig) as rig,
        opened_board(rig, found.board, found.image, Path(folder)) as dut,
    ):
        path = make_ready(found, dut, model, options.energy, task)
        place = f"at {path}, {found.board.baud} baud, model {model}"
        print(f"{options.board} ({dut.endpoints.reality}) answers MLPerf Tiny's commands {place}.")
        if dut.endpoints.reality != "hardware":
            print("It is a stand-in and says nothing about silicon; Ctrl-C ends it.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    dut.alive()
                    time.sleep(POLL_S)
    return 0


def ready(board: str, network: str, task: str = "", checkpoint: Path | None = None, seed: int = 1) -> Loadable:
    """Return a network on a board with the slots of a task, by the method and variant that need least memory.

    Args:
        board, network: of the catalogue, or the network's path.
        task: one of `TASKS`; empty for that of a published model, else `images`.
        checkpoint: .npz with the weights; None for the network's own.
        seed: of weights that are drawn.

    Raises:
        RigError: an unknown name, or a network that no method on this board serves.
        Blocked: it does not fit the board.
    """
    task = task or _task_of(_published(network))
    _check_task(network, task, seed)
    fitting, refusal = [], None
    for cell in cells([board], networks=[network]):
        spec = replace(cell.spec(), batch=SLOTS[task], slots=None, seed=seed, checkpoint=checkpoint)
        try:
            fitting.append(loadable(spec))
        except RigError as error:
            refusal = error
    fitting = [one for one in fitting if one.slots == SLOTS[task]]
    if not fitting:
        raise refusal or RigError(f"no method loads {network!r} with {SLOTS[task]} samples: choose another network.")
    return min(fitting, key=lambda one: one.plan.total)


def make_ready(found: Loadable, dut: Dut, model: str, energy: bool, task: str = TASKS[0]) -> str:
    """Flash, load the network, enable the commands; return the path of the port, which is released.

    Raises Blocked if the board cannot be reached, or is another.
    """
    dut.flash()
    device = Device(dut.agent, found.board, found.image)
    device.take_network(found.image, found.blob)
    device.begin(found.method.plan, found.method.request.configuration(found.settings, found.slots, 0))
    device.mlperf_tiny(model, energy, TASKS.index(task))
    path = str(dut.serial.port)
    dut.release()
    return path


def _check_task(network: str, task: str, seed: int) -> None:
    """Raise RigError if the network is not of the kind that a task needs."""
    if task == "images":
        return
    graph = build(network, seed)
    if graph.formats != (Format.TFLITE8,):
        raise RigError(f"--task={task}: {title_of(network)} is not in tflite8 throughout, choose --task=images.")
    inputs = math.prod(graph.in_shape)
    if task == "reconstruction" and graph.classes != inputs:
        raise RigError(
            f"--task={task}: {title_of(network)} has {inputs:,} inputs and {graph.classes:,} outputs, a reconstruction "
            "has as many: choose another task or network."
        )


def _published(network: str) -> Published | None:
    """Return the published model that a network by path is, or came from; None for any other."""
    model = read_network(network).model if is_path(network) else None
    return None if model is None else published_as(model.sha256)


def _task_of(known: Published | None) -> str:
    """Return the task of a published model; `images` for any other network."""
    return (known.task if known else "") or TASKS[0]


def _parser() -> argparse.ArgumentParser:
    text = "Prepare a board for the runner of MLPerf Tiny."
    parser = argparse.ArgumentParser(prog="hil mlperf-tiny", description=text)
    parser.add_argument("--board", default="stm32h7b3", help="board of the catalogue (default: stm32h7b3)")
    text = "network to load, or the path of a .tflite or .hnet (default: lenet5)"
    parser.add_argument("--network", default="lenet5", help=text)
    text = ".npz with the weights (default: the network's, or drawn from the seed)"
    parser.add_argument("--checkpoint", type=Path, default=None, metavar="FILE", help=text)
    parser.add_argument(
        "--seed", type=whole_number, default=1, help="seed of the weights without a checkpoint (default: 1)"
    )
    text = "answer to `profile`, by which the runner chooses its test (default: the benchmark's, or the network's name)"
    parser.add_argument("--model", default=None, metavar="NAME", help=text)
    text = "what samples and results are (default: that of a published model, else images)"
    parser.add_argument("--task", choices=TASKS, default=None, help=text)
    text = "give timestamps as falling edges of the marker pin instead of lines"
    parser.add_argument("--energy", action="store_true", help=text)
    add_rig(parser)
    return parser
