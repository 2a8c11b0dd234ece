"""The charts of an experiment: every value is at its place, a gap is a gap, and no line hides another."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hil.report.trial_figures import box
from hil.training.experiments.charts import _places, line_chart
from hil.training.experiments.table import Axis

VALUES = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf])
LINES = st.lists(st.lists(VALUES, min_size=1, max_size=12), min_size=1, max_size=12).map(
    lambda lines: {f"row <{number}>": values for number, values in enumerate(lines)}
)


def drawn(lines: dict[str, list[float]], axis: Axis | None = None, loss: bool = False) -> list[dict]:
    """The traces as the page has them."""
    axis = axis or Axis()
    x = {name: _places(axis, values, loss) for name, values in lines.items()}
    text = str(box(line_chart(lines, x, axis), "0", "a < b"))
    (spec,) = re.findall(r"<script[^>]*>(.*)</script>", text)
    assert "a &lt; b" in text and "<" not in spec, "safe within HTML"
    return json.loads(spec)["data"]


@given(LINES)
def test_every_value_is_at_its_place_and_what_is_no_number_is_a_gap(lines: dict[str, list[float]]) -> None:
    for trace, values in zip(drawn(lines), lines.values(), strict=True):
        assert trace["x"] == list(range(len(values)))
        assert trace["y"] == [value if math.isfinite(value) else None for value in values]


@given(LINES)
def test_no_line_hides_another(lines: dict[str, list[float]]) -> None:
    """A line is narrower than those below it; what is drawn alike differs in nothing else that one sees."""
    traces = drawn(lines)
    assert all(above["line"]["width"] < below["line"]["width"] for below, above in pairwise(traces))
    assert len({(one["line"]["color"], one["line"]["dash"]) for one in traces}) == len(traces)
    assert [trace["name"] for trace in traces] == [f"row &lt;{number}&gt;" for number in range(len(lines))]


@given(LINES)
def test_a_single_value_is_a_point(lines: dict[str, list[float]]) -> None:
    for trace, values in zip(drawn(lines), lines.values(), strict=True):
        assert (trace["mode"] == "markers") == (len(values) == 1)


def test_lines_of_fewer_places_go_to_the_end_where_the_axis_says_so() -> None:
    lines = {"many": [1.0, 2.0, 3.0, 4.0, 5.0], "few": [1.0, 2.0]}
    assert [trace["x"] for trace in drawn(lines, Axis("passes", 8.0))] == [[0, 2, 4, 6, 8], [0, 8]]
    assert [trace["x"][-1] for trace in drawn(lines)] == [4, 1], "of epochs each has its own"


def test_losses_begin_with_epoch_1() -> None:
    assert drawn({"a": [3.0, 2.0]}, loss=True)[0]["x"] == [1, 2]
