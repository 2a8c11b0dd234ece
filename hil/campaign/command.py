"""`hil campaign start|status|resume|stop`."""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from hil.campaign.board_slots import EVERY
from hil.campaign.home import CAMPAIGNS, ask_to_stop, chosen, held
from hil.campaign.plan import NAME, START, Asked, Plan, asked, check_kept, read_plan, read_spec
from hil.campaign.run import Campaign, End
from hil.campaign.signals import heeded
from hil.campaign.status import sentence, status_of
from hil.errors import RigError
from hil.rig import Rig, read_bench
from hil.rig.reality import REALITIES
from hil.trial import TrialSpec, Watch
from hil.trial.prepare import prepare
from hil.trial.progress import ProgressLine

EXIT = {"pass": 0, "stopped": 0, "fail": 1, "blocked": 75}
TRIAL_OPTIONS = ("board", "network", "method", "variant", "data", "batch", "seed", "steps", "evaluate", "checkpoint")


def main(arguments: list[str]) -> int:
    """Run `hil campaign`; 0 where it passed or stopped as it was asked to, 1 where it failed, 75 where it was blocked."""
    options = _parser().parse_args(arguments)
    if options.what == "start":
        folder = _begin(options)
        return _run(folder, options)
    folder = chosen(options.folder)
    if options.what == "status":
        status = status_of(folder)
        print(json.dumps(status, indent=1) if options.json else sentence(status))
        return 0
    if options.what == "stop":
        ask_to_stop(folder)
        print(sentence(status_of(folder)))
        return 0
    return _run(folder, options)


def _begin(options: argparse.Namespace) -> Path:
    """Make the folder of a new campaign; nothing of a board has been touched.

    Raises:
        RigError: the request is wrong, or there is a campaign already.
    """
    wanted = _asked(options)
    whole = wanted.trial()
    folder: Path = options.folder or CAMPAIGNS / whole.name
    if (folder / NAME).exists():
        raise RigError(
            f"{folder} holds a campaign already: `hil campaign resume {folder}` goes on with it, or name another folder."
        )
    prepared = prepare(whole)
    check_kept(prepared)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RigError(f"{folder} is not empty: name a new folder for the campaign.")
    if whole.checkpoint is not None:
        shutil.copyfile(whole.checkpoint, folder / START)
    Plan(
        secrets.randbits(32),
        wanted,
        options.checkpoint_every,
        options.board_every,
        prepared.data.sha256,
        prepared.network_sha256,
    ).write(folder)
    return folder


def _asked(options: argparse.Namespace) -> Asked:
    """Return what is asked: the file's keys, and in their place the options that were given."""
    given: dict[str, Any] = {
        name: getattr(options, name) for name in TRIAL_OPTIONS if getattr(options, name) is not None
    }
    if options.spec is not None:
        given = read_spec(options.spec).model_dump(exclude_unset=True) | given
    settings = dict(given.get("settings", {})) | dict(options.set)
    return asked(given | ({"settings": settings} if settings else {}), "hil campaign start")


def _run(folder: Path, options: argparse.Namespace) -> int:
    console = Console()
    plan = read_plan(folder)
    with (
        held(folder),
        heeded() as signals,
        Rig(read_bench(options.rig), folder, options.reality, options.wait or 0.0) as rig,
    ):
        plan.check(prepare(plan.trial(folder)))
        with _lines(console) as line:
            end = Campaign(
                folder,
                plan,
                rig,
                signals,
                line,
                lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True),
            ).run()
    _say(end, folder, console)
    if end.verdict == "stopped" and signals.received == signal.SIGINT:
        return 128 + signal.SIGINT
    return EXIT[end.verdict]


def _say(end: End, folder: Path, console: Console) -> None:
    reason = f": {end.reason}" if end.reason else ""
    console.print(f"{end.verdict}{reason}", markup=False, highlight=False, soft_wrap=True)
    console.print(sentence(status_of(folder)), markup=False, highlight=False, soft_wrap=True)


class _Lines:
    """The live line of one trial after another."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stack = contextlib.ExitStack()

    def __call__(self, spec: TrialSpec) -> Watch:
        """Take the last line away, and return who draws the next."""
        self._stack.close()
        line = self._stack.enter_context(ProgressLine(spec, self._console))
        return replace(Watch(), stage=line.stage, step=line.step, part=line.part, tell=line.tell)

    def close(self) -> None:
        """Take the last line away."""
        self._stack.close()


@contextlib.contextmanager
def _lines(console: Console) -> Iterator[_Lines]:
    lines = _Lines(console)
    try:
        yield lines
    finally:
        lines.close()


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _count_or_none(text: str) -> int:
    return 0 if text == "0" else _count(text)


def _setting(text: str) -> tuple[str, int | float | str]:
    """Read NAME=VALUE; a value that is a number is one."""
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return name, kind(value)
    return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hil campaign", description="Trials of days, which go on after any cut (docs/campaigns.md)."
    )
    whats = parser.add_subparsers(dest="what", required=True)
    start = whats.add_parser("start", help="begin a campaign, and run it")
    start.add_argument("folder", type=Path, nargs="?", metavar="DIR", help=f"its folder (default: {CAMPAIGNS}/NAME)")
    start.add_argument(
        "--spec",
        type=Path,
        metavar="FILE",
        help="a TOML file with the fields of the trial; options count more than its keys",
    )
    of_trial = start.add_argument_group("the trial (as TrialSpec has it)")
    for name, meaning in (
        ("board", "board of the catalogue"),
        ("network", "network to train"),
        ("method", "method"),
        ("data", "data set"),
    ):
        of_trial.add_argument(
            f"--{name}", metavar="NAME", help=f"{meaning} (default: {Asked.model_fields[name].default})"
        )
    of_trial.add_argument(
        "--variant", metavar="NAME", help="variant of the method (default: cls1, or the method's first)"
    )
    for name, meaning in (("batch", "samples a step"), ("seed", "decides weights, order and noise"), ("steps", "steps of the whole campaign"),
                          ("evaluate", "test images for the accuracy at the end, 0 for none")):  # fmt: skip
        of_trial.add_argument(
            f"--{name}", type=int, metavar="N", help=f"{meaning} (default: {Asked.model_fields[name].default})"
        )
    of_trial.add_argument(
        "--checkpoint", metavar="FILE", help=".npz with the weights to start from (default: as drawn from the seed)"
    )
    of_trial.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the method (repeatable)",
    )
    start.add_argument(
        "--checkpoint-every",
        type=_count,
        default=1,
        metavar="N",
        help="steps from one checkpoint to the next (default: 1)",
    )
    start.add_argument(
        "--board-every", type=_count_or_none, default=EVERY, metavar="N",
        help=f"the same of checkpoints in the flash of the board, which wears; 0 for none (default: {EVERY})",
    )  # fmt: skip
    resume = whats.add_parser("resume", help="go on with a campaign that was cut or stopped")
    status = whats.add_parser("status", help="say how far a campaign is")
    stop = whats.add_parser(
        "stop", help="ask a running campaign to stop after the step it is at, and wait until it has"
    )
    for command in (resume, status, stop):
        command.add_argument(
            "folder", type=Path, nargs="?", metavar="DIR", help=f"its folder (default: the only one in {CAMPAIGNS})"
        )
    status.add_argument("--json", action="store_true", help="print it as JSON")
    for command in (start, resume):
        command.add_argument(
            "--rig",
            type=Path,
            default=Path("rig.toml"),
            metavar="FILE",
            help="description of the bench (default: rig.toml)",
        )
        command.add_argument("--reality", choices=REALITIES, default="auto", help="as for pytest (default: auto)")
        command.add_argument(
            "--wait", type=float, metavar="SECONDS", help="wait for a board that another session holds"
        )
    return parser
