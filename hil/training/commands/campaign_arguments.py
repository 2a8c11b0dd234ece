"""Command-line options that `hil campaign` and `hil weights` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from hil.arguments import add_rig
from hil.endpoints import REALITIES
from hil.number_text import whole_number
from hil.training.campaign.plan import TrialRequest

NAMES = {
    "board": "board of the catalogue",
    "network": "network",
    "method": "training method",
    "data": "data set, or path of your own data",
}
NUMBERS = {
    "batch": "samples in a step",
    "seed": "seed of weights, order and noise",
    "steps": "steps of the whole campaign",
    "evaluate": "test images for the final accuracy, 0 for none",
}


def add_trial(parser: argparse.ArgumentParser | argparse._ArgumentGroup, names: Iterable[str]) -> None:
    """Add options of the trial, each named as a field of `TrialRequest`."""
    for name in names:
        default = TrialRequest.model_fields[name].default
        if name in NUMBERS:
            parser.add_argument(
                f"--{name}", type=whole_number, metavar="N", help=f"{NUMBERS[name]} (default: {default})"
            )
        elif name in NAMES:
            parser.add_argument(f"--{name}", metavar="NAME", help=f"{NAMES[name]} (default: {default})")
        else:
            text = "variant of the method (default: cls1 for elasticzo-int8, else the first variant)"
            parser.add_argument("--variant", metavar="NAME", help=text)


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Add `--rig` and `--reality`."""
    add_rig(parser)
    text = f"attached board or stand-in, as for pytest (default: auto): {', '.join(REALITIES)}, or that of a plugin"
    parser.add_argument("--reality", default="auto", metavar="NAME", help=text)
