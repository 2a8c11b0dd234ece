"""The rig's options of pytest."""

from __future__ import annotations

import argparse
import math
import shlex
from pathlib import Path

import pytest

from hil.errors import printable
from hil.measure.energy import MLPERF_TINY
from hil.rig import REALITIES

TIERS = ("quick", "nightly")
REPEATED = (
    "reality",
    "tier",
    "rig",
    "elf",
    "energy_u",
    "energy_rules",
    "energy_to",
)  # options that decide what a test comes to
BOARD_PATHS = "board_testpaths"


def add_options(parser: pytest.Parser) -> None:
    """Add them."""
    group = parser.getgroup("trainrig", "hardware-in-the-loop training rig")
    group.addoption(
        "--board",
        action="append",
        default=[],
        metavar="NAME",
        help="board to run the bench tests on (repeatable; `all` for the catalogue)",
    )
    group.addoption(
        "--require-board",
        action="store_true",
        help="exit with an error when tests ask for a board and none is named (default: they are skipped, with a warning)",
    )
    group.addoption(
        "--reality",
        choices=REALITIES,
        default="auto",
        help="attached board or stand-in (default: auto: what rig.toml names, else Renode where it is installed and models the board, "
        "else the board's own stand-in)",
    )
    group.addoption(
        "--tier",
        choices=TIERS,
        default="quick",
        help="quick: what fits between two commits; nightly: that and the long form (default: quick)",
    )
    group.addoption(
        "--rig",
        type=Path,
        default=None,
        metavar="FILE",
        help="description of the bench (default: rig.toml)",
    )
    group.addoption(
        "--wait",
        nargs="?",
        type=float,
        const=math.inf,
        default=0.0,
        metavar="SECONDS",
        help="how long to wait for a board that another session holds; alone: as long as it takes (default: stop at once)",
    )
    group.addoption(
        "--elf", type=Path, default=None, metavar="FILE", help="your own firmware in the place of the prebuilt image"
    )
    group.addoption(
        "--reflash", action="store_true", help="program each board once, even when its flash holds the image already"
    )
    group.addoption(
        "--energy-u",
        type=_share,
        default=None,
        metavar="SHARE",
        help="take energy windows until the 95 %% interval of a step's energy is within +- this share of it, such as 1%%, or say that it was not reached",
    )
    group.addoption(
        "--energy-rules",
        choices=(MLPERF_TINY,),
        default=None,
        help="measure energy by the windows of MLPerf Tiny: five of ten seconds or more, their median, no idle subtracted",
    )
    group.addoption(
        "--energy-to",
        type=_share,
        default=None,
        metavar="ACCURACY",
        help="tell energy and time to an accuracy on the test images, such as 65%%: evaluates in the midst of training too",
    )
    group.addoption(
        "--report-dir",
        type=Path,
        default=Path("reports"),
        metavar="DIR",
        help="where runs are recorded (default: reports)",
    )
    parser.addini(
        BOARD_PATHS,
        type="args",
        default=[],
        help="what --board runs where the command line names no path (default: testpaths; without these the current folder and the rig's bench tests)",
    )


def _share(text: str) -> float:
    """Read `1%` or `0.01`."""
    number = text.strip()
    try:
        share = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no share: write 1% or 0.01") from error
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 100 %")
    return share


def command(config: pytest.Config, test: tuple[str, ...] = (), board: str | None = None) -> str:
    """Return the command line that runs a test again, or all of a run; files by name alone, for a folder would name a person's computer.

    Args:
        config: of this session.
        test: the words that name the test on the command line; none for all.
        board: of the test; None for all boards.
    """
    words = ["pytest", *(f"--board={name}" for name in ([board] if board else config.getoption("board")))]
    for name in REPEATED:
        value = config.getoption(name)
        if value not in (None, {"reality": "auto", "tier": "quick"}.get(name)):
            words.append(f"--{name.replace('_', '-')}={value.name if isinstance(value, Path) else value}")
    return printable(shlex.join([*words, *(test or _chosen(config))]))  # a path may have bytes that are no UTF-8


def _chosen(config: pytest.Config) -> list[str]:
    """Return which tests the command line chose: `-k`, `-m`, and paths from the project's folder on."""
    words = [
        word
        for option, value in (("-k", config.option.keyword), ("-m", config.option.markexpr))
        if value
        for word in (option, value)
    ]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [
            _from_the_root(config, argument) for argument in config.invocation_params.args if argument in config.args
        ]
    return words


def _from_the_root(config: pytest.Config, argument: str) -> str:
    path, separator, test = str(argument).partition("::")
    place = (config.invocation_params.dir / path).resolve()
    inside = place.is_relative_to(config.rootpath)
    return (str(place.relative_to(config.rootpath)) if inside else place.name) + separator + test
