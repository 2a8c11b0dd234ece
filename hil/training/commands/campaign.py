"""`hil campaign start|status|resume|stop`."""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from hil.arguments import name_and_value, positive_count
from hil.commands.rig_of import rig_of
from hil.dataclass_json import read_specification, validated_keys
from hil.errors import RigError
from hil.number_text import number
from hil.training.campaign.board_slots import EVERY
from hil.training.campaign.folder import CAMPAIGNS, find_campaign, locked, request_stop
from hil.training.campaign.plan import DOCS, NAME, START, CampaignPlan, TrialRequest, check_resumable, read_plan
from hil.training.campaign.run import Campaign
from hil.training.campaign.signals import stop_signals
from hil.training.campaign.status import sentence, status_of
from hil.training.commands.campaign_arguments import add_bench, add_trial
from hil.training.data.names import absolute_name
from hil.training.trial import TrialSpec, Watch
from hil.training.trial.prepare import prepare
from hil.training.trial.progress import ProgressLine

EXIT = {"pass": 0, "stopped": 0, "fail": 1, "blocked": 75}
TRIAL_OPTIONS = ("board", "network", "method", "data", "variant", "batch", "seed", "steps", "evaluate")


def main(arguments: list[str]) -> int:
    """Run `hil campaign`; return 0 if it passed or was stopped, 1 if it failed, 75 if it was blocked."""
    options = _parser().parse_args(arguments)
    if options.what == "start":
        return _run(_begin(options), options)
    folder = find_campaign(options.folder)
    if options.what == "resume":
        return _run(folder, options)
    if options.what == "stop":
        request_stop(folder)
    status = status_of(folder)
    as_json = options.what == "status" and options.json
    print(json.dumps(status, indent=1) if as_json else sentence(status))
    return 0


def _begin(options: argparse.Namespace) -> Path:
    """Make the folder of a new campaign; no board is touched yet.

    Raises:
        RigError: the request is wrong, or the folder is in use.
    """
    request = _request(options)
    trial = request.trial()
    folder: Path = options.folder or CAMPAIGNS / trial.name
    if (folder / NAME).exists():
        resume = f"`hil campaign resume {folder}` continues it"
        raise RigError(f"{folder} holds a campaign already: {resume}, or name another folder.")
    prepared = prepare(trial)
    check_resumable(prepared)
    if folder.exists() and not folder.is_dir():
        raise RigError(f"{folder} is not a folder: name a new folder for the campaign.")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RigError(f"{folder} is not empty: name a new folder for the campaign.")
    if trial.checkpoint is not None:
        shutil.copyfile(trial.checkpoint, folder / START)
    digests = prepared.data.sha256, prepared.network_sha256
    CampaignPlan(secrets.randbits(32), request, options.checkpoint_every, options.board_every, *digests).write(folder)
    return folder


def _request(options: argparse.Namespace) -> TrialRequest:
    """Return the requested trial: the keys of --spec, overridden by the options of the command line."""
    names = (*TRIAL_OPTIONS, "checkpoint")
    fields: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.spec is not None:
        fields = read_specification(TrialRequest, options.spec, DOCS).model_dump(exclude_unset=True) | fields
    settings = dict(fields.get("settings", {})) | dict(options.set)
    fields |= {"settings": settings} if settings else {}
    if "data" in fields:  # the campaign may be continued from another working folder
        fields["data"] = absolute_name(fields["data"])
    return validated_keys(TrialRequest, fields, "hil campaign start", DOCS)


def _run(folder: Path, options: argparse.Namespace) -> int:
    console = Console()

    def tell(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    plan = read_plan(folder)
    with (
        locked(folder),
        stop_signals() as signals,
        rig_of(options.rig, folder, options.reality, options.wait or 0.0) as rig,
        contextlib.ExitStack() as line,
    ):
        plan.check(prepare(plan.trial(folder)))

        def watch(spec: TrialSpec) -> Watch:
            """Replace the progress line of the last trial by that of the next."""
            line.close()
            progress = line.enter_context(ProgressLine(spec, console))
            return replace(Watch(), stage=progress.stage, step=progress.step, part=progress.part, tell=progress.tell)

        end = Campaign(folder, plan, rig, signals, watch, tell).run()
    tell(f"{end.verdict}: {end.reason}" if end.reason else end.verdict)
    tell(sentence(status_of(folder)))
    if end.verdict == "stopped" and signals.received == signal.SIGINT:
        return 128 + signal.SIGINT
    return EXIT[end.verdict]


def _count_or_zero(text: str) -> int:
    return 0 if text == "0" else positive_count(text)


def _parser() -> argparse.ArgumentParser:
    text = "Trials of several days, which continue after any interruption (docs/trials.md)."
    parser = argparse.ArgumentParser(prog="hil campaign", description=text)
    commands = parser.add_subparsers(dest="what", required=True)
    start = commands.add_parser("start", help="begin a campaign and run it")
    text = f"folder for the campaign (default: {CAMPAIGNS}/NAME)"
    start.add_argument("folder", type=Path, nargs="?", metavar="DIR", help=text)
    text = "TOML file with the fields of the trial; options override its keys"
    start.add_argument("--spec", type=Path, metavar="FILE", help=text)
    trial = start.add_argument_group("the trial (fields of TrialSpec)")
    add_trial(trial, TRIAL_OPTIONS)
    text = ".npz with the weights to start from (default: drawn from the seed)"
    trial.add_argument("--checkpoint", metavar="FILE", help=text)
    text = "a setting of the method (repeatable)"
    trial.add_argument("--set", type=name_and_value, action="append", default=[], metavar="NAME=VALUE", help=text)
    text = "steps between two checkpoints on this computer (default: 1)"
    start.add_argument("--checkpoint-every", type=positive_count, default=1, metavar="N", help=text)
    text = f"steps between two checkpoints in the flash of the board, which wears out; 0 for none (default: {EVERY})"
    start.add_argument("--board-every", type=_count_or_zero, default=EVERY, metavar="N", help=text)
    resume = commands.add_parser("resume", help="continue a campaign that was interrupted or stopped")
    status = commands.add_parser("status", help="print the progress of a campaign")
    stop = commands.add_parser("stop", help="stop a running campaign after its current step, and wait for it")
    for command in (resume, status, stop):
        text = f"folder of the campaign (default: the only one in {CAMPAIGNS})"
        command.add_argument("folder", type=Path, nargs="?", metavar="DIR", help=text)
    status.add_argument("--json", action="store_true", help="print JSON")
    for command in (start, resume):
        add_bench(command)
        text = "wait this long for a board that another session holds (default: do not wait)"
        command.add_argument("--wait", type=number, metavar="SECONDS", help=text)
    return parser
