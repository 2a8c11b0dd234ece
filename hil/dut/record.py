"""What happened to a device under test, for the record of whoever used it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hil.dut.case_reports.report import CaseReport
from hil.endpoints import Verify
from hil.link.wire import Counters


@dataclass
class DutRecord:
    """What happened to a device under test so far.

    Attributes:
        board: name in the catalogue.
        reality: `hardware`, `renode`, `qemu` or `virtual`.
        place: labgrid place that the board is at, or its `id` in rig.toml; empty without either.
        image: name of the ELF file.
        image_sha256: of this file.
        own: whether it is none of the prebuilt images.
        route: name of the flash route, such as `pyocd`; empty before `flash`.
        flash: `programmed`, `held` (the flash had it already), `loaded` (the stand-in loads it itself), or `none`.
        flash_cycles: how often this computer has programmed the board's flash; None for a stand-in, or if unknown.
        resets, power_cycles: how often.
        link: frames and bytes of the last session with the agent; None without one.
        by_rig: bytes that came because the rig greeted the agent: no answer to the test.
        baud: rate of the serial port; None if it was not opened.
        clock_hz: of the core, declared by the catalogue, by rig.toml or by the test; None of a command without one.
        verified: what has checked that the board has the image: `probe`, `agent`, `read_back` or `none`; None of a
            stand-in, and before `flash`.
        command: program and arguments of a board that is a command; empty of another.
        exit_code: of this command, or of firmware with semihosting; minus the number of a signal; None if it did not
            end, or nobody has looked.
        probe: full id of the debug probe, or `GDB stub of qemu`; empty if none was used.
        reads: how often the test has read memory or the core through the probe.
        serial_log, bench_log: paths of the logs; None if there is none.
        faults: sentences about what the device did wrong, each once.
        warnings: sentences about what the figures depend on, each once.
        reports: whole reports of test frameworks that the device printed.
        cut_off: sentences about reports that were not whole.
    """

    board: str
    reality: str
    image: str
    image_sha256: str
    own: bool
    clock_hz: int | None
    place: str = ""
    route: str = ""
    flash: str = "none"
    flash_cycles: int | None = None
    resets: int = 0
    power_cycles: int = 0
    link: Counters | None = None
    by_rig: int = 0
    baud: int | None = None
    probe: str = ""
    reads: int = 0
    serial_log: Path | None = None
    bench_log: Path | None = None
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    verified: Verify | None = None
    command: list[str] = field(default_factory=list)
    exit_code: int | None = None
    reports: list[CaseReport] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)

    def fault(self, sentence: str) -> None:
        """Note what the device did wrong."""
        if sentence not in self.faults:
            self.faults.append(sentence)

    def warn(self, sentence: str) -> None:
        """Note what figures depend on."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def to_json(self) -> dict[str, Any]:
        """Return the fields, paths as text."""
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}
        return plain | {"reports": [each.to_json() for each in self.reports]}
