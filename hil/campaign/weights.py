"""`hil weights save|load`: the checkpoint in the flash of a board to a file, and a file to there."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from hil.campaign.on_board import check_board_has, read_weights, ready, slots_of
from hil.campaign.plan import Asked, asked
from hil.errors import RigError
from hil.record.weights import write_weights
from hil.rig import Rig, read_bench
from hil.rig.reality import REALITIES
from hil.trial.prepare import Prepared, prepare

OPTIONS = ("board", "network", "method", "variant", "batch", "seed")


def main(arguments: list[str]) -> int:
    """Run `hil weights`."""
    options = _parser().parse_args(arguments)
    given = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    if options.what == "load":
        given["checkpoint"] = str(options.file)
    elif not options.file.parent.is_dir():
        raise RigError(f"there is no folder {options.file.parent}: make it, or choose another file.")
    prepared = prepare(asked(given, f"hil weights {options.what}").trial())
    with tempfile.TemporaryDirectory() as folder, Rig(read_bench(options.rig), Path(folder), options.reality) as rig:
        work = save if options.what == "save" else load
        print(work(prepared, rig, options.file, Path(folder)))
    return 0


def save(prepared: Prepared, rig: Rig, file: Path, folder: Path) -> str:
    """Write the newest checkpoint of a board to a file; return a sentence.

    Raises:
        RigError: the board has none, or one of another network.
    """
    board = prepared.board.name
    with ready(prepared, rig, folder / "bench.log") as device:
        slots = slots_of(device, board)
        if not slots:
            raise RigError(f"the flash of {board} holds no checkpoint: a campaign writes some, or `hil weights load`.")
        weights = read_weights(device, prepared, slots[0])
    write_weights(file, weights)
    return f"{file}: {len(weights)} tensors of {board}, checkpoint {slots[0].sequence} before step {slots[0].step:,}, digest {slots[0].digest:08x}"


def load(prepared: Prepared, rig: Rig, file: Path, folder: Path) -> str:
    """Write the weights of a file to a checkpoint of a board, with step 0; return a sentence.

    Raises:
        RigError: the board has no slots.
        Blocked: the board does not have the weights that it was given.
    """
    board = prepared.board.name
    with ready(prepared, rig, folder / "bench.log") as device:
        slots_of(device, board)
        digest = check_board_has(device, prepared.subject.reference().weights, board)
        sequence = device.save_checkpoint(0, 0, sum(tensor.size for tensor in prepared.subject.tensors))
        slot = next((one for one in slots_of(device, board) if one.sequence == sequence), None)
        if slot is None or slot.digest != digest:
            raise RigError(
                f"{board} wrote checkpoint {sequence}, and it is not there with the digest {digest:08x}: its flash may be worn out."
            )
    return f"{file}: written to checkpoint {sequence} of {board}, digest {digest:08x}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hil weights", description="Weights between a file and the flash of a board (docs/campaigns.md)."
    )
    whats = parser.add_subparsers(dest="what", required=True)
    meanings = {
        "save": "read the newest checkpoint in the flash of a board into a file",
        "load": "write a file to a checkpoint in the flash of a board",
    }
    for name, meaning in meanings.items():
        command = whats.add_parser(name, help=meaning)
        command.add_argument("file", type=Path, metavar="FILE", help=".npz with the trained tensors: w0, w1, ...")
        for option in OPTIONS[:4]:
            command.add_argument(
                f"--{option}",
                metavar="NAME",
                help=f"{option} (default: {Asked.model_fields[option].default or 'the first of the method'})",
            )
        for option in OPTIONS[4:]:
            command.add_argument(
                f"--{option}", type=int, metavar="N", help=f"{option} (default: {Asked.model_fields[option].default})"
            )
        command.add_argument(
            "--rig",
            type=Path,
            default=Path("rig.toml"),
            metavar="FILE",
            help="description of the bench (default: rig.toml)",
        )
        command.add_argument("--reality", choices=REALITIES, default="auto", help="as for pytest (default: auto)")
    return parser
