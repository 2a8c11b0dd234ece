"""The text of results.csv is that of pandas, which reads and writes most tables of the field."""

from __future__ import annotations

from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from hil.record.csv_table import text_of

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0", exclude_categories=("Cs",)), max_size=6)
# By column, as fields of a record have one type each; a float may be whole, and any value may be missing.
KINDS = st.sampled_from(
    [st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), WORDS]
)
NAMES = st.sampled_from(["board", "sram", "cycles", "energy"])
LEAVES = st.sampled_from(["total", "static", "unit"])


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    shapes = draw(st.dictionaries(NAMES, st.one_of(KINDS, st.dictionaries(LEAVES, KINDS, min_size=1)), min_size=1))
    return [
        {
            name: {leaf: draw(st.none() | each) for leaf, each in kind.items()} if isinstance(kind, dict) else draw(st.none() | kind)
            for name, kind in shapes.items()
            if draw(st.booleans()) or not number
        }
        for number in range(draw(st.integers(1, 4)))
    ]  # fmt: skip


@given(tables())
def test_the_text_is_that_of_pandas(rows: list[dict[str, Any]]) -> None:
    assert text_of(rows) == pd.json_normalize(rows).convert_dtypes().to_csv(index=False)


def test_what_has_no_column_and_what_needs_quotes() -> None:
    rows = [{"a": 'b,"c"', "none": {}, "d": {"e": 1.0, "f": None}}, {"a": None, "d": {"e": 2.5, "f": "x\ny"}}]
    assert text_of(rows) == 'a,d.e,d.f\n"b,""c""",1.0,\n,2.5,"x\ny"\n'
    assert text_of([]) == pd.json_normalize([]).to_csv(index=False)
