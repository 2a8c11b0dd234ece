"""The `hil` command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hil import __version__, boards
from hil.errors import RigError

OWN_OPTIONS = ("bench-server", "data", "experiment", "matrix", "measure", "mlperf-tiny", "power")  # commands that read the rest of the line themselves


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand; return its exit code, 2 for a request that is wrong."""
    parser = argparse.ArgumentParser(prog="hil", description="trainrig: the rig beside pytest.")
    parser.add_argument("--version", action="version", version=f"trainrig {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("boards", help="list the boards of the catalogue")
    commands.add_parser("bench-server", help="run the virtual bench of a board and print its endpoints", add_help=False)
    bench = commands.add_parser("bench", help="run the benchmarks")
    bench.add_argument(
        "what", nargs="?", choices=("rig", "kernels", "energy", "stream"), default="rig",
        help="the rig's own rates (default), the instructions of every kernel, what the intervals of the energy cover, or ten minutes of 100 kS/s",
    )  # fmt: skip
    bench.add_argument("--trials", type=int, default=100, metavar="N", help="energy: trials a row (default: 100)")
    bench.add_argument("--meter", action="append", default=[], metavar="KEY", help="energy: only this meter (repeatable)")
    bench.add_argument("--json", action="store_true", help="print rows as JSON")
    bench.add_argument("--board", default="stm32h7b3", help="board to run on (default: stm32h7b3)")
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
    devices = commands.add_parser("devices", help="list attached probes, ports, meters and boot loaders, and the flash cycles of rig.toml's boards")
    init = commands.add_parser("init", help="write a first rig.toml from what is attached")
    doctor = commands.add_parser("doctor", help="check every device that rig.toml names, and print the cure of what is wrong")
    for command in (devices, doctor):
        command.add_argument("--json", action="store_true", help="print rows as JSON")
    for command in (devices, init, doctor):
        command.add_argument(
            "--rig", type=Path, default=Path("rig.toml"), metavar="FILE", help="description of the bench (default: rig.toml)"
        )
    report = commands.add_parser("report", help="render the report of a recorded run again")
    report.add_argument(
        "run", type=Path, nargs="?", default=Path("reports/latest"), help="folder of the run (default: reports/latest)"
    )
    report.add_argument("--single-file", action="store_true", help="write one page that holds everything, to be sent, into the run's folder")
    options, rest = parser.parse_known_args(argv)
    if rest and options.command not in OWN_OPTIONS:
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    try:
        return _run(options, rest)
    except RigError as error:
        print(f"hil: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace, rest: list[str]) -> int:
    if options.command == "boards":
        for name in boards.names():
            board = boards.load(name)
            print(
                f"{name:14} {board.title:20} {board.core:14} {board.clock_hz / 1e6:5.0f} MHz  stand-in: {board.stand_in}"
            )
        return 0
    if options.command == "bench-server":
        from hil.standins.virtual.__main__ import main as bench_server

        return bench_server(rest)
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
