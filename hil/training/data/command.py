"""`hil data fetch|card`: download a full data set, or print the card of any."""

from __future__ import annotations

import argparse

from hil.arguments import output_folder
from hil.training.data.card import lines
from hil.training.data.dataset import load
from hil.training.data.fetch import fetch
from hil.training.data.store import FOLDER_VARIABLE, data_folder, find_set, known_sets


def main(arguments: list[str]) -> int:
    """Run `hil data` with its arguments."""
    parser = argparse.ArgumentParser(prog="hil data", description="Download data sets, and say what they are.")
    actions = parser.add_subparsers(dest="action", required=True)
    fetching = actions.add_parser("fetch", help="download and verify a data set")
    fetching.add_argument("name", metavar="NAME", help=f"one of {', '.join(known_sets())}")
    fetching.add_argument(
        "--to",
        type=output_folder,
        metavar="DIR",
        help=f"folder to write to (default: {FOLDER_VARIABLE}, else the user's cache folder)",
    )
    card = actions.add_parser("card", help="read a data set, your own too, and print its card; no board is needed")
    card.add_argument("name", metavar="NAME", help="data set, or path of your own data, such as photos/@28x28x1")
    options = parser.parse_args(arguments)
    if options.action == "card":
        print("\n".join(lines(load(options.name).card)))
        return 0
    known = find_set(options.name)
    root = options.to or data_folder()
    fetch(known, root, print)
    print(f"licence: {known.licence}")
    if root.resolve() != data_folder().resolve():
        print(f"to use it: export {FOLDER_VARIABLE}={root}")
    return 0
