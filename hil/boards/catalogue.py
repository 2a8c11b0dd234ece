"""Read the catalogue: one TOML file a board, beside this module."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from hil.errors import RigError, close_matches

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Region:
    """One memory of the chip, addresses and size in bytes; `kind` is `flash` or `ram`."""

    name: str
    kind: str
    start: int
    size: int

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.start + self.size


@dataclass(frozen=True)
class Identity:
    """What the chip says of itself in a register: the word at `address`, taken through `mask`, is `value`."""

    register: str
    address: int
    mask: int
    value: int


@dataclass(frozen=True)
class Board:
    """A catalogue entry.

    `stand_in` names the reality that stands in when no board is attached, `routes` the ways an image gets onto the board, the best one first: `pyocd`
    (a debug probe), `halfkay` and `uf2` (boot loaders on USB), `kernel` (the stand-in loads the file itself).
    """

    name: str
    title: str
    chip: str
    core: str
    fpu: str
    clock_hz: int
    routes: tuple[str, ...]
    counter: str
    uart: str
    baud: int
    marker: str
    stand_in: str
    supply_v: float
    memory: tuple[Region, ...]
    budget: dict[str, float]
    pyocd_target: str | None = None
    qemu_machine: str | None = None
    identity: Identity | None = None

    def sram_budget(self, variant: str, batch: int, scope: str) -> int | None:
        """Return the limit on SRAM in bytes for a variant of the method; None where the catalogue states none.

        A budget is stated for batches up to `batch` whose samples stream through the activations (scope `sample`).
        """
        if batch > self.budget["batch"] or scope != "sample":
            return None
        return int(self.budget.get(f"sram_bytes_{variant}", self.budget["sram_bytes"]))

    def latency_budget_ms(self, variant: str, batch: int, scope: str) -> float | None:
        """Return the limit on a step's latency on silicon in ms, under the terms of `sram_budget`; None where the catalogue states none."""
        if batch > self.budget["batch"] or scope != "sample":
            return None
        return self.budget.get(f"latency_ms_{variant}", self.budget.get("latency_ms"))


def names() -> list[str]:
    """Return the names of all boards of the catalogue, sorted."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name[: -len(".toml")] for file in files if file.name.endswith(".toml"))


@cache
def load(name: str) -> Board:
    """Return the catalogue entry of a board.

    Raises:
        RigError: the catalogue has no board of that name.
    """
    if name not in names():
        raise RigError(f"the catalogue has no board {name!r}: {close_matches(name, names())}")
    raw: dict[str, Any] = tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    memory = tuple(Region(region, **facts) for region, facts in raw.pop("memory").items())
    identity = Identity(**raw.pop("identity")) if "identity" in raw else None
    return Board(name=name, memory=memory, routes=tuple(raw.pop("routes")), identity=identity, **raw)
