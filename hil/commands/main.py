"""The `hil` command. A subcommand's module is imported only when the subcommand runs."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from hil import __version__
from hil.arguments import add_rig, add_workers, positive_count
from hil.benchmarks.lab.options import add_options as add_lab_options
from hil.errors import RigError

COMMANDS = {  # in the order of `hil --help`
    "boards": "list the boards of the catalogue",
    "methods": "list the training methods with their variants, settings and networks",
    "networks": "list the networks with their sizes and the boards that they fit",
    "network": "networks of your own: hil network import|export|fetch|convert",
    "bench-server": "run the virtual board and print its endpoints",
    "bench": "run the benchmarks",
    "campaign": "run trials of several days that survive interruptions: hil campaign start|status|resume|stop",
    "weights": "copy weights between a file and the flash of a board: hil weights save|load",
    "data": "download full data sets: hil data fetch NAME; the card of any, your own too: hil data card NAME",
    "experiment": "train the table of a paper and certify it on the board: hil experiment NAME",
    "matrix": "show which method is bit-exact on which network and board",
    "measure": "measure the energy between two edges of a pin, for any firmware",
    "power": "watch the power of a board in the terminal or on a page, or export a recorded trace",
    "tail": "follow a running session: boards, rate, loss, power, and the time left",
    "mlperf-tiny": "prepare a board for the runner of MLPerf Tiny",
    "devices": "list attached probes, ports, meters and boot loaders, and the flash cycles of the boards in rig.toml",
    "init": "write a first rig.toml from the attached devices, or fill in an empty one",
    "doctor": "check every device that rig.toml names, and print how to fix what is wrong",
    "compare": "compare two runs or trials, with uncertainty: hil compare A B",
    "report": "render the report of a recorded run again",
    "summary": "print a recorded run in brief: for mail, chat, forges and Allure",
    "history": "list the quantities of all nights: hil history; make the history again: hil history rebuild",
    "lab": "show the boards of a lab: holder, health, queue, time left; quarantine: hil lab quarantine|release NAME",
    "export": "write the history to a Parquet or CSV file",
    "import": "read the runs of another bench into the history",
}
PARSED_HERE = ("bench", "devices", "init", "doctor", "report")
# The module of any other command parses the rest of the command line: its `main(arguments)` returns the exit code. By
# default it is the module of this folder with the command's name.
MODULES = {
    "bench-server": "hil.standins.virtual.__main__",
    "data": "hil.data.command",
    "experiment": "hil.experiments",
    "export": "hil.commands.history_export",
    "import": "hil.commands.history_import",
}
WRONG_REQUEST = 2
ENERGY_TRIALS = 100  # in each row
INTERRUPTED, OUTPUT_CLOSED = 130, 141  # 128 plus the number of the signal (SIGINT, SIGPIPE), as in a shell


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code; 2 if the request is wrong."""
    try:
        code = _run_command(argv)
        if sys.stdout is not None:
            sys.stdout.flush()  # a closed pipe or a full disk must raise here, not when Python exits
        return code
    except RigError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return OUTPUT_CLOSED
    except OSError as error:
        _discard_output()
        place = error.filename if error.filename is not None else "the output"
        return _refuse(f"{place}: {error.strerror or error}: check its permissions and the free space on the disk.")


def _refuse(sentence: str) -> int:
    print(f"hil: {sentence}", file=sys.stderr)
    return WRONG_REQUEST


def _discard_output() -> None:
    """Redirect standard output to /dev/null, because Python flushes it once more on exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(argv: list[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="hil", description="trainrig: commands besides `pytest --board=NAME`.")
    parser.add_argument("--version", action="version", version=f"trainrig {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True)
    parsers = {
        name: subparsers.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", add_help=name in PARSED_HERE
        )
        for name, text in COMMANDS.items()
    }
    _add_options(parsers)
    options, rest = parser.parse_known_args(argv)
    if options.command not in PARSED_HERE:
        module = MODULES.get(options.command, f"hil.commands.{options.command.replace('-', '_')}")
        code: int = import_module(module).main(rest)
        return code
    if rest:
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    return _run_here(options)


def _add_options(parsers: dict[str, argparse.ArgumentParser]) -> None:
    """Add the options of the commands that are parsed here."""
    bench, report = parsers["bench"], parsers["report"]
    bench.add_argument(
        "what", nargs="?", choices=("rig", "kernels", "energy", "stream", "lab"), default="rig",
        help="rig: steps, link and start-up rates (default); kernels: instructions of every kernel; energy: coverage "
        "of the energy intervals; stream: ten minutes at 100 kS/s; lab: a night of 1,000 boards in virtual time",
    )  # fmt: skip
    text = "energy: trials in each row (default: 100); lab: trials of a night (default: 100000)"
    bench.add_argument("--trials", type=positive_count, metavar="N", help=text)
    add_lab_options(bench)
    text = "energy: only this meter (repeatable)"
    bench.add_argument("--meter", action="append", default=[], metavar="KEY", help=text)
    add_workers(bench, "energy: ")
    bench.add_argument("--board", default="stm32h7b3", help="board to run on (default: stm32h7b3)")
    for name in ("bench", "devices", "doctor"):
        parsers[name].add_argument("--json", action="store_true", help="print rows as JSON")
    for name in ("devices", "init", "doctor"):
        add_rig(parsers[name])
    text = "write the places of a labgrid instead of attached devices (default: that of LG_COORDINATOR)"
    parsers["init"].add_argument("--labgrid", nargs="?", const="", metavar="HOST:PORT", help=text)
    text = "folder of the run (default: reports/latest)"
    report.add_argument("run", type=Path, nargs="?", default=Path("reports/latest"), help=text)
    text = "write one self-contained page into the folder of the run, to be sent"
    report.add_argument("--single-file", action="store_true", help=text)


def _run_here(options: argparse.Namespace) -> int:
    """Run `bench`, `devices`, `init`, `doctor` or `report`."""
    if options.command == "bench":
        if options.what == "lab":
            from hil.benchmarks.lab.command import main as lab

            return lab(options)
        from hil.benchmarks import energy, kernels, rig, stream

        if options.what == "energy":
            from hil.cluster.options import workers_of

            with workers_of(options, lambda line: print(line, file=sys.stderr)) as workers:
                return energy.main(options.meter, options.trials or ENERGY_TRIALS, options.json, workers)
        if options.what == "rig":
            return rig.main(options.board, options.json)
        return (kernels if options.what == "kernels" else stream).main(options.json)
    if options.command == "report":
        from hil.report import render, render_single

        print(render_single(options.run) if options.single_file else render(options.run))
        return 0
    from hil.commands import devices

    if options.command == "init":
        if options.labgrid is not None:
            return devices.init_from_places(options.rig, options.labgrid)
        return devices.init(options.rig)
    return (devices.devices if options.command == "devices" else devices.doctor)(options.rig, options.json)


if __name__ == "__main__":
    sys.exit(main())
