"""Checks of a record that are made by `hil verify`, `hil sign` and `hil pack` only: they read more, or know boards.

All other checks are those of every reader (hil/record/checks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from hil import boards
from hil.images import Image
from hil.images.ram_map import OUTSIDE, ram_map, static_bytes
from hil.record.checks import Checked, OfRun, OfTrial, budgets, energy, figures, identity, made, memory, raw
from hil.record.checks.copies import unlisted
from hil.record.checks.entries import close
from hil.record.checks.provenance import STAND_INS
from hil.record.checks.recorded import POWER, RESULTS, RecordedRun, RecordedTrial
from hil.record.clients import clients
from hil.record.contradiction import NOTHING, Contradicted, Contradiction, differ
from hil.record.coverage import EXECUTED, LINES, image_of_executed, read_executed
from hil.record.parquet import read_columns
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import safe_file
from hil.verify.images import firmware_of_trial, image_at_hand


def thorough(run: RecordedRun, listed: bool = True) -> list[Checked]:
    """Return what these checks of a run found; errors as of `hil.record.checks.checked`.

    `listed`: whether SHA256SUMS must list every file already. A run that is being signed, or was, lists them by itself.
    """
    of_trial = (*OF_TRIAL, *(check for client in clients() for check in client.checks()))
    return made(run, of_trial, OF_RUN if listed else tuple(check for check in OF_RUN if check is not check_listed))


def refuse_thoroughly(run: RecordedRun, listed: bool = True) -> None:
    """Make these checks. Raises Contradicted if the run contradicts itself."""
    found = [one for check in thorough(run, listed) for one in check.found]
    if found:
        raise Contradicted(run.folder, found)


def check_warning(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """A trial on a stand-in has the warning of that stand-in."""
    record = trial.record
    words = STAND_INS.get(record.reality or "")
    if words is not None and not any(warning.startswith(words) for warning in record.warnings):
        place = f"{trial.source} (warnings)"
        yield differ(trial.source, "reality", record.reality, place, f"no warning {words!r}", trial.name)


def check_board(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Core, clock and all RAM are those of the board in the catalogue."""
    record, file = trial.record, trial.source
    if not boards.is_known(record.board):
        return
    board, place = boards.load(record.board), f"the catalogue ({record.board})"
    if record.core != board.core:
        yield differ(file, "core", record.core, place, board.core, trial.name)
    if "catalogue" in record.second_sources.get("clock_hz", ()) and record.clock_hz != board.clock_hz:
        yield differ(file, "clock_hz", record.clock_hz, place, board.clock_hz, trial.name)
    rows = [row for row in record.sram.get("regions", ()) if row["memory"] != OUTSIDE]
    if rows:
        held = {(memory.name, memory.start, memory.size) for memory in board.memory if memory.kind == "ram"}
        told = {
            (name, min(row["start"] for row in rows if row["memory"] == name),
             sum(row["size"] for row in rows if row["memory"] == name))
            for name in {row["memory"] for row in rows}
        }  # fmt: skip
        for name, start, size in sorted(told ^ held):
            found, other = ("there", NOTHING) if (name, start, size) in told else (NOTHING, "there")
            yield differ(file, f"sram.regions: {name} at {start:#x}, {size} bytes,", found, place, other, trial.name)


def check_image(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Where the firmware is on this computer, its digest, static memory and claims on RAM are those of the record."""
    record, file = trial.record, trial.source
    image = image_at_hand(firmware_of_trial(record), run.results["run"].get("command", ""))
    if image is None or record.image is None:
        return
    if f"{image.digest:08x}" != record.image["digest"]:
        there = f"{image.digest:08x}"
        yield differ(file, "image.digest", record.image["digest"], image.path.name, there, trial.name)
    if record.sram.get("regions") and boards.is_known(record.board):
        yield from _claims(trial, image)


def _claims(trial: RecordedTrial, image: Image) -> Iterator[Contradiction]:
    record, file = trial.record, trial.source
    told = {(row["memory"], row["claimed_by"], row["start"], row["size"]) for row in record.sram["regions"]}
    held = {(claim.memory, claim.owner, claim.start, claim.size) for claim in ram_map(image, boards.load(record.board))}
    for row in sorted(told ^ held):
        found, other = ("there", NOTHING) if row in told else (NOTHING, "there")
        place = f"sram.regions: {row[1]} in {row[0]} at {row[2]:#x}, {row[3]} bytes,"
        yield differ(file, place, found, image.path.name, other, trial.name)
    if record.sram["static"] != static_bytes(image) and not record.wrong_figures:
        yield differ(file, "sram.static", record.sram["static"], image.path.name, static_bytes(image), trial.name)


def check_coverage(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """coverage.npz is of the image of the trial: its code lies in that image, or in the RAM of the board."""
    path = trial.path(EXECUTED)
    if path is None:
        return
    sha, place = trial.record.image_sha256, f"{trial.name}/{EXECUTED}"
    found = image_of_executed(path)
    if found != sha:
        yield differ(place, "the SHA-256 of its image", found, f"{trial.source} (image_sha256)", sha, trial.name)
        return
    executed = read_executed(trial.folder, sha)
    if executed is None:
        return
    record, blocks = trial.record, executed.blocks.astype(np.int64)
    if record.steps_compared and not len(blocks):
        yield differ(place, "the number of its blocks", 0, trial.source, f"{record.steps_compared} steps", trial.name)
    image = image_at_hand(firmware_of_trial(record), run.results["run"].get("command", ""))
    if image is None or not boards.is_known(record.board):
        return
    code = [(start, len(data)) for start, data in image.segments]
    code += [(region.start, region.size) for region in boards.load(record.board).memory if region.kind == "ram"]
    inside = [(blocks[:, 0] >= start) & (blocks.sum(axis=1) <= start + size) for start, size in code]
    outside = blocks[~np.any(inside, axis=0)]
    if len(outside):
        where = f"{outside[0, 0]:#010x}, {outside[0, 1]} bytes"
        yield differ(place, "code that was executed", where, image.path.name, "no code there", trial.name)


def check_readings(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """power.parquet has as many readings in the steps of each window as the record says, with its mean voltage."""
    measured, path = trial.record.energy, trial.path(POWER)
    if measured is None or path is None:
        return
    table = read_columns(path, words=("phase",))
    for number, window in enumerate(measured["windows"]):
        inside = (table["window"] == number) & (table["phase"] == "steps")
        pairs: dict[str, float] = {"readings": int(inside.sum())}
        if "voltage_v" in table and inside.any():
            pairs["voltage"] = float(table["voltage_v"][inside].mean())
        for name, there in pairs.items():
            here = window.get(name)
            if isinstance(here, (int, float)) and not close(here, there):
                place = f"{trial.name}/{POWER}"
                yield differ(trial.source, f"energy.windows[{number}].{name}", here, place, there, trial.name)


def check_ids(run: RecordedRun) -> Iterator[Contradiction]:
    """The board of a test is in its name, and in the command that repeats it; its trials may be of other boards."""
    if run.results["run"]["state"] == RUNNING:
        return
    for test in run.results["tests"]:
        if test.board is None:
            continue
        words = re.split(r"[\[\]]", test.test)
        if len(words) > 1 and test.board not in words[1]:
            yield differ(RESULTS, f"board of {test.test}", test.board, f"{RESULTS} (test)", words[1])
        option = f"--board={test.board}"
        if test.repeat and option not in test.repeat.split():
            yield differ(RESULTS, f"repeat of {test.test}", test.repeat, f"{RESULTS} (board)", option)


def check_listed(run: RecordedRun) -> Iterator[Contradiction]:
    """SHA256SUMS lists every file in the folder of the run, except the pages."""
    if run.sums is not None:
        yield from unlisted(run, run.sums, pages=False, every=True)


def check_lines(run: RecordedRun) -> Iterator[Contradiction]:
    """The line tables of images in the run are of images that its trials ran."""
    known = {LINES.format((trial.record.image_sha256 or "")[:16]) for trial in run.trials}
    for path in sorted(run.folder.glob(LINES.format("*"))):
        if path.name not in known and safe_file(run.folder, path.name) is not None:
            yield differ(path.name, "the file", "there", RESULTS, "no trial with this image")


OF_TRIAL: tuple[OfTrial, ...] = (
    identity.check_identity, identity.check_layers, memory.check_regions, memory.check_plan, figures.check_curve,
    raw.check_rows, raw.check_raw, budgets.check_sentences, energy.check_derived,
    check_warning, check_board, check_image, check_coverage, check_readings,
)  # fmt: skip
OF_RUN: tuple[OfRun, ...] = (check_ids, check_lines, check_listed)
