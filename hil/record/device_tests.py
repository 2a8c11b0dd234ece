"""Write and read the tests of devices under test in the folder of a run: device_test.json and the drift."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hil.atomic_write import atomic_file, write_atomic
from hil.bounded_read import read_json
from hil.errors import RigError
from hil.record.device_test import DEVICE, DEVICE_TEST, DeviceTest
from hil.record.safe_paths import RERUN, safe_file, safe_folder
from hil.record.trial_writer import as_json
from hil.record.validation import validated

if TYPE_CHECKING:  # imported late: few tests need it when they begin
    import numpy as np

LARGEST = 32 << 20  # bytes of device_test.json


def write_device_test(run: Path, record: DeviceTest) -> None:
    """Write device_test.json into the folder of the test, which must exist.

    Raises:
        OSError: the disk is full; the former file remains.
    """
    write_atomic(run / record.folder / DEVICE_TEST, as_json(record.model_dump()))


def write_drift(path: Path, table: Mapping[str, np.ndarray]) -> None:
    """Write the drift of a comparison (`Drift.table`) as Parquet.

    Raises:
        OSError: the disk is full; no partial file remains.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: pa.array(column) for name, column in table.items()}
    columns["tensor"] = columns["tensor"].dictionary_encode()
    with atomic_file(path) as partial:
        pq.write_table(pa.table(columns), partial)


def written_device_tests(run: Path, but: Container[str] = ()) -> list[DeviceTest]:
    """Return the device tests in the folder of a run, of all processes, in the order in which they began.

    `but` has the names of folders to skip.

    Raises:
        RigError: a record is damaged.
    """
    paths = [path for path in run.glob(f"*/{DEVICE_TEST}") if path.parent.name not in but]
    return sorted((read_device_test(run, path.parent.name) for path in paths), key=order)


def read_device_test(run: Path, name: str) -> DeviceTest:
    """Return the record of the device test in a folder of a run.

    Raises:
        RigError: there is none, it is damaged, or it names another folder.
    """
    path = safe_file(safe_folder(run, name), DEVICE_TEST)
    if path is None:
        raise RigError(f"{run / name} has no {DEVICE_TEST}: {RERUN}.")
    record = validated(DEVICE, read_json(path, LARGEST, RERUN), str(path), DEVICE_TEST)
    if record.folder != name:
        raise RigError(f"{path} is damaged (it is not the record of a test in this folder): {RERUN}.")
    return record


def order(record: DeviceTest) -> tuple[str, str]:
    """Return what device tests are sorted by."""
    return record.began or "", record.folder
