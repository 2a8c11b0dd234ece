"""The `hil` command. A subcommand's module is imported only when the subcommand runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

from hil import __version__
from hil.arguments import add_rig, add_workers, positive_count
from hil.benchmarks.lab.options import add_options as add_lab_options
from hil.clients import BENCHMARKS, COMMANDS, registered
from hil.errors import RigError
from hil.optional_library import missing_library

OWN = {  # the commands of the bench, in the order of `hil --help`
    "boards": "list the boards of the catalogue",
    "agent": "write the agent as a library for firmware of your own: hil agent --copy DIR",
    "plugins": "list what packages and folders of rig.toml add: boards, flash routes, meters and others",
    "new": "write a small package of your own, with a test that passes: hil new board|meter|method|engine NAME",
    "bench-server": "run the virtual board and print its endpoints",
    "bench": "run the benchmarks",
    "measure": "measure the energy between two edges of a pin, for any firmware",
    "power": "watch the power of a board in the terminal or on a page, or export a recorded trace",
    "tail": "follow a running session: boards, rate, loss, power, and the time left",
    "devices": "list attached probes, ports, meters and boot loaders, and the flash cycles of the boards in rig.toml",
    "init": "write a first rig.toml from the attached devices, or fill in an empty one",
    "first-light": "bring up a board that nobody has run before, one assumption at a time",
    "doctor": "check every device that rig.toml names, and print how to fix what is wrong",
    "compare": "compare two runs or trials, with uncertainty: hil compare A B",
    "coverage": "show which source lines of the firmware the trials of a run reached: hil coverage [RUN]",
    "report": "render the report of a recorded run again",
    "summary": "print a recorded run in brief: for mail, chat, forges and Allure",
    "verify": "check that a recorded run or a pack does not contradict itself, and compute its steps again",
    "sign": "sign the record of a run: hil sign RUN --key FILE",
    "pack": "write one file with a run and all that others need to check and repeat it",
    "history": "list the quantities of all nights: hil history; make the history again: hil history rebuild",
    "lab": "show the boards of a lab: holder, health, queue, time left; quarantine: hil lab quarantine|release NAME",
    "export": "write the history to a Parquet or CSV file",
    "import": "read the runs of another bench into the history",
}
BENCHMARKS_HERE = {  # what `hil bench` measures
    "energy": "coverage of the energy intervals",
    "stream": "ten minutes at 100 kS/s",
    "lab": "a night of 1,000 boards in virtual time",
}
PARSED_HERE = ("bench", "devices", "init", "doctor", "report")
# The module of any other command parses the rest of the command line: its `main(arguments)` returns the exit code. By
# default it is the module of this folder with the command's name.
MODULES = {
    "bench-server": "hil.standins.virtual.__main__",
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
    except ModuleNotFoundError as error:
        missing = missing_library(error, "this command")
        if missing is None:
            raise
        return _refuse(str(missing))
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
    clients = _of_clients(COMMANDS, OWN)
    parsers = {
        name: subparsers.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", add_help=name in PARSED_HERE
        )
        for name, text in (OWN | _helps(clients)).items()
    }
    _add_options(parsers)
    options, rest = parser.parse_known_args(argv)
    if options.command not in PARSED_HERE:
        own = MODULES.get(options.command, f"hil.commands.{options.command.replace('-', '_')}")
        module, _ = clients.get(options.command, (own, ""))
        code: int = import_module(module).main(rest)
        return code
    if rest:
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    return _run_here(options)


def commands() -> dict[str, str]:
    """Return the help of every command by its name: those of the bench, then those of its clients."""
    return OWN | _helps(_of_clients(COMMANDS, OWN))


def _helps(entries: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {name: text for name, (_, text) in entries.items()}


def _of_clients(group: str, taken: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return module and help of what clients add under names of their own; say what cannot be added."""
    found: dict[str, tuple[str, str]] = {}
    for client in registered(group):
        if client.error is not None:
            print(f"hil: {client.error}", file=sys.stderr)
            continue
        for name, entry in client.value.items():
            if name in found or name in taken:
                print(
                    f"hil: the client {client.name} adds {name!r}, which there is already: rename it.", file=sys.stderr
                )
            else:
                found[name] = entry
    return found


def _add_options(parsers: dict[str, argparse.ArgumentParser]) -> None:
    """Add the options of the commands that are parsed here."""
    bench, report = parsers["bench"], parsers["report"]
    kinds = BENCHMARKS_HERE | _helps(_of_clients(BENCHMARKS, BENCHMARKS_HERE))
    bench.add_argument(
        "what", nargs="?", choices=tuple(kinds), default="rig" if "rig" in kinds else "energy",
        help="; ".join(f"{name}: {text}" for name, text in kinds.items()) + " (default: %(default)s)",
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
        return _run_benchmark(options)
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


def _run_benchmark(options: argparse.Namespace) -> int:
    clients = _of_clients(BENCHMARKS, BENCHMARKS_HERE)
    if options.what in clients:
        code: int = import_module(clients[options.what][0]).main(options)
        return code
    if options.what == "lab":
        from hil.benchmarks.lab.command import main as lab

        return lab(options)
    if options.what == "stream":
        from hil.benchmarks import stream

        return stream.main(options.json)
    from hil.benchmarks import energy
    from hil.cluster.options import workers_of

    with workers_of(options, lambda line: print(line, file=sys.stderr)) as workers:
        return energy.main(options.meter, options.trials or ENERGY_TRIALS, options.json, workers)


if __name__ == "__main__":
    sys.exit(main())
