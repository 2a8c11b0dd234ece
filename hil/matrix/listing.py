"""The command line of a list: all entries or one of them, as text or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from hil.matrix.cells import check_name


def list_entries(
    argv: list[str],
    what: str,
    description: str,
    names: Sequence[str],
    entry: Callable[[str], Any],
    show: Callable[[list[Any]], None],
) -> int:
    """Print the entries of a list.

    Args:
        argv: arguments of the command.
        what: one entry's kind, singular; the command is `hil <what>s`.
        description: of the command.
        names: of all entries.
        entry: returns the data class of a name.
        show: prints entries as text.

    Raises:
        RigError: the name asked for is not one of `names`.
    """
    parser = argparse.ArgumentParser(prog=f"hil {what}s", description=description)
    parser.add_argument("name", nargs="?", metavar=what.upper(), help="only this one")
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    options = parser.parse_args(argv)
    if options.name is not None:
        check_name(what, options.name, names)
    chosen = [entry(name) for name in ([options.name] if options.name else names)]
    if options.json:
        print(json.dumps([asdict(one) for one in chosen], indent=1))
    else:
        show(chosen)
    return 0
