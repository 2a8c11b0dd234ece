"""`hil network`: import a .tflite, export a trained one, fetch a published one, draw a head."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hil.arguments import output_file, output_folder, positive_count
from hil.atomic_write import atomic_file
from hil.errors import RigError
from hil.training.commands.network_import import import_model
from hil.training.graph.file import encode
from hil.training.networks import build, find_network
from hil.training.networks.files import NETWORK
from hil.training.networks.published import fetched, find_published, published
from hil.training.tflite.blocks import EXAMPLE
from hil.training.tflite.runtimes import DEFAULT, RUNTIMES


def main(argv: list[str]) -> int:
    """Run `hil network`."""
    options = _parser().parse_args(argv)
    with _writing():
        if options.action == "fetch":
            _fetch(options.name, options.to, options.source)
        elif options.action == "head":
            _head(options.name, options.classes, options.seed, options.out or Path(f"{options.name}.hnet"))
        elif options.action == "export":
            from hil.training.commands.network_export import export  # late: only this action reads a record

            print(export(options.trial, options.out, options.model))
        else:
            out = options.out or options.model.with_suffix(".hnet")
            print(import_model(options.model, out, options.runtime, options.block_map))
    return 0


@contextmanager
def _writing() -> Iterator[None]:
    """Turn a file that cannot be written into a sentence."""
    try:
        yield
    except OSError as error:
        name = error.filename if error.filename is not None else "the file"
        raise RigError(f"{name} cannot be written ({error.strerror or error}): choose another folder.") from error


def _fetch(name: str, folder: Path, source: Path | None) -> None:
    """Write a published model into a folder."""
    model = find_published(name)
    data = fetched(model, source)
    path = folder / model.file
    with atomic_file(path) as partial:
        partial.write_bytes(data)
    print(f"{path}: {model.title}; {len(data):,} bytes, verified\nlicence: {model.licence}")


def _head(name: str, classes: int, seed: int, out: Path) -> None:
    """Write the file of a network with a head for other classes, drawn by the seed."""
    if out.suffix.lower() != NETWORK:
        raise RigError(f"{out} is no name of a network file: end it with {NETWORK}.")
    graph = build(f"{name}@{classes}-classes", seed)
    blob = encode(graph)
    with atomic_file(out) as partial:
        partial.write_bytes(blob)
    origin = find_network(name).provenance
    print(f"{out}: {name} with a head for {graph.classes} classes, {len(blob):,} bytes\n{origin}")


def _parser() -> argparse.ArgumentParser:
    text = "Networks of your own (docs/tflite.md)."
    parser = argparse.ArgumentParser(prog="hil network", description=text)
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser("import", help="make a network file of an int8 .tflite")
    one.add_argument("model", type=Path, metavar="MODEL", help="int8 model (.tflite)")
    one.add_argument(
        "--out", type=output_file, metavar="FILE", help="network file to write (default: MODEL with .hnet)"
    )
    text = f"runtime whose rounding the layers have: {', '.join(RUNTIMES)} (default: {DEFAULT})"
    one.add_argument("--runtime", choices=tuple(RUNTIMES), default=DEFAULT, help=text)
    text = f"blocks of sparse training, such as {EXAMPLE} (default: equal shares of the multiply-accumulates)"
    one.add_argument("--block-map", default="", metavar="MAP", help=text)
    one = actions.add_parser("export", help="write a .tflite and an .npz with the weights that a trial trained")
    one.add_argument("trial", type=Path, metavar="TRIAL", help="folder of a trial, such as reports/latest/NAME")
    one.add_argument("--trained", action="store_true", required=True, help="the weights after the last compared step")
    one.add_argument(
        "--out", type=output_file, required=True, metavar="FILE", help=".tflite to write; .npz lies beside it"
    )
    text = "the model that was imported (default: its file name, in this folder)"
    one.add_argument("--model", type=Path, metavar="FILE", help=text)
    one = actions.add_parser("fetch", help="get a published model and verify it")
    one.add_argument("name", metavar="NAME", help=f"one of {', '.join(published())}")
    one.add_argument(
        "--to", type=output_folder, default=Path(), metavar="DIR", help="folder to write to (default: this one)"
    )
    text = "the file, brought from a computer with a network"
    one.add_argument("--from", type=Path, dest="source", metavar="FILE", help=text)
    one = actions.add_parser("head", help="write a network of the list with a head for your classes")
    one.add_argument("name", metavar="NAME", help="network whose head is drawn, of `hil networks`")
    one.add_argument("--classes", type=positive_count, required=True, metavar="N", help="classes of your data")
    one.add_argument("--seed", type=positive_count, default=1, metavar="S", help="of the drawn weights (default: 1)")
    one.add_argument("--out", type=output_file, metavar="FILE", help="network file to write (default: NAME.hnet)")
    return parser
