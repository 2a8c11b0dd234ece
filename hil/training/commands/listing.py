"""The command line of `hil methods` and `hil networks`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any


def list_entries(
    argv: list[str],
    kind: str,
    description: str,
    names: Sequence[str],
    entry: Callable[[str], Any],
    show: Callable[[list[Any]], None],
) -> int:
    """Run the command `hil <kind>s`: print all entries or one, as JSON or, by `show`, as text.

    `entry` returns the dataclass of an entry by name. Raises RigError if the requested name is unknown.
    """
    parser = argparse.ArgumentParser(prog=f"hil {kind}s", description=description)
    parser.add_argument("name", nargs="?", metavar=kind.upper(), help=f"print only this {kind}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    if options.name is not None:
        from hil.training.matrix.cells import (
            check_name,  # late: it loads every method, which printing a table does not need
        )

        check_name(kind, options.name, names)
    chosen = [entry(name) for name in ([options.name] if options.name else names)]
    if options.json:
        print(json.dumps([asdict(one) for one in chosen], indent=1))
    else:
        show(chosen)
    return 0
