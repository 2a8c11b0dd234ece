"""The options that the rig adds to pytest."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from pathlib import Path

import pytest

from hil.endpoints import REALITIES
from hil.energy import MLPERF_TINY
from hil.errors import printable
from hil.number_text import number
from hil.session.run_state import ASKED, BENCH

TIERS = ("quick", "nightly")
REPEATED = ("reality", "tier", "rig", "elf", "energy_u", "energy_rules", "energy_to")  # options that affect results
BOARD_PATHS = "board_testpaths"


def add_options(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("trainrig", "hardware-in-the-loop training rig")
    add, file = group.addoption, {"type": Path, "default": None, "metavar": "FILE"}
    text = (
        "board to run the bench tests on, or the id of one board in rig.toml (repeatable; `all` for every board of the "
        "catalogue)"
    )
    add("--board", action="append", default=[], metavar="NAME", help=text)
    text = "fail if tests need a board and none is named (default: skip them with a warning)"
    add("--require-board", action="store_true", help=text)
    text = (
        "attached board or stand-in; auto: the board if rig.toml names it, else Renode if it is installed and models "
        f"the board, else the board's own stand-in (default: auto): {', '.join(REALITIES)}, or a stand-in of a plugin"
    )
    add("--reality", default="auto", metavar="NAME", help=text)
    text = "quick: tests short enough for every commit; nightly: these and the long ones (default: quick)"
    add("--tier", choices=TIERS, default="quick", help=text)
    add("--rig", **file, help="description of the bench (default: rig.toml)")
    text = "wait this long for a board that another session holds; without a value, forever (default: do not wait)"
    add("--wait", nargs="?", type=number, const=math.inf, default=0.0, metavar="SECONDS", help=text)
    add("--elf", **file, help="flash this firmware instead of the prebuilt image")
    text = (
        "let the firmware of a device under test, on QEMU or at a debug probe, ask this computer for files, output and "
        "an end (docs/how-to/side-by-side.md)"
    )
    add("--semihosting", action="store_true", help=text)
    text = "program each board once, even if its flash holds the image already"
    add("--reflash", action="store_true", help=text)
    text = (
        "measure energy windows until the half-width of the 95 %% interval is at most this share of a step's energy, "
        "such as 1%%"
    )
    add("--energy-u", type=_share, default=None, metavar="SHARE", help=text)
    text = "measure energy by the rules of MLPerf Tiny: median of five windows of at least ten seconds, idle included"
    add("--energy-rules", choices=(MLPERF_TINY,), default=None, help=text)
    text = "report energy and time to this accuracy on the test images, such as 65%%; evaluates during training too"
    add("--energy-to", type=_share, default=None, metavar="ACCURACY", help=text)
    text = "folder for the records of runs (default: reports)"
    add("--report-dir", type=Path, default=Path("reports"), metavar="DIR", help=text)
    text = (
        "paths that --board runs if the command line names none (default: testpaths, else the current folder and the "
        "rig's bench tests)"
    )
    parser.addini(BOARD_PATHS, type="args", default=[], help=text)


def _share(text: str) -> float:
    """Return a share given as `1%` or `0.01`, for argparse."""
    written = text.strip()
    try:
        share = number(written[:-1]) / 100 if written.endswith("%") else number(written)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: write 1% or 0.01") from error
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 100 %")
    return share


def command(config: pytest.Config, test: tuple[str, ...] = (), board: str | None = None) -> str:
    """Return the command line that repeats a test or the run in the project's folder.

    Files are given relative to that folder, so that the command is whole and does not show where it is. `test` has the
    words that name the test on the command line; without `board`, it names all boards of the run.
    """
    asked = config.stash[ASKED]
    names = [each for each in asked if board in (None, each, config.stash[BENCH].kind_of(each))]
    words = ["pytest", *(f"--board={name}" for name in names)]
    words += ["--semihosting"] * bool(config.getoption("semihosting"))
    for name in REPEATED:
        value = config.getoption(name)
        if value not in (None, {"reality": "auto", "tier": "quick"}.get(name)):
            words.append(
                f"--{name.replace('_', '-')}={_from_project(config, value) if isinstance(value, Path) else value}"
            )
    return printable(shlex.join([*words, *(test or _selection(config))]))  # a path may not be UTF-8


def _selection(config: pytest.Config) -> list[str]:
    """Return how the command line selects tests: `-k`, `-m`, and paths relative to the project's folder."""
    options = (("-k", config.option.keyword), ("-m", config.option.markexpr))
    words = [word for option in options if option[1] for word in option]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [_relative(config, each) for each in config.invocation_params.args if each in config.args]
    return words


def _from_project(config: pytest.Config, path: Path) -> str:
    """Return a path relative to the folder of the project, which it need not be in."""
    return os.path.relpath(config.invocation_params.dir / path, config.rootpath)


def _relative(config: pytest.Config, argument: str) -> str:
    path, separator, test = str(argument).partition("::")
    place = (config.invocation_params.dir / path).resolve()
    inside = place.is_relative_to(config.rootpath)
    return (str(place.relative_to(config.rootpath)) if inside else place.name) + separator + test
