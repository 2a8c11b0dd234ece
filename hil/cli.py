"""The `hil` command."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hil import __version__
from hil.errors import RigError

OWN_OPTIONS = (  # commands that read the rest of the line themselves
    "bench-server", "boards", "campaign", "data", "experiment", "matrix", "measure", "methods", "mlperf-tiny", "network", "networks", "power", "weights",
)  # fmt: skip
WRONG_REQUEST, INTERRUPTED, NOBODY_READS = (
    2,
    130,
    141,
)  # exit codes; 128 and the number of the signal, as a shell has it


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand; return its exit code, 2 for a request that is wrong."""
    try:
        code = _command(argv)
        if sys.stdout is not None:
            sys.stdout.flush()  # what nobody reads, or no disk takes, is known here and not when Python ends
        return code
    except RigError as error:
        return _said(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return NOBODY_READS
    except OSError as error:
        _drop_output()
        place = error.filename if error.filename is not None else "the output"
        return _said(f"{place}: {error.strerror or error}: look at its rights, and at the room on the disk.")


def _said(sentence: str) -> int:
    print(f"hil: {sentence}", file=sys.stderr)
    return WRONG_REQUEST


def _drop_output() -> None:
    """What is still to be written has no place to go; Python would try once more when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(argv: list[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="hil", description="trainrig: the rig beside pytest.")
    parser.add_argument("--version", action="version", version=f"trainrig {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("boards", help="list the boards of the catalogue", add_help=False)
    commands.add_parser("methods", help="list the methods with their variants, settings and networks", add_help=False)
    commands.add_parser(
        "networks", help="list the networks with their sizes, and the boards that they fit", add_help=False
    )
    commands.add_parser(
        "network",
        help="write a network file of an older version as the current one: hil network convert FILE",
        add_help=False,
    )
    commands.add_parser("bench-server", help="run a virtual board and print its endpoints", add_help=False)
    bench = commands.add_parser("bench", help="run the benchmarks")
    bench.add_argument(
        "what", nargs="?", choices=("rig", "kernels", "energy", "stream"), default="rig",
        help="the rig's own rates (default), the instructions of every kernel, what the intervals of the energy cover, or ten minutes of 100 kS/s",
    )  # fmt: skip
    bench.add_argument("--trials", type=_count, default=100, metavar="N", help="energy: trials a row (default: 100)")
    bench.add_argument(
        "--meter", action="append", default=[], metavar="KEY", help="energy: only this meter (repeatable)"
    )
    bench.add_argument("--json", action="store_true", help="print rows as JSON")
    bench.add_argument("--board", default="stm32h7b3", help="board to run on (default: stm32h7b3)")
    commands.add_parser(
        "campaign",
        help="trials of days that go on after any cut: hil campaign start|status|resume|stop",
        add_help=False,
    )
    commands.add_parser(
        "weights", help="weights between a file and the flash of a board: hil weights save|load", add_help=False
    )
    commands.add_parser("data", help="bring full data sets to this computer: hil data fetch NAME", add_help=False)
    commands.add_parser(
        "experiment",
        help="train the table of a paper, and certify it on the board: hil experiment NAME",
        add_help=False,
    )
    commands.add_parser("matrix", help="show which method is bit-exact on which network and board", add_help=False)
    commands.add_parser("measure", help="measure the energy between two edges of a pin of any firmware", add_help=False)
    commands.add_parser("power", help="watch the power of a board in the terminal: hil power --watch", add_help=False)
    commands.add_parser("mlperf-tiny", help="make a board ready for MLPerf Tiny's own runner", add_help=False)
    devices = commands.add_parser(
        "devices",
        help="list attached probes, ports, meters and boot loaders, and the flash cycles of rig.toml's boards",
    )
    init = commands.add_parser("init", help="write a first rig.toml from what is attached, or fill in an empty one")
    doctor = commands.add_parser(
        "doctor", help="check every device that rig.toml names, and print the cure of what is wrong"
    )
    for command in (devices, doctor):
        command.add_argument("--json", action="store_true", help="print rows as JSON")
    for command in (devices, init, doctor):
        command.add_argument(
            "--rig",
            type=Path,
            default=Path("rig.toml"),
            metavar="FILE",
            help="description of the bench (default: rig.toml)",
        )
    report = commands.add_parser("report", help="render the report of a recorded run again")
    report.add_argument(
        "run", type=Path, nargs="?", default=Path("reports/latest"), help="folder of the run (default: reports/latest)"
    )
    report.add_argument(
        "--single-file",
        action="store_true",
        help="write one page that holds everything, to be sent, into the run's folder",
    )
    options, rest = parser.parse_known_args(argv)
    if rest and options.command not in OWN_OPTIONS:
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    return _run(options, rest)


def _count(text: str) -> int:
    """Return a whole number above 0, for argparse."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _run(options: argparse.Namespace, rest: list[str]) -> int:
    if options.command == "boards":
        from hil.matrix.boards import main as boards

        return boards(rest)
    if options.command == "methods":
        from hil.matrix.methods import main as methods

        return methods(rest)
    if options.command == "networks":
        from hil.matrix.networks import main as networks

        return networks(rest)
    if options.command == "network":
        from hil.tools.network import main as network

        return network(rest)
    if options.command == "bench-server":
        from hil.standins.virtual.__main__ import main as bench_server

        return bench_server(rest)
    if options.command == "campaign":
        from hil.campaign.command import main as campaign

        return campaign(rest)
    if options.command == "weights":
        from hil.campaign.weights import main as weights

        return weights(rest)
    if options.command == "data":
        from hil.data.fetch import main as data

        return data(rest)
    if options.command == "experiment":
        from hil.experiment import main as experiment

        return experiment(rest)
    if options.command == "matrix":
        from hil.matrix.command import main as matrix

        return matrix(rest)
    if options.command in ("measure", "power"):
        from hil.tools import measure, watch

        return measure.main(rest) if options.command == "measure" else watch.main(rest)
    if options.command == "mlperf-tiny":
        from hil.bench import mlperf_tiny

        return mlperf_tiny.main(rest)
    if options.command in ("devices", "init", "doctor"):
        from hil.rig import command

        if options.command == "devices":
            return command.devices(options.rig, options.json)
        return command.init(options.rig) if options.command == "init" else command.doctor(options.rig, options.json)
    if options.command == "bench":
        from hil.bench import energy, kernels, stream
        from hil.bench import main as benchmarks

        if options.what == "energy":
            return energy.main(options.meter, options.trials, options.json)
        if options.what == "stream":
            return stream.main(options.json)
        return kernels.main(options.json) if options.what == "kernels" else benchmarks(options.board, options.json)
    from hil.report import render, render_single

    print(render_single(options.run) if options.single_file else render(options.run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
