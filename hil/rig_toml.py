"""Read rig.toml. Errors name file, line and key."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hil import boards
from hil.boards import Board
from hil.bounded_read import SMALL_TEXT, read_toml
from hil.endpoints import HubPort, Power, SupplyOutput
from hil.errors import RigError, close_matches
from hil.gates import FigureGate, nearest, parse_budgets
from hil.plugins import use_folders
from hil.rig_commands import CommandKeys, set_folder
from hil.rig_ids import check_ids

ANY = "any:"  # of `board`
PORT = 20408  # of a labgrid coordinator, if nothing else is said
LOCAL = f"127.0.0.1:{PORT}"
IN_FILE = "in rig.toml"  # where a budget is written that is not of one board


class PowerEntry(BaseModel):
    """How to switch a board's power: a port of a USB hub, or an output of a power supply."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    uhubctl: str | None = Field(
        None, pattern=r"^\d+(-\d+(\.\d+)*)?$", description="location of the USB hub, as `uhubctl` prints it"
    )
    port: int | None = Field(None, ge=1, le=15, description="port of the hub that feeds the board")
    supply: str | None = Field(None, description="VISA resource name of the power supply")
    channel: int | None = Field(None, ge=1, description="output of the supply, if it has more than one")
    volts: float | None = Field(None, gt=0, description="voltage that the rig sets, in volts")
    amps: float | None = Field(None, gt=0, description="current limit that the rig sets, in amperes")

    @property
    def way(self) -> Power | None:
        """The hub port or supply output, None if the keys are not a valid combination."""
        named = self.model_dump(exclude_none=True)
        if named.keys() == {"uhubctl", "port"}:
            return HubPort(**named)
        if {"supply", "volts", "amps"} <= named.keys() <= {"supply", "channel", "volts", "amps"}:
            return SupplyOutput(**named)
        return None


class BenchBoard(CommandKeys):
    """One `[[board]]` table of rig.toml."""

    name: str = Field(
        description="board of the catalogue (`hil boards`); with the key `board`, the default is its tag; with `run`, "
        "any name"
    )
    id: str | None = Field(
        None, description="a word for this one board; each needs one if several tables have the same `name`"
    )
    board: str | None = Field(
        None,
        description="`any:TAG`: the board is at any labgrid place with the tag `board=TAG` (docs/how-to/lab.md)",
    )
    place: str | None = Field(
        None,
        min_length=1,
        description="labgrid place that the board is at (docs/how-to/lab.md); the keys below choose among its "
        "resources, or add to them",
    )
    probe: str | None = Field(
        None, description="full USB serial number of the debug probe, or `usb:1-2.3`: the place of one without a number"
    )
    serial: str | None = Field(
        None, description="USB serial number of the serial port, its path, or its USB vendor and product (2e8a:000a)"
    )
    baud: int | None = Field(
        None, ge=50, le=100_000_000,
        description="rate of the serial port for firmware of your own (docs/dut.md); default: that of the catalogue",
    )  # fmt: skip
    elf: str | None = Field(
        None, min_length=1,
        description="firmware of your own for tests with hil_dut, beside rig.toml; default: the prebuilt image",
    )  # fmt: skip
    meter: str | None = Field(None, description="VISA resource name of the power meter, or its driver's address")
    meter_model: str | None = Field(
        None, description="instrument: key of a data sheet, or path of a file of your own (default: keithley-2450)"
    )
    measuring_point: str | None = Field(None, description="where in the board's supply the meter is, for the report")
    ambient_c: float | None = Field(
        None, ge=-40, le=125, strict=False, description="ambient temperature of the board in degrees Celsius"
    )
    supply_error: float | None = Field(
        None, ge=0, le=0.5, strict=False, description="largest error of the supply voltage under load, as a fraction"
    )
    pack: str | None = Field(None, description="CMSIS pack with the description of the chip, beside rig.toml")
    coverage: str | None = Field(
        None, pattern=r"^[^\s:]+:\d+$", description="`host:port` at which a virtual board says what it has executed"
    )
    loader: str | None = Field(None, description="number of a Teensy in its boot loader")
    power: PowerEntry | None = Field(None, description="how the rig may switch the board's power (docs/recovery.md)")
    budgets: dict[str, Any] = Field(default_factory=dict, description="budgets of this board (docs/trials.md)")

    @property
    def switch(self) -> Power | None:
        """The switch of the board's power, None if rig.toml names none."""
        return self.power.way if self.power is not None else None

    @model_validator(mode="before")
    @classmethod
    def _name_by_tag(cls, values: Any) -> Any:
        """Let the tag name the board, where the table does not."""
        if not isinstance(values, dict) or "board" not in values:
            return values
        return {"name": str(values["board"]).removeprefix(ANY)} | values

    @property
    def tag(self) -> str | None:
        """The tag `board` of the labgrid places that will do, None if rig.toml names one place or none."""
        return self.board.removeprefix(ANY) if self.board is not None else None

    @property
    def wanted_place(self) -> str | None:
        """What to acquire of a labgrid: a place, or `any:TAG`; None if the board is attached to this computer."""
        return self.board or self.place

    @property
    def title(self) -> str:
        """The board in a message: its name, and its id if it has one."""
        return self.name if self.id is None else f"{self.name} (board {self.id})"

    @property
    def devices(self) -> dict[str, str]:
        """Identities of the devices that the board uses, by key of rig.toml; two boards may not share a device."""
        power = self.switch.device if self.switch is not None else None
        place = f"labgrid place {self.place}" if self.place is not None else None
        command = f"command {self.id} of {self._here}" if self.run is not None and self.id is not None else None
        used = {"place": place, "command": command, "power": power, "loader": self.loader}
        if self.wanted_place is None:  # else the names of resources, which other places may have too
            used |= {key: getattr(self, key) for key in ("probe", "serial", "meter")}
        return {key: device for key, device in used.items() if device is not None}


class LabgridEntry(BaseModel):
    """The `[labgrid]` table of rig.toml: where the coordinator of the places is."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    coordinator: str | None = Field(
        default=None, description="`host:port` of the coordinator; default: LG_COORDINATOR, else 127.0.0.1:20408"
    )

    @property
    def address(self) -> str:
        """`host:port` of the coordinator."""
        address = self.coordinator or os.environ.get("LG_COORDINATOR") or LOCAL
        return address if re.search(r":\d+$", address) else f"{address}:{PORT}"


class HistoryEntry(BaseModel):
    """The `[history]` table of rig.toml: where the history of all runs is, and the name of this bench in it."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    url: str | None = Field(
        default=None, description="database (docs/history.md); default: `history.sqlite` beside the runs"
    )
    bench: str = Field(default="", description="name of this bench in a database that several benches share")


class LabEntry(BaseModel):
    """The `[lab]` table of rig.toml: what is done about boards that fail as a rig."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    quarantine_after: int | None = Field(
        default=None, ge=2, le=100,
        description="put a board in quarantine after so many trials one after the other that the rig blocked "
        "(docs/how-to/lab.md); default: never",
    )  # fmt: skip


class Bench(BaseModel):
    """The contents of rig.toml."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    board: list[BenchBoard] = Field(default_factory=list)
    budgets: dict[str, Any] = Field(default_factory=dict, description="budgets of all boards (docs/trials.md)")
    labgrid: LabgridEntry = Field(default=LabgridEntry(), description="the coordinator of labgrid's places")
    history: HistoryEntry = Field(default=HistoryEntry(), description="where the history of all runs is kept")
    lab: LabEntry = Field(default=LabEntry(), description="quarantine of boards that fail as a rig")
    plugins: list[str] = Field(
        default_factory=list,
        description="folders of plugins beside rig.toml, which need not be installed (docs/new-board.md)",
    )

    def find(self, name: str) -> BenchBoard | None:
        """Return the entry of a board, the first of several of one kind; None if rig.toml does not name it."""
        return next((entry for entry in self.board if entry.name == name), None)

    def of_kind(self, name: str) -> list[BenchBoard]:
        """Return all entries with a name, in the order of rig.toml."""
        return [entry for entry in self.board if entry.name == name]

    def kind_of(self, name: str) -> str:
        """Return the name of the board with an id; any other name as it is."""
        return next((entry.name for entry in self.board if entry.id == name), name)

    def asked(self, names: Sequence[str]) -> tuple[list[str], Bench]:
        """Return the kinds of boards that are asked for, and the bench with only those of them that are.

        Args:
            names: of kinds, which ask for all boards of the kind, and ids, which ask for one.

        Raises:
            RigError: neither the catalogue nor rig.toml has such a board.
        """
        kinds = [self.board_of(self.kind_of(name)).name for name in names]
        only = set(kinds) - set(names)
        left = [entry for entry in self.board if entry.name not in only or entry.id in names]
        return list(dict.fromkeys(kinds)), self.model_copy(update={"board": left})

    def board_of(self, name: str) -> Board:
        """Return the catalogue entry of a board, or what stands for it if rig.toml says that it is a command.

        Raises RigError if neither the catalogue nor rig.toml has such a board.
        """
        entry = self.find(name)
        return entry.board_of(name) if entry is not None else boards.load(name)

    def is_command(self, name: str) -> bool:
        """Return whether rig.toml says that a board is a command."""
        entry = self.find(name)
        return entry is not None and entry.run is not None

    def firmware(self, name: str, elf: Path | None = None) -> Path | None:
        """Return the user's firmware for a board: `elf`, else that of its table; None for the prebuilt image."""
        entry = self.find(name)
        return elf or (Path(entry.elf) if entry is not None and entry.elf is not None else None)

    def budgets_of(self, name: str) -> dict[str, list[FigureGate]]:
        """Return the budgets of a board: those of its table before those of `[budgets]`."""
        entry = self.find(name)
        own = parse_budgets(entry.budgets, f"of {name} in rig.toml") if entry is not None else {}
        return nearest(own, parse_budgets(self.budgets, IN_FILE))


def read_bench(path: Path) -> Bench:
    """Return the bench that a rig.toml describes; a missing file gives an empty bench.

    Raises:
        RigError: the file cannot be read, or has a syntax error, a wrong key or value, an unknown board, or one twice.
    """
    if not os.path.lexists(path):
        return Bench()  # an unreadable file is an error: its boards must not fall back to stand-ins
    text, raw = read_toml(path, SMALL_TEXT, "correct it, or name another file")
    try:
        bench = Bench.model_validate(raw)
    except ValidationError as error:
        raise RigError(_explain(path, text, error)) from error
    use_folders(path.parent.absolute() / folder for folder in bench.plugins)
    _check(path, text, bench)
    for entry in bench.board:
        set_folder(entry, path.parent.absolute())
        if entry.pack is not None:
            entry.pack = str(path.parent.absolute() / entry.pack)
        if entry.elf is not None:
            entry.elf = str(path.parent.absolute() / entry.elf)
        if entry.meter_model is not None and entry.meter_model.endswith(".toml"):
            entry.meter_model = str(path.parent.absolute() / entry.meter_model)
    return bench


def _check(path: Path, text: str, bench: Bench) -> None:
    owners: dict[str, str] = {}
    _check_budgets(path, text, bench.budgets, IN_FILE, None)
    mistake = check_ids(bench.board, boards.is_known)
    for table, entry in enumerate(bench.board):
        _check_place(path, text, entry, table)
        key = "board" if entry.name == entry.tag else "name"
        place = f"{path.name}, line {_line_of(text, key, table)}, key {key}"
        wrong = entry.check_commands(entry.name, entry.probe is not None or entry.wanted_place is not None)
        if wrong is not None:
            raise RigError(f"{path.name}, line {_line_of(text, wrong[0], table)}, key {wrong[0]}: {wrong[1]}")
        known = entry.run is not None or boards.is_known(entry.name)
        if not known and key == "board":
            cure = 'say with name = "..." which board these places have'
            raise RigError(f"{place}: the tag {entry.tag!r} is no board of the catalogue: {cure}.")
        if not known:
            raise RigError(
                f"{place}: no board {entry.name!r} in the catalogue: {close_matches(entry.name, boards.names())}"
            )
        if mistake is not None and mistake[0] == table:
            raise RigError(f"{path.name}, line {_line_of(text, mistake[1], table)}, key {mistake[1]}: {mistake[2]}")
        if entry.power is not None and entry.switch is None:
            raise RigError(
                f"{path.name}, line {_line_of(text, 'power', table)}, key power: these keys do not go together: "
                "write { uhubctl, port } or { supply, channel, volts, amps } "
                "(without channel if the supply has one output)."
            )
        _check_budgets(path, text, entry.budgets, f"of {entry.name} in rig.toml", table)
        for key, device in entry.devices.items():
            if owners.setdefault(device, entry.title) != entry.title:
                raise RigError(
                    f"{path.name}, line {_line_of(text, key, table)}, key {key}: "
                    f"{device} is named for {owners[device]} already: a device serves one board."
                )


def _check_place(path: Path, text: str, entry: BenchBoard, table: int) -> None:
    """Raise RigError unless a table names one labgrid place, any with a tag, or none."""
    key, problem = "", ""
    if entry.place is not None and entry.place.startswith(ANY):
        key, problem = "place", f'a place has a name: write board = "{entry.place}" for any place with the tag.'
    elif entry.board is not None and not (entry.board.startswith(ANY) and entry.tag):
        tag = entry.tag or "TAG"
        cure = f'write board = "{ANY}{tag}" for any labgrid place with that tag, or name = "{tag}" for one board.'
        key, problem = "board", f"{entry.board!r} asks for no tag: {cure}"
    elif entry.board is not None and entry.place is not None:
        key, problem = "place", "the key `board` asks for any place with a tag: remove one of the two keys."
    if key:
        raise RigError(f"{path.name}, line {_line_of(text, key, table)}, key {key}: {problem}")


def _check_budgets(path: Path, text: str, budgets: dict[str, Any], source: str, table: int | None) -> None:
    for name, budget in budgets.items():
        try:
            parse_budgets({name: budget}, source)
        except RigError as error:
            key = (
                name if re.search(rf"(?m)^\s*[\"']?{re.escape(name)}\b", text) else "budgets"
            )  # else in an inline table
            raise RigError(f"{path.name}, line {_line_of(text, key, table)}, key {name}: {error}") from error


def _explain(path: Path, text: str, error: ValidationError) -> str:
    first = error.errors()[0]
    key = str([part for part in first["loc"] if isinstance(part, str)][-1])
    table = next((part for part in first["loc"] if isinstance(part, int)), None)
    line = _line_of(text, str(first["loc"][2]) if table is not None and len(first["loc"]) > 2 else key, table)
    if first["type"] == "extra_forbidden":
        tables: dict[str, type[BaseModel]] = {
            "board": BenchBoard, "history": HistoryEntry, "lab": LabEntry, "labgrid": LabgridEntry,
        }  # fmt: skip
        kind = tables[str(first["loc"][0])] if len(first["loc"]) > 1 else Bench
        known = (PowerEntry if "power" in first["loc"] else kind).model_fields
        return f"{path.name}, line {line}, key {key}: unknown key: {close_matches(key, known)}"
    problem = f"{first['msg'][0].lower()}{first['msg'][1:]}"
    found = "" if first["loc"][0] == "history" else f" ({first['input']!r} was found)"  # a URL may hold a password
    return f"{path.name}, line {line}, key {key}: {problem}: correct the value{found}."


def _line_of(text: str, key: str, table: int | None) -> int:
    """Return the line number of a key in the [[board]] table of this index, in the whole file if it is None.

    A missing key gets the line at which its table begins. (The TOML parser does not report positions.)
    """
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines, 1) if re.match(r"\s*\[\[\s*board\s*\]\]", line)]
    in_table = table is not None and table < len(starts)
    first = starts[table] if table is not None and in_table else 1
    last = starts[table + 1] - 1 if table is not None and table + 1 < len(starts) else len(lines)
    pattern = re.compile(rf"\s*[\[\s\"']*{re.escape(key)}\b")
    begin = first + 1 if in_table else first  # the line [[board]] is not the key `board`
    return next((number for number in range(begin, last + 1) if pattern.match(lines[number - 1])), first)
