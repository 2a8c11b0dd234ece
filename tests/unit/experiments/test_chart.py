"""The chart of an experiment, as drawn: its coordinates are those of the values, whatever their sign and size, and no line hides another."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.training.experiments.line_chart import BOTTOM, HIDDEN, LABEL_GAP, TOP, Axes, chart

VALUES = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 4))
LINES = st.lists(st.lists(VALUES, min_size=1, max_size=12), min_size=1, max_size=8).map(
    lambda lines: {f"row {number}": values for number, values in enumerate(lines)}
)


class Drawn:
    """The lines, the grid and the labels of an SVG, read back from its text."""

    def __init__(self, lines, axes=None):
        self.svg = ET.fromstring(str(chart(lines, "t", axes)))
        self.height = float(self.svg.get("viewBox").split()[3])
        groups = [one for one in self.svg.iter("g") if one.get("class", "").startswith("line")]
        self.lines = {one.find("text").text: one for one in groups}

    def paths(self, name):
        found = [path for path in self.lines[name].findall("path") if path.get("class") != "leader"]
        return [(coordinates(path.get("d")), path) for path in found]

    def points(self, name):
        """All points of a line, from left to right."""
        rings = [(float(one.get("cx")), float(one.get("cy"))) for one in self.lines[name].findall("circle")]
        return sorted({point for drawn, _ in self.paths(name) for point in drawn} | set(rings))

    def grid(self):
        """The value of every line of the grid, by its height."""
        ticks = [one for one in self.svg.findall("text") if one.get("class") == "tick end"]
        lines = list(self.svg.findall("line"))
        return sorted((float(line.get("y1")), float(tick.text)) for line, tick in zip(lines, ticks, strict=True))

    def value_at(self, y):
        """The value that stands at a height, by the grid's own numbers."""
        (top, high), (bottom, low) = self.grid()[0], self.grid()[-1]
        return high - (high - low) * (y - top) / (bottom - top)


def coordinates(d):
    return [tuple(map(float, pair.split(","))) for pair in re.findall(r"[\d.-]+,[\d.-]+", d)]


@given(LINES)
def test_every_value_is_drawn_where_the_grid_says(lines):
    drawn = Drawn(lines)
    (top, high), (bottom, low) = drawn.grid()[0], drawn.grid()[-1]
    a_unit = (high - low) / (bottom - top)
    written = 1e-5 * max(abs(high), abs(low))  # the numbers of the grid have six digits
    for name, values in lines.items():
        found = drawn.points(name)
        assert len(found) == len(values)
        for (_, y), value in zip(found, values, strict=True):
            assert TOP - 0.1 <= y <= drawn.height - BOTTOM + 0.1
            assert abs(drawn.value_at(y) - value) <= (HIDDEN + 0.2) * a_unit + written


@given(LINES)
def test_the_axis_is_no_wider_than_the_values_need(lines):
    grid = [value for _, value in Drawn(lines).grid()]
    values = [value for line in lines.values() for value in line]
    assert 2 <= len(grid) <= 9 and len(set(grid)) == len(grid), "numbers that differ"
    step = grid[0] - grid[1]
    if max(values) - min(values) > 1e-3 * max(map(abs, values)):
        assert grid[0] - max(values) < 1.01 * step and min(values) - grid[-1] < 1.01 * step


@pytest.mark.parametrize("values", [[-0.4, 0.2, -0.1], [-3.0, -2.0], [150.0, 90.0], [0.0, 0.0], [5.0], [-7e9, 1e-9]])
def test_negative_values_and_large_ones_are_not_flattened(values):
    ys = [y for _, y in Drawn({"a": values}).points("a")]
    assert len(set(ys)) == len(set(values)), "values that differ are drawn apart"
    assert [y for _, y in sorted(zip(values, ys, strict=True), reverse=True)] == sorted(ys), "the larger, the higher"


def on_stretches(path, length):
    """Where along its length a dashed path is drawn."""
    dash, gap = map(float, path.get("stroke-dasharray").split())
    begin = -float(path.get("stroke-dashoffset"))
    return {
        round(begin + turn * (dash + gap) + part, 3)
        for turn in range(int(length // (dash + gap)) + 1)
        for part in range(int(dash))
    }


@pytest.mark.parametrize("count", [2, 3, 10])
def test_equal_lines_are_drawn_in_turns(count):
    names = [f"row {number}" for number in range(count)]
    drawn = Drawn({name: [10, 30, 20, 60] for name in names})
    taken = [on_stretches(path, 300) for name in names for _, path in drawn.paths(name)]
    assert len(taken) == count and all(taken)
    assert sum(map(len, taken)) == len(set().union(*taken)), "no two are drawn at the same place"


def test_lines_that_meet_for_a_while_take_turns_there_and_are_whole_elsewhere():
    drawn = Drawn({"a": [10, 20, 30, 40], "b": [10, 20, 30, 0], "c": [50, 50, 50, 50]})
    (shared_a, first), (alone_a, whole) = drawn.paths("a")
    (shared_b, other), (alone_b, _) = drawn.paths("b")
    assert shared_a == shared_b and alone_a != alone_b
    assert first.get("stroke-dashoffset") != other.get("stroke-dashoffset")
    assert whole.get("stroke-dasharray") is None and drawn.paths("c")[0][1].get("stroke-dasharray") is None


def test_lines_that_nearly_meet_take_turns_too():
    drawn = Drawn({"a": [0.0, 50.0, 100.0], "b": [0.1, 50.1, 99.9]})
    assert drawn.points("a") == drawn.points("b") and drawn.paths("b")[0][1].get("stroke-dasharray")


def test_points_that_lie_on_one_another_are_rings_of_their_own_size():
    drawn = Drawn({"a": [5.0], "b": [5.0], "c": [5.0]})
    assert len({drawn.lines[name].find("circle").get("r") for name in "abc"}) == 3


def test_what_is_no_number_is_a_gap():
    nan = float("nan")
    drawn = Drawn({"a": [1.0, 2.0, nan, 4.0, 5.0, nan, 3.0], "void": [nan, nan]})
    assert [len(points) for points, _ in drawn.paths("a")] == [2, 2] and len(drawn.lines["a"].findall("circle")) == 1
    assert "void" not in drawn.lines
    assert not Drawn({}).lines


def test_a_line_of_fewer_places_goes_from_end_to_end_where_the_axis_says_so():
    lines = {"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0]}
    assert Drawn(lines).points("b")[-1][0] < Drawn(lines).points("a")[-1][0]
    stretched = Drawn(lines, Axes(stretched=True))
    assert stretched.points("b")[-1][0] == stretched.points("a")[-1][0]


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_labels_do_not_lie_on_one_another_and_stay_in_the_drawing(ends):
    drawn = Drawn({f"row {number}": [0.0, end] for number, end in enumerate(ends)})
    places = sorted(float(group.find("text").get("y")) - 4 for group in drawn.lines.values())
    assert all(b - a >= LABEL_GAP - 0.15 for a, b in pairwise(places))
    assert places[0] >= TOP - 0.1 and places[-1] <= drawn.height - BOTTOM + 0.1


def test_every_label_fits_beside_its_line():
    name = "DeepZero, sparse, with gradient accumulation"
    group = Drawn({name: [1.0, 2.0]}).lines[name]
    assert float(group.find("text").get("x")) + 6 * len(name) <= 560
