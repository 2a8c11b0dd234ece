"""`hil mlperf-tiny`: prepare a board for the runner of MLPerf Tiny, which then controls it (docs/mlperf-tiny.md)."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

from hil.arguments import add_rig
from hil.errors import RigError
from hil.link.session import Session, fresh_nonce
from hil.networks.files import title_of
from hil.rig import Rig, Taken, read_bench
from hil.targets import open_target
from hil.trial import TrialSpec
from hil.trial.device import Device
from hil.trial.prepare import Prepared, prepare

SLOTS = 2  # one for the sample, one for its bytes as received
LONGEST_MODEL = 16  # bytes (hil/link/messages.toml, `mlperf_tiny`)
POLL_S = 0.5


def main(arguments: list[str]) -> int:
    """Load a network, enable the commands, and release the port; a stand-in runs until Ctrl-C."""
    options = _parser().parse_args(arguments)
    model = options.model or title_of(options.network)
    if not 0 < len(model.encode()) <= LONGEST_MODEL or not model.isascii():
        raise RigError(f"--model={model}: the board sends this name, choose 1 to {LONGEST_MODEL} ASCII characters.")
    spec = TrialSpec(
        options.board, "full-zo", network=options.network, batch=SLOTS, seed=options.seed, checkpoint=options.checkpoint
    )
    prepared = prepare(spec)
    with (
        tempfile.TemporaryDirectory() as folder,
        Rig(read_bench(options.rig)) as rig,
        rig.take(prepared.board, prepared.image, Path(folder) / "bench.log") as taken,
    ):
        path = make_ready(prepared, taken, model, options.energy)
        place = f"at {path}, {prepared.board.baud} baud, model {model}"
        print(f"{options.board} ({taken.endpoints.reality}) answers MLPerf Tiny's commands {place}.")
        if taken.stand_in is not None:
            print("It is a stand-in and says nothing about silicon; Ctrl-C ends it.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    taken.alive()
                    time.sleep(POLL_S)
    return 0


def make_ready(prepared: Prepared, taken: Taken, model: str, energy: bool) -> str:
    """Flash, load the network, enable the commands; return the path of the port, which is closed again.

    `prepared` has two slots. Raises Blocked if the board cannot be reached, or is another.
    """
    target = open_target(prepared.board, taken.endpoints, taken.probe_process)
    try:
        target.flash(prepared.image)
        device = Device(Session(target.port, fresh_nonce(), taken.alive), prepared.board, prepared.image)
        device.load(prepared.blob)
        device.configure(prepared.method.configuration(prepared.settings, SLOTS, 0))
        device.mlperf_tiny(model, energy)
        return str(target.port.port)
    finally:
        target.close()


def _parser() -> argparse.ArgumentParser:
    text = "Prepare a board for the runner of MLPerf Tiny."
    parser = argparse.ArgumentParser(prog="hil mlperf-tiny", description=text)
    parser.add_argument("--board", default="stm32h7b3", help="board of the catalogue (default: stm32h7b3)")
    parser.add_argument("--network", default="lenet5", help="network to load (default: lenet5)")
    text = ".npz with the weights (default: drawn from the seed)"
    parser.add_argument("--checkpoint", type=Path, default=None, metavar="FILE", help=text)
    parser.add_argument("--seed", type=int, default=1, help="seed of the weights without a checkpoint (default: 1)")
    text = "answer to `profile`, by which the runner chooses its test (default: the network's name)"
    parser.add_argument("--model", default=None, metavar="NAME", help=text)
    text = "give timestamps as falling edges of the marker pin instead of lines"
    parser.add_argument("--energy", action="store_true", help=text)
    add_rig(parser)
    return parser
