"""`hil devices`, `hil init` and `hil doctor`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hil.rig.config import read_bench
from hil.rig.discover import attached
from hil.rig.doctor import WRONG, examine
from hil.rig.initial import write_initial

MARKS = {"ok": "[green]ok   [/]", "wrong": "[red]wrong[/]", "note": "[yellow]note [/]"}


def devices(as_json: bool) -> int:
    """Print what is attached."""
    found = attached()
    if as_json:
        print(json.dumps([device.to_json() for device in found], indent=1))
        return 0
    if not found:
        print("nothing is attached: no probe, no USB serial port, no USB meter.")
        return 0
    table = Table(box=None, pad_edge=False)
    for heading in ("kind", "name", "identity for rig.toml", "port", "plugged in at"):
        table.add_column(heading, overflow="fold")
    for device in found:
        table.add_row(device.kind, device.name, device.identity or "-", device.device or "-", device.path or "-")
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)
    return 0


def init(path: Path) -> int:
    """Write a first rig.toml."""
    found = attached()
    write_initial(path, found)
    probes = sum(device.kind == "probe" for device in found)
    print(f"{path} is written, with {probes} probe{'' if probes == 1 else 's'}: read it through, then run `hil doctor`.")
    return 0


def doctor(path: Path, as_json: bool) -> int:
    """Check what rig.toml names; 1 when something is wrong."""
    checks = []
    console = Console(highlight=False, soft_wrap=True)
    for check in examine(read_bench(path), attached()):
        checks.append(check)
        if not as_json:
            console.print(f"{MARKS[check.state]} {check.board:12} {check.subject:14} ", end="")
            console.print(check.said, markup=False)
    if as_json:
        print(json.dumps([check.to_json() for check in checks], indent=1))
    return int(any(check.state == WRONG for check in checks))
