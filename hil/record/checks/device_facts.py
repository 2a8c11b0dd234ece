"""What a device was and what came from it, against the catalogue, its test, its log and the tensors that were kept."""

from __future__ import annotations

import ast
import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hil import boards
from hil.bounded_npz import read_npz
from hil.bounded_read import MB, read_file
from hil.errors import RigError
from hil.record.checks.recorded import RESULTS, RecordedRun
from hil.record.checks.verdicts import PASS
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.device_test import Compared, DeviceTest
from hil.record.safe_paths import RERUN, check_name, safe_file, safe_folder
from hil.record.verdicts import AskedTest

SERIAL_LOG, CAME, ABOUT = "serial.log", "<", "!"  # hil/dut/logged_port.py
LARGEST_LOG = 20 * MB
ROUNDED_S = 0.002
KINDS = ("computed", "file", "elf", "run")  # of a reference (hil/comparison/recordings.py)


def check_facts(run: RecordedRun, record: DeviceTest, test: AskedTest | None, is_last: bool) -> Iterator[Contradiction]:
    """Check board, core, time, bytes and kept tensors of an attempt of a test, of which the last one has its time."""
    if test is not None:
        yield from _test(record, test, is_last)
    yield from _board(record)
    yield from _received(run, record)
    for comparison in record.comparisons:
        kind = comparison["reference_kind"]
        if kind not in KINDS:
            name = f"reference_kind of {record.folder}"
            yield differ(RESULTS, name, kind, "the kinds of references", " or ".join(KINDS), record.folder)
        yield from _exact(record, comparison)
        if "kept" in comparison:
            yield from _kept(run, record, comparison)


def _test(record: DeviceTest, test: AskedTest, is_last: bool) -> Iterator[Contradiction]:
    place = f"the test of {record.folder}"
    if test.board is not None and record.board != test.board:
        yield differ(RESULTS, f"board of {record.folder}", record.board, place, test.board, record.folder)
    ended = is_last and test.seconds is not None and record.verdict != "interrupted"
    if ended and abs(record.wall_s - (test.seconds or 0.0)) > ROUNDED_S:
        yield differ(RESULTS, f"wall_s of {record.folder}", record.wall_s, place, test.seconds, record.folder)


def _board(record: DeviceTest) -> Iterator[Contradiction]:
    """Compare the core with that of the catalogue; rig.toml may say another one of a command."""
    if record.attached and record.command:
        yield differ(RESULTS, f"attached of {record.folder}", True, RESULTS, "a board that is a command", record.folder)
    known = None
    if record.board is not None and record.core is not None and not record.command:
        with contextlib.suppress(RigError):  # of a plugin that is not here
            known = boards.load(record.board).core if boards.is_known(record.board) else None
    if known and record.core != known:
        yield differ(RESULTS, f"core of {record.folder}", record.core, "the catalogue", known, record.folder)


def _received(run: RecordedRun, record: DeviceTest) -> Iterator[Contradiction]:
    """Check that no more came than the logs of all devices have, unless one is full."""
    folder = safe_folder(run.folder, record.folder)
    folders = [folder, *(safe_folder(folder, f"device-{number}") for number in range(2, len(record.others) + 2))]
    logs = [path for each in folders if (path := safe_file(each, SERIAL_LOG)) is not None]
    if not record.received or len(logs) != len(folders):
        return
    counts = [_logged(path) for path in logs]
    total = sum(each or 0 for each in counts)
    if None not in counts and record.received > total:
        place = f"{record.folder}/{SERIAL_LOG}"
        yield differ(RESULTS, f"received of {record.folder}", record.received, place, f"{total} bytes", record.folder)


def _logged(path: Path) -> int | None:
    """Return how many bytes came by a log; None if it is full, or no log of the rig."""
    total = 0
    for line in read_file(path, LARGEST_LOG, RERUN).decode("ascii", errors="replace").splitlines():
        _, _, entry = line.partition(" ")
        mark, _, text = entry.partition(" ")
        if mark == ABOUT:
            return None
        if mark == CAME:
            try:
                total += len(ast.literal_eval(f"b{text}"))
            except (ValueError, SyntaxError, TypeError):
                return None
    return total


def _exact(record: DeviceTest, found: Compared) -> Iterator[Contradiction]:
    """Check that a tensor of which no element differs has no error."""
    same = {each["tensor"] for each in found["tensors"] if not each["differing"]}
    for worst in found["worst"]:
        errors = (worst["max_ulp"], worst["max_relative"], worst["max_abs"])
        if worst["tensor"] in same and any(errors):
            name = f"worst of {worst['tensor']} of {record.folder}"
            yield differ(RESULTS, name, max(each or 0 for each in errors), f"{RESULTS} (differing)", 0, record.folder)


def _kept(run: RecordedRun, record: DeviceTest, found: Compared) -> Iterator[Contradiction]:
    """Compare the tensors that were kept with the sum and the forms of the record."""
    kept = found["kept"]
    check_name(kept["file"], f"{record.folder}: the tensors")
    path, place = safe_file(safe_folder(run.folder, record.folder), kept["file"]), f"{record.folder}/{kept['file']}"
    if path is None:
        if not run.is_kept:
            yield differ(RESULTS, f"the tensors of {record.folder}", "there", place, NOTHING, record.folder)
        return
    here = hashlib.sha256(path.read_bytes()).hexdigest()
    if here != kept["sha256"]:
        yield differ(RESULTS, f"sha256 of the tensors of {record.folder}", kept["sha256"], place, here, record.folder)
    if found["verdict"] == PASS:
        yield from _forms(record, found, place, read_npz(path, RERUN))


def _forms(record: DeviceTest, found: Compared, place: str, arrays: Any) -> Iterator[Contradiction]:
    steps: dict[str, list[np.ndarray]] = {}
    for key, array in arrays.items():
        steps.setdefault(key.rpartition("@")[0], []).append(array)
    names = sorted(each["tensor"] for each in found["tensors"])
    if sorted(steps) != names:
        yield differ(RESULTS, f"tensors of {record.folder}", names, place, sorted(steps), record.folder)
    for tensor in found["tensors"]:
        there = steps.get(tensor["tensor"], [])
        said = f"of {tensor['tensor']} of {record.folder}"
        if there and len(there) != tensor["steps"]:
            yield differ(RESULTS, f"steps {said}", tensor["steps"], place, len(there), record.folder)
        shapes = {array.shape for array in there} - {tuple(tensor["shape"])}
        if shapes:
            yield differ(RESULTS, f"shape {said}", tensor["shape"], place, list(shapes.pop()), record.folder)
        dtypes = {str(array.dtype) for array in there} - {tensor["dtype"]}
        if dtypes:
            yield differ(RESULTS, f"dtype {said}", tensor["dtype"], place, dtypes.pop(), record.folder)
