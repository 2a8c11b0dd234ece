"""Read rig.toml. Errors name file, line and key."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hil import boards
from hil.bounded_read import SMALL_TEXT, read_toml
from hil.endpoints import HubPort, Power, SupplyOutput
from hil.errors import RigError, close_matches
from hil.gates import Gate, nearest, parse_budgets

ANY = "any:"  # of `board`
PORT = 20408  # of a labgrid coordinator, if nothing else is said
LOCAL = f"127.0.0.1:{PORT}"
IN_FILE = "in rig.toml"  # where a budget is written that is not of one board


class PowerEntry(BaseModel):
    """How to switch a board's power: a port of a USB hub, or an output of a power supply."""

    model_config = ConfigDict(extra="forbid", strict=True)

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


class BenchBoard(BaseModel):
    """One `[[board]]` table of rig.toml."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(description="board of the catalogue (`hil boards`); with the key `board`, the default is its tag")
    board: str | None = Field(
        None,
        description="`any:TAG`: the board is at any labgrid place with the tag `board=TAG` (docs/how-to/labgrid.md)",
    )
    place: str | None = Field(
        None,
        min_length=1,
        description="labgrid place that the board is at (docs/how-to/labgrid.md); the keys below choose among its "
        "resources, or add to them",
    )
    probe: str | None = Field(None, description="full USB serial number of the debug probe")
    serial: str | None = Field(None, description="USB serial number of the serial port, or its path")
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
    loader: str | None = Field(None, description="number of a Teensy in its boot loader")
    power: PowerEntry | None = Field(None, description="how the rig may switch the board's power (docs/recovery.md)")
    budgets: dict[str, Any] = Field(default_factory=dict, description="budgets of this board (docs/gates.md)")

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
    def devices(self) -> dict[str, str]:
        """Identities of the devices that the board uses, by key of rig.toml; two boards may not share a device."""
        power = self.switch.device if self.switch is not None else None
        place = f"labgrid place {self.place}" if self.place is not None else None
        used = {"place": place, "power": power, "loader": self.loader}
        if self.wanted_place is None:  # else the names of resources, which other places may have too
            used |= {key: getattr(self, key) for key in ("probe", "serial", "meter")}
        return {key: device for key, device in used.items() if device is not None}


class LabgridEntry(BaseModel):
    """The `[labgrid]` table of rig.toml: where the coordinator of the places is."""

    model_config = ConfigDict(extra="forbid", strict=True)

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

    model_config = ConfigDict(extra="forbid", strict=True)

    url: str | None = Field(
        default=None, description="database (docs/history.md); default: `history.sqlite` beside the runs"
    )
    bench: str = Field(default="", description="name of this bench in a database that several benches share")


class LabEntry(BaseModel):
    """The `[lab]` table of rig.toml: what is done about boards that fail as a rig."""

    model_config = ConfigDict(extra="forbid", strict=True)

    quarantine_after: int | None = Field(
        default=None, ge=2, le=100,
        description="put a board in quarantine after so many trials one after the other that the rig blocked "
        "(docs/lab-view.md); default: never",
    )  # fmt: skip


class Bench(BaseModel):
    """The contents of rig.toml."""

    model_config = ConfigDict(extra="forbid", strict=True)

    board: list[BenchBoard] = Field(default_factory=list)
    budgets: dict[str, Any] = Field(default_factory=dict, description="budgets of all boards (docs/gates.md)")
    labgrid: LabgridEntry = Field(default=LabgridEntry(), description="the coordinator of labgrid's places")
    history: HistoryEntry = Field(default=HistoryEntry(), description="where the history of all runs is kept")
    lab: LabEntry = Field(default=LabEntry(), description="quarantine of boards that fail as a rig")

    def find(self, name: str) -> BenchBoard | None:
        """Return the entry of a board, None if rig.toml does not name it."""
        return next((entry for entry in self.board if entry.name == name), None)

    def budgets_of(self, name: str) -> dict[str, list[Gate]]:
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
    _check(path, text, bench)
    for entry in bench.board:
        if entry.pack is not None:
            entry.pack = str(path.parent / entry.pack)
        if entry.meter_model is not None and entry.meter_model.endswith(".toml"):
            entry.meter_model = str(path.parent / entry.meter_model)
    return bench


def _check(path: Path, text: str, bench: Bench) -> None:
    owners: dict[str, str] = {}
    _check_budgets(path, text, bench.budgets, IN_FILE, None)
    for table, entry in enumerate(bench.board):
        _check_place(path, text, entry, table)
        key = "board" if entry.name == entry.tag else "name"
        place = f"{path.name}, line {_line_of(text, key, table)}, key {key}"
        if entry.name not in boards.names() and key == "board":
            cure = 'say with name = "..." which board these places have'
            raise RigError(f"{place}: the tag {entry.tag!r} is no board of the catalogue: {cure}.")
        if entry.name not in boards.names():
            raise RigError(
                f"{place}: no board {entry.name!r} in the catalogue: {close_matches(entry.name, boards.names())}"
            )
        if bench.find(entry.name) is not entry:
            raise RigError(f"{place}: the board {entry.name!r} is named twice: keep one of the two [[board]] tables.")
        if entry.power is not None and entry.switch is None:
            raise RigError(
                f"{path.name}, line {_line_of(text, 'power', table)}, key power: these keys do not go together: "
                "write { uhubctl, port } or { supply, channel, volts, amps } "
                "(without channel if the supply has one output)."
            )
        _check_budgets(path, text, entry.budgets, f"of {entry.name} in rig.toml", table)
        for key, device in entry.devices.items():
            if owners.setdefault(device, entry.name) != entry.name:
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
    key = str(first["loc"][-1])
    table = next((part for part in first["loc"] if isinstance(part, int)), None)
    line = _line_of(text, "power" if "power" in first["loc"] else key, table)
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
