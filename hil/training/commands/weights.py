"""`hil weights save|load`: copy a checkpoint in the flash of a board to a file, or a file to the flash."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from hil.arguments import output_file
from hil.commands.rig_of import rig_of
from hil.dataclass_json import validated_keys
from hil.errors import RigError
from hil.record.weights import write_weights
from hil.rig import Rig
from hil.training.campaign.board_checkpoints import check_board_has, read_weights, ready, slots_of
from hil.training.campaign.plan import DOCS, TrialRequest
from hil.training.commands.campaign_arguments import add_bench, add_trial
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import Prepared, prepare

OPTIONS = ("board", "network", "method", "variant", "batch", "seed")


def main(arguments: list[str]) -> int:
    """Run `hil weights`."""
    options = _parser().parse_args(arguments)
    fields = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    if options.what == "load":
        fields["checkpoint"] = str(options.file)
    elif not options.file.parent.is_dir():
        raise RigError(f"there is no folder {options.file.parent}: make it, or choose another file.")
    prepared = prepare(validated_keys(TrialRequest, fields, f"hil weights {options.what}", DOCS).trial())
    with tempfile.TemporaryDirectory() as folder, rig_of(options.rig, Path(folder), options.reality) as rig:
        copy = save if options.what == "save" else load
        print(copy(prepared, rig, options.file, Path(folder)))
    return 0


def save(prepared: Prepared, rig: Rig, file: Path, folder: Path) -> str:
    """Copy the newest checkpoint of a board to a file, and return a sentence about it.

    Raises RigError if the board has no checkpoint, or one of another network.
    """
    board = prepared.board.name
    with ready(prepared, rig, folder) as device:
        slots = slots_of(device, board)
        if not slots:
            raise RigError(f"the flash of {board} holds no checkpoint: write one by a campaign or `hil weights load`.")
        newest = slots[0]
        weights = read_weights(device, prepared, newest)
    write_weights(file, weights, durable=True)
    checkpoint = f"checkpoint {newest.sequence} before step {newest.step:,}, digest {newest.digest:08x}"
    return f"{file}: {len(weights)} tensors of {board}, {checkpoint}"


def load(prepared: Prepared, rig: Rig, file: Path, folder: Path) -> str:
    """Copy the weights of a file to a checkpoint of a board with step 0, and return a sentence about it.

    Raises RigError if the board has no slots for checkpoints, Blocked if its weights are not those sent to it.
    """
    board = prepared.board.name
    with ready(prepared, rig, folder) as device:
        slots_of(device, board)
        digest = check_board_has(device, reference_of(prepared.method).weights, board)
        sequence = device.save_checkpoint(0, 0, sum(tensor.size for tensor in prepared.method.plan.tensors))
        slot = next((one for one in slots_of(device, board) if one.sequence == sequence), None)
        if slot is None or slot.digest != digest:
            problem = f"checkpoint {sequence} of {board} does not have the digest {digest:08x} after writing"
            raise RigError(f"{problem}: its flash may be worn out.")
    return f"{file}: written to checkpoint {sequence} of {board}, digest {digest:08x}"


def _parser() -> argparse.ArgumentParser:
    text = "Copy weights between a file and the flash of a board (docs/trials.md)."
    parser = argparse.ArgumentParser(prog="hil weights", description=text)
    commands = parser.add_subparsers(dest="what", required=True)
    save = commands.add_parser("save", help="copy the newest checkpoint in the flash of a board to a file")
    load = commands.add_parser("load", help="copy the weights of a file to a checkpoint in the flash of a board")
    for command, kind in ((save, output_file), (load, Path)):
        text = ".npz with the trained tensors: w0, w1, ..."
        command.add_argument("file", type=kind, metavar="FILE", help=text)
        add_trial(command, OPTIONS)
        add_bench(command)
    return parser
