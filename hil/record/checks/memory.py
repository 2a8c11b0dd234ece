"""SRAM of a trial: its parts, the rows of all RAM, the probe's watermarks, the plan, the formula and the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hil.images.ram_map import ARENA, DMA, SECTION, SEGMENT, STACK, STATIC, UNCLAIMED
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import Contradiction, differ

AREAS = ("static", "arena_peak", "stack_peak")
PARTS = (*AREAS, "sections", "unclaimed")
Row = Mapping[str, Any]


def check_memory(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """SRAM in use has its parts, is no less than the probe read, and the plan and the formula are those beside it."""
    record, file = trial.record, trial.source
    sram: Mapping[str, Any] = record.sram
    parts = [sram[name] for name in AREAS]
    if sram["total"] is not None and None not in parts and sram["total"] < sum(parts):
        yield differ(file, "sram.total", sram["total"], f"{file} (its parts)", sum(parts), trial.name)
    for name in AREAS if record.sram_probe is not None else ():
        read = record.sram_probe[name]  # type: ignore[index,literal-required]
        here = sram[name]
        if here is not None and here < read:
            yield differ(file, f"sram.{name}", here, f"{file} (sram_probe)", read, trial.name)
    others = {
        "planned": record.memory_plan["total"] if record.memory_plan is not None else None,
        "analytic": record.analytic["bytes"] if record.analytic is not None else None,
    }
    for name, value in others.items():
        if value is not None and sram[name] is not None and sram[name] != value:
            place = {"planned": "memory_plan.total", "analytic": "analytic.bytes"}[name]
            yield differ(file, f"sram.{name}", sram[name], f"{file} ({place})", value, trial.name)


def check_regions(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """SRAM in use is the sum of its parts, and each part is what the rows of all RAM have of it (docs/memory.md)."""
    sram: Mapping[str, Any] = trial.record.sram
    if sram["total"] is not None and None not in [sram[name] for name in AREAS]:
        total = sum(sram.get(name) or 0 for name in PARTS)
        if sram["total"] != total:
            yield differ(trial.source, "sram.total", sram["total"], f"{trial.source} (its parts)", total, trial.name)
    if sram.get("regions"):
        yield from _regions(trial, sram, sram["regions"])


def _regions(trial: RecordedTrial, sram: Row, rows: Sequence[Row]) -> Iterator[Contradiction]:
    """Compare the parts with the bytes that the rows of all RAM have (docs/memory.md)."""
    file = trial.source
    for number, row in enumerate(rows):
        if row["used"] is not None and row["used"] > row["size"]:
            place = f"sram.regions[{number}].used"
            yield differ(file, place, row["used"], f"{file} (its size)", row["size"], trial.name)
    for one, after in pairwise(sorted(rows, key=lambda row: int(row["start"]))):
        if one["start"] + one["size"] > after["start"]:
            place, end = f"the end of sram.regions at {one['start']:#x}", one["start"] + one["size"]
            yield differ(file, place, end, f"{file} (the next row)", after["start"], trial.name)
    own: dict[str, tuple[str, ...]] = {
        "static": (STATIC, DMA), "arena_peak": (ARENA,), "stack_peak": (STACK,), "sections": (SECTION, SEGMENT),
        "unclaimed": (UNCLAIMED,),
    }  # fmt: skip
    for name, owners in own.items():
        used = [row["used"] for row in rows if row["claimed_by"].startswith(owners) and row["used"] is not None]
        wanted = sum(used) if used or name != "unclaimed" else None
        # an image whose own figure of an area is wrong is a wrong figure: the row has what its symbols say
        if sram.get(name) != wanted and not (name in AREAS and trial.record.wrong_figures):
            yield differ(file, f"sram.{name}", sram.get(name), f"{file} (sram.regions)", wanted, trial.name)


def check_plan(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The buffers of the memory plan reach as high as its total, live in its slots, and share no byte at one time."""
    plan, file = trial.record.memory_plan, trial.source
    if plan is None:
        return
    buffers = plan["buffers"]
    end = max((buffer["offset"] + buffer["size"] for buffer in buffers), default=0)
    if end != plan["total"]:
        yield differ(file, "memory_plan.total", plan["total"], f"{file} (the end of its buffers)", end, trial.name)
    for number, buffer in enumerate(buffers):
        if not buffer["first"] <= buffer["last"] < max(len(plan["slots"]), 1):
            place, span = f"memory_plan.buffers[{number}]", f"slots {buffer['first']} to {buffer['last']}"
            yield differ(file, place, span, f"{file} (slots)", f"{len(plan['slots'])} slots", trial.name)
    ordered = sorted(buffers, key=lambda buffer: buffer["offset"])
    for number, one in enumerate(ordered):
        for other in ordered[number + 1 :]:
            if other["offset"] >= one["offset"] + one["size"]:
                break
            if one["first"] <= other["last"] and other["first"] <= one["last"] and other["size"]:
                place, there = f"memory_plan.buffers, {one['name']}", f"{other['name']} at {other['offset']}"
                at = f"{one['offset']} to {one['offset'] + one['size']}"
                yield differ(file, place, at, f"{file} (a buffer of the same time)", there, trial.name)
