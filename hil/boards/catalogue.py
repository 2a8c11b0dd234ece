"""Read the catalogue of boards: one TOML file for each board, in this folder."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Region:
    """One memory of the chip: start address, and size in bytes. `kind` is `flash` or `ram`."""

    name: str
    kind: str
    start: int
    size: int

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.start + self.size


@dataclass(frozen=True)
class Identity:
    """Identity register of the chip: the word at `address`, masked with `mask`, is `value`."""

    register: str
    address: int
    mask: int
    value: int


@dataclass(frozen=True, kw_only=True)
class Board:
    """A catalogue entry (docs/new-board.md describes all keys).

    `stand_in` is the reality used when no board is attached. `routes` are the flash routes, the preferred one first:
    `pyocd` (a debug probe), `halfkay` and `uf2` (USB boot loaders), `kernel` (the stand-in loads the file itself).
    `connect_mode` and `reset_type` are pyOCD options: how it halts and how it resets the chip.
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
    baud: int = 921_600
    marker: str
    stand_in: str = "virtual"
    supply_v: float = 3.3
    memory: tuple[Region, ...]
    budget: dict[str, float]
    pyocd_target: str | None = None
    connect_mode: str = "halt"
    reset_type: str = "default"
    qemu_machine: str | None = None
    identity: Identity | None = None

    @property
    def room_for_data(self) -> Region | None:
        """Flash region for a network file, None if nothing can be flashed.

        It is the largest flash without its first quarter, which is reserved for the program.
        """
        if "kernel" in self.routes:
            return None
        flash = max((region for region in self.memory if region.kind == "flash"), key=lambda region: region.size)
        return Region(flash.name, "flash", flash.start + flash.size // 4, flash.size - flash.size // 4)

    def sram_budget(self, variant: str, batch: int, scope: str) -> int | None:
        """Return the SRAM limit in bytes for a variant of the method, None if the catalogue has none.

        A budget holds for batches up to `budget["batch"]` in scope `sample` (samples stream through the activations).
        """
        if batch > self.budget["batch"] or scope != "sample":
            return None
        return int(self.budget.get(f"sram_bytes_{variant}", self.budget["sram_bytes"]))

    def latency_budget_ms(self, variant: str, batch: int, scope: str) -> float | None:
        """Return the latency limit of a step on silicon in ms, None if there is none; see `sram_budget`."""
        if batch > self.budget["batch"] or scope != "sample":
            return None
        return self.budget.get(f"latency_ms_{variant}", self.budget.get("latency_ms"))


_CHOICES = {
    "kind": ("flash", "ram"),
    "stand_in": ("virtual", "qemu"),
    "counter": ("none", "dwt", "systick"),
    "connect_mode": ("halt", "pre-reset", "under-reset"),  # not `attach`: the core must be halted for flashing
    "reset_type": ("default", "hardware", "sysresetreq", "vectreset", "emulated"),
}


def names() -> list[str]:
    """Return the names of all boards of the catalogue, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


@cache
def load(name: str) -> Board:
    """Return the catalogue entry of a board.

    Raises:
        RigError: the catalogue has no such board, or its file does not have the form that docs/new-board.md describes.
    """
    if name not in names():
        raise RigError(f"the catalogue has no board {name!r}: {close_matches(name, names())}")
    _, raw = read_toml(FOLDER / f"{name}.toml", SMALL_TEXT, "correct the TOML syntax there")
    _check(f"{name}.toml", raw, Board, but="name")
    for region, facts in raw["memory"].items():
        _check(f"{name}.toml, memory {region}", facts, Region, but="name")
    if "identity" in raw:
        _check(f"{name}.toml, [identity]", raw["identity"], Identity)
    memory = tuple(Region(region, **facts) for region, facts in raw.pop("memory").items())
    identity = Identity(**raw.pop("identity")) if "identity" in raw else None
    return Board(name=name, memory=memory, routes=tuple(raw.pop("routes")), identity=identity, **raw)


def _check(place: str, raw: dict[str, Any], kind: type, but: str = "") -> None:
    """Check the keys of a table against the fields of a dataclass, except `but`, and its values against `_CHOICES`."""
    known = {field.name: field.default is MISSING for field in fields(kind) if field.name != but}
    for key in raw:
        if key not in known:
            raise RigError(f"{place}: unknown key {key}: {close_matches(key, known)}")
    for key, needed in known.items():
        if needed and key not in raw:
            raise RigError(f"{place}: the key {key} is missing: add it (docs/new-board.md describes it).")
        if key in _CHOICES and raw.get(key, _CHOICES[key][0]) not in _CHOICES[key]:
            raise RigError(
                f"{place}, key {key}: {raw[key]!r} is not one of {', '.join(_CHOICES[key])}: choose one of these."
            )
