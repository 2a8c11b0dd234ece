"""`hil devices`, `hil init` and `hil doctor`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hil.errors import RigError
from hil.rig.bench_endpoints import cycles_of
from hil.rig.discover import attached
from hil.rig.initial_config import tables, write_initial
from hil.rig.labgrid_config import coordinator_table, place_tables
from hil.rig.places import Places
from hil.rig_toml import Bench, BenchBoard, LabgridEntry, read_bench

MARKS = {"ok": "[green]ok   [/]", "wrong": "[red]wrong[/]", "note": "[yellow]note [/]"}


def devices(path: Path, as_json: bool) -> int:
    """Print the attached devices, and how often this computer has programmed each board in rig.toml."""
    found, named = attached(), read_bench(path).board
    if as_json:
        boards = [
            {"kind": "board", "name": each.name, **_id_of(each), "flash_cycles": cycles_of(each)} for each in named
        ]
        print(json.dumps([*map(asdict, found), *boards], indent=1))
        return 0
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    if found:
        listed = [(each.kind, each.name, each.identity or "-", each.device or "-", each.path or "-") for each in found]
        console.print(_table(("kind", "name", "identity for rig.toml", "port", "plugged in at"), listed))
    else:
        print("nothing is attached: no probe, no USB serial port, no USB meter.")
    if named:
        rows = [(each.title, str(cycles_of(each))) for each in named]
        print()
        console.print(_table((f"board of {path.name}", "flash cycles by this computer"), rows))
    return 0


def _id_of(named: BenchBoard) -> dict[str, str]:
    return {} if named.id is None else {"id": named.id}


def named_bench(path: Path) -> Bench:
    """Return the bench of a file; only the default rig.toml may be missing."""
    if path.name != "rig.toml" and not path.exists():
        raise RigError(
            f"there is no {path}: give the description of a bench, or create one with `hil init --rig={path}`."
        )
    return read_bench(path)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def init(path: Path) -> int:
    """Write a first rig.toml, or fill in an empty one."""
    found = attached()
    done = write_initial(path, tables(found))
    if found:
        probes = sum(device.kind == "probe" for device in found)
        print(f"{done}, with {probes} probe{'' if probes == 1 else 's'}: check the file, then run `hil doctor`.")
    else:
        print(
            f"{done}: nothing is attached. Plug a board in and run this again; until then `pytest --board=NAME` runs "
            "on a stand-in."
        )
    return 0


def init_from_places(path: Path, coordinator: str) -> int:
    """Write a first rig.toml, or fill in an empty one, from the places of a labgrid.

    `coordinator` is its address; empty for the one that rig.toml, the environment or labgrid's default names.
    """
    named = read_bench(path).labgrid
    asked = LabgridEntry(coordinator=coordinator or named.coordinator)
    places = Places(asked.address)
    try:
        snapshot = places.snapshot()
    finally:
        places.release()
    parts = [place_tables(snapshot)] if snapshot.places else []
    if parts and named.coordinator is None:
        parts.append(coordinator_table(asked.address))
    done = write_initial(path, "\n".join(parts))
    count = len(snapshot.places)
    said = f"{count} place{'' if count == 1 else 's'} of the labgrid coordinator at {asked.address}"
    print(f"{done}, from {said}: check the file, then run `hil doctor`.")
    return 0


def doctor(path: Path, as_json: bool) -> int:
    """Check every device that rig.toml names; return 1 if something is wrong."""
    from hil.commands.doctor import WRONG, examine  # opens meters, whose libraries `hil devices` does not need

    checks = []
    console = Console(highlight=False, soft_wrap=True)
    for check in examine(named_bench(path), attached()):
        checks.append(check)
        if not as_json:
            board = check.board if check.id is None else f"{check.board} {check.id}"
            console.print(f"{MARKS[check.state]} {board:12} {check.subject:14} ", end="")
            console.print(check.said, markup=False)
    if as_json:
        said = [{key: value for key, value in asdict(check).items() if value is not None} for check in checks]
        print(json.dumps(said, indent=1))
    return int(any(check.state == WRONG for check in checks))
