"""The provenance of every figure against the reality of the board: only silicon is measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from hil.energy.provenance import VIRTUAL
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import Contradiction, differ

HARDWARE, MEASURED, MODELLED = "hardware", "measured", "modelled"
SRAM_PROVENANCE = {  # watermarks are counted in the board's memory, all else is computed
    **dict.fromkeys(("static", "arena_peak", "stack_peak", "sections", "unclaimed", "total"), "counted"),
    **dict.fromkeys(("budget", "planned", "analytic"), "analytic"),
}
STAND_INS = {  # by reality, as the warnings of a trial begin
    "virtual": "virtual board: one cycle an instruction",
    "qemu": "QEMU: time follows the count of instructions",
    "renode": "Renode: one cycle an instruction, registers that only hold what is written",
}
BENCH_LOG = "bench.log"  # output of a stand-in


def check_provenance(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Cycles, latency and energy are measured on an attached board only, SRAM is counted."""
    record, file = trial.record, trial.source
    reality, silicon = record.reality, record.reality == HARDWARE
    word = MEASURED if silicon else MODELLED
    if record.cycles_provenance != word:
        yield differ(
            file, "cycles_provenance", record.cycles_provenance, f"{file} (reality {reality})", word, trial.name
        )
    if record.latency is not None and record.latency["provenance"] != word:
        said = record.latency["provenance"]
        yield differ(file, "latency.provenance", said, f"{file} (reality {reality})", word, trial.name)
    meter = record.energy["meter"] if record.energy is not None else {}
    virtual = VIRTUAL in str(meter.get("identity", "")).lower()
    for path, figure in trial.figures.items():
        if path.startswith("energy.") and figure.provenance.value == MEASURED and (not silicon or virtual):
            place = f"{file} ({'energy.meter.identity' if silicon else f'reality {reality}'})"
            yield differ(file, f"provenance of {path}", MEASURED, place, MODELLED, trial.name)
    words: dict[str, Any] = dict(record.sram_provenance)  # a record of an older version has fewer figures
    for name, wanted in SRAM_PROVENANCE.items():
        found = words.get(name, wanted)
        if found != wanted:
            yield differ(file, f"sram_provenance.{name}", found, "the rig's own", wanted, trial.name)


def check_reality(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Warnings, the log of a stand-in, and rig.toml's word on the board fit the reality."""
    record, file = trial.record, trial.source
    for reality, words in STAND_INS.items():
        if record.reality != reality and any(warning.startswith(words) for warning in record.warnings):
            yield differ(file, "reality", record.reality, f"{file} (warnings)", words, trial.name)
    if record.attached is False and record.reality == HARDWARE:
        yield differ(file, "attached", record.attached, f"{file} (reality)", record.reality, trial.name)
    if os.path.lexists(
        trial.folder / BENCH_LOG
    ):  # a stand-in was started, so rig.toml named neither a board nor its stand-in
        place, output = f"{trial.name}/{BENCH_LOG}", "the output of a stand-in"
        if record.reality == HARDWARE:
            yield differ(file, "reality", HARDWARE, place, output, trial.name)
        if record.attached:
            yield differ(file, "attached", record.attached, place, output, trial.name)
