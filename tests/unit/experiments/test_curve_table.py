"""curves.parquet keeps every bit of every curve, as another reader reads it, and is the same file each time."""

from __future__ import annotations

import struct
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hil.training.experiments.curve import CURVES_FILE, UNLIKE, EpochRow, write_curves

from .folders import recorded_curves

COUNTS = st.integers(0, 2**32 - 1)
FLOATS = st.floats()  # also NaN, infinities, subnormal numbers and -0.0
KINDS = {
    "int": COUNTS,
    "int | None": st.none() | COUNTS,
    "float": FLOATS,
    "float | None": st.none() | FLOATS,
    "Sequence[float] | None": st.none() | st.lists(FLOATS, max_size=3),
    "str": st.text(max_size=5),
    "str | None": st.none() | st.text(max_size=5),
}
ROWS = st.builds(EpochRow, **{field.name: KINDS[str(field.type)] for field in fields(EpochRow)})
CURVES = st.dictionaries(st.text(min_size=1, max_size=5), st.lists(ROWS, max_size=4), max_size=4)


def bits(value: Any) -> Any:
    """Floats as their bytes, so that NaN is equal to NaN, and 0.0 is not equal to -0.0."""
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    if isinstance(value, list):
        return [bits(one) for one in value]
    return struct.pack("<d", value) if isinstance(value, float) else value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CURVES)
def test_what_is_written_is_read_again_and_written_alike(tmp_path: Path, curves: dict[str, list[EpochRow]]) -> None:
    write_curves(tmp_path / CURVES_FILE, curves)
    content = (tmp_path / CURVES_FILE).read_bytes()
    found = recorded_curves(tmp_path)
    assert bits(found) == bits({name: [asdict(row) for row in rows] for name, rows in curves.items() if rows})
    assert list(found) == [name for name, rows in curves.items() if rows]
    write_curves(tmp_path / CURVES_FILE, curves)
    assert (tmp_path / CURVES_FILE).read_bytes() == content


def test_the_columns_with_new_bits_in_every_row_are_fields() -> None:
    assert set(UNLIKE) < {field.name for field in fields(EpochRow)}
