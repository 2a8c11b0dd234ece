"""Read the catalogue of boards: one TOML file for each board, in this folder or in that of a plugin."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches
from hil.plugins import Registry

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class ClockGate:
    """The clock of a memory, off after a reset; it is on while all `bits` of the word at `address` are set."""

    register: str
    address: int
    bits: int


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
class IdentityRegister:
    """Identity register of the chip: the word at `address`, masked with `mask`, is `value`."""

    register: str
    address: int
    mask: int
    value: int


@dataclass(frozen=True)
class WiredPort:
    """Which of several serial ports of the probe on the board is wired to the chip: USB `vendor`, and `interface`."""

    vendor: int
    interface: int


@dataclass(frozen=True)
class UsbPort:
    """The serial port that the agent makes on the chip's own USB: `vendor`, `product`, and `name`, its product string.

    At `boot_loader_baud`, closed, it starts the board's boot loader; other programs with the same two ids mostly do so
    too.
    """

    vendor: int
    product: int
    name: str
    boot_loader_baud: int


@dataclass(frozen=True, kw_only=True)
class Board:
    """A catalogue entry (docs/new-board.md describes all keys).

    `stand_in` is the reality used when no board is attached: `virtual`, `qemu`, or a stand-in of a plugin. `routes` are
    the flash routes, the preferred one first: `pyocd` (a debug probe), `halfkay` and `uf2` (USB boot loaders), `kernel`
    (the stand-in loads the file itself), or those of plugins.
    `clock_hz` is 0 of a command whose clock nobody has declared (`command_board`).
    `connect_mode` and `reset_type` are pyOCD options: how it halts and how it resets the chip. `memory_gates` are the
    clocks of memories, by their names, that are off after a reset. `ram_divided_by` is `program` if the program decides
    which RAM answers at an address (FlexRAM), else `chip`. `flash_reserved` are the bytes at the end of the largest
    flash that are for no data: checkpoint slots (firmware/ports/NAME/flash.c) or a boot loader. `usb_port` is the port
    on the chip's own USB, if the firmware has one.
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
    budget: dict[str, float] = field(default_factory=dict)
    pyocd_target: str | None = None
    connect_mode: str = "halt"
    reset_type: str = "default"
    qemu_machine: str | None = None
    identity: IdentityRegister | None = None
    wired_port: WiredPort | None = None
    usb_port: UsbPort | None = None
    memory_gates: dict[str, ClockGate] = field(default_factory=dict)
    ram_divided_by: str = "chip"
    flash_reserved: int = 0

    @property
    def room_for_data(self) -> Region | None:
        """Flash region for a network file, None if nothing can be flashed.

        It is the largest flash without its first quarter, which is reserved for the program.
        """
        regions = [region for region in self.memory if region.kind == "flash"]
        if "kernel" in self.routes or not regions:
            return None
        flash = max(regions, key=lambda region: region.size)
        return Region(flash.name, "flash", flash.start + flash.size // 4, flash.size - flash.size // 4)

    @property
    def room_for_samples(self) -> Region | None:
        """Flash region for training samples that stay on the board, None if nothing can be flashed.

        It is the region for a network file without what is reserved at the end of the flash.
        """
        room = self.room_for_data
        return None if room is None else Region(room.name, "flash", room.start, room.size - self.flash_reserved)

    def sram_budget(self, variant: str, batch: int, scope: str) -> int | None:
        """Return the SRAM limit in bytes for a variant of the method, None if the catalogue has none.

        A budget holds for batches up to `budget["batch"]` in scope `sample` (samples stream through the activations).
        """
        limit = self._limit("sram_bytes", variant, batch, scope)
        return None if limit is None else int(limit)

    def latency_budget_ms(self, variant: str, batch: int, scope: str) -> float | None:
        """Return the latency limit of a step on silicon in ms, None if there is none; see `sram_budget`."""
        return self._limit("latency_ms", variant, batch, scope)

    def _limit(self, figure: str, variant: str, batch: int, scope: str) -> float | None:
        if batch > self.budget.get("batch", 0) or scope != "sample":
            return None
        return self.budget.get(f"{figure}_{variant}", self.budget.get(figure))


_CHOICES = {
    "kind": ("flash", "ram"),
    "counter": ("none", "dwt", "systick"),
    "ram_divided_by": ("chip", "program"),
    "connect_mode": ("halt", "pre-reset", "under-reset"),  # not `attach`: the core must be halted for flashing
    "reset_type": ("default", "hardware", "sysresetreq", "vectreset", "emulated"),
}


def _house() -> dict[str, str]:
    return _files(FOLDER)


@cache
def _files(folder: Path) -> dict[str, str]:
    return {file.stem: f"{__name__}:FOLDER" for file in sorted(folder.glob("*.toml"))}


def _accept(name: str, folder: Any) -> Board:
    if not isinstance(folder, Path):
        raise RigError("a board is offered as the folder (a pathlib.Path) with its file NAME.toml")
    return _read(name, folder)


@cache
def _read(name: str, folder: Path) -> Board:
    """Return the board of the file NAME.toml in a folder.

    Raises:
        RigError: there is no such file, or it does not have the form that docs/new-board.md describes.
    """
    _, raw = read_toml(folder / f"{name}.toml", SMALL_TEXT, "correct the TOML syntax there")
    _check(f"{name}.toml", raw, Board, but="name")
    for region, facts in raw["memory"].items():
        _check(f"{name}.toml, memory {region}", facts, Region, but="name")
    for region, facts in raw.get("memory_gates", {}).items():
        _check(f"{name}.toml, memory_gates {region}", facts, ClockGate)
        if region not in raw["memory"]:
            raise RigError(
                f"{name}.toml, memory_gates: there is no memory {region}: {close_matches(region, raw['memory'])}"
            )
    if "identity" in raw:
        _check(f"{name}.toml, [identity]", raw["identity"], IdentityRegister)
    if "wired_port" in raw:
        _check(f"{name}.toml, [wired_port]", raw["wired_port"], WiredPort)
    if "usb_port" in raw:
        _check(f"{name}.toml, [usb_port]", raw["usb_port"], UsbPort)
    if raw.get("budget") and "batch" not in raw["budget"]:
        raise RigError(f"{name}.toml, [budget]: the key batch is missing: add the largest batch that it is for.")
    memory = tuple(Region(region, **facts) for region, facts in raw.pop("memory").items())
    identity = IdentityRegister(**raw.pop("identity")) if "identity" in raw else None
    wired = WiredPort(**raw.pop("wired_port")) if "wired_port" in raw else None
    usb_port = UsbPort(**raw.pop("usb_port")) if "usb_port" in raw else None
    gates = {region: ClockGate(**facts) for region, facts in raw.pop("memory_gates", {}).items()}
    routes = tuple(raw.pop("routes"))
    return Board(
        name=name, memory=memory, memory_gates=gates, routes=routes, identity=identity, wired_port=wired,
        usb_port=usb_port, **raw
    )  # fmt: skip


def command_board(name: str, known: Board | None, core: str | None, clock_hz: int | None) -> Board:
    """Return what stands for a board that is a command of rig.toml: a board without memory, counter and marker.

    Args:
        name: in rig.toml.
        known: catalogue entry of this name; None without one.
        core, clock_hz: of rig.toml; default: those of the catalogue entry.
    """
    return Board(
        name=name, title=known.title if known is not None else "a command",
        chip=known.chip if known is not None else "",
        core=core or (known.core if known is not None else ""), fpu=known.fpu if known is not None else "",
        clock_hz=clock_hz or (known.clock_hz if known is not None else 0), routes=("kernel",), counter="none",
        uart="standard input and output", marker="none", stand_in="command", memory=(), budget={},
    )  # fmt: skip


BOARDS = Registry("boards", "the catalogue has no board", _house, _accept)


def names() -> list[str]:
    """Return the names of all boards of the catalogue, also of plugins, sorted. No plugin is imported."""
    return sorted(BOARDS.names())


def is_known(name: str) -> bool:
    """Return whether the catalogue has a board."""
    return name in BOARDS


def load(name: str) -> Board:
    """Return the catalogue entry of a board.

    Raises:
        RigError: the catalogue has no such board, its plugin is broken, or its file does not have the form that
            docs/new-board.md describes.
    """
    return BOARDS.find(name)


def working() -> tuple[list[Board], list[RigError]]:
    """Return the boards that can be used, by name, and the errors of the plugins of which one cannot."""
    found, errors = BOARDS.working()
    return [found[name] for name in sorted(found)], errors


def _check(place: str, raw: dict[str, Any], kind: type, but: str = "") -> None:
    """Check the keys of a table against the fields of a dataclass, except `but`, and its values against `_CHOICES`."""
    known = {each.name: each.default is each.default_factory is MISSING for each in fields(kind) if each.name != but}
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
