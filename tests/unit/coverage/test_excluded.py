"""Excluded lines: they are where the list says, they were never reached, and they are counted separately."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.coverage.excluded import LIST, Exclusion, read_exclusions, without_excluded
from hil.coverage.source_file import FIRMWARE, FileCoverage, Totals
from hil.errors import RigError

SOURCE = [
    "static int first(int a) {",
    "    return a;",
    "}",
    "",
    "static int second(int a);",
    "",
    "int second(int a) {",
    "    if (a) {",
    "        return a;",
    "    }",
    "    return 0;",
    "}",
]
IMPOSSIBLE = Exclusion("a.c", "return 0;", "a is never 0.")


def test_every_line_of_the_list_is_in_the_sources() -> None:
    """A line that was changed, moved into another function or deleted is no longer excluded."""
    for one in read_exclusions(LIST):
        source = (FIRMWARE / one.file).read_text(encoding="utf-8").split("\n")
        assert one.line_in(source)
        assert len(one.reason) > 20, f"{one.file}: `{one.text}`: say why no board can reach it"


def test_a_line_is_found_by_its_text_and_function() -> None:
    assert IMPOSSIBLE.line_in(SOURCE) == 11
    assert Exclusion("a.c", "return a;", "why", "second").line_in(SOURCE) == 9
    assert Exclusion("a.c", "return a;", "why", "first").line_in(SOURCE) == 2


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Exclusion("a.c", "return 1;", "why"), "the excluded line `return 1;` is no times in a.c"),
        (Exclusion("a.c", "return a;", "why"), "is 2 times in a.c"),
        (Exclusion("a.c", "return 0;", "why", "first"), "is no times in first of a.c"),
        (Exclusion("a.c", "return 0;", "why", "third"), "is no times in third of a.c"),
    ],
    ids=["gone", "ambiguous", "elsewhere", "no function"],
)
def test_a_stale_entry_is_named(one: Exclusion, said: str) -> None:
    with pytest.raises(RigError) as refused:
        one.line_in(SOURCE)
    assert said in str(refused.value) and "correct its entry" in str(refused.value)


BRANCHES = {8: {"a.c:9": True, "a.c:11": False}, 11: {"a.c:9": False}}


def test_an_excluded_line_and_what_leads_to_it_are_counted_separately() -> None:
    file = FileCoverage("a.c", {8: True, 9: True, 11: False}, BRANCHES)
    [kept], wrong = without_excluded([file], [IMPOSSIBLE], {"a.c": SOURCE})
    assert wrong == []
    assert kept.lines == {8: True, 9: True} and kept.branches == {8: {"a.c:9": True}}
    assert kept.excluded == {11: "a is never 0."}
    assert Totals.of([kept]) == Totals(lines=2, reached=2, outcomes=1, occurred=1, excluded=1)
    assert Totals.of([file]) == Totals(lines=3, reached=2, outcomes=3, occurred=1, excluded=0)


def test_an_excluded_line_that_was_reached_is_named() -> None:
    file = FileCoverage("a.c", {11: True}, {11: {"a.c:9": True}})
    kept, wrong = without_excluded([file], [IMPOSSIBLE], {"a.c": SOURCE})
    assert kept == [file]
    assert wrong == ["line 11 of a.c is excluded, but was reached: delete its entry in the list of excluded lines."]


def test_a_line_without_code_on_a_board_is_not_excluded_there() -> None:
    file = FileCoverage("a.c", {8: True})
    assert without_excluded([file], [IMPOSSIBLE], {"a.c": SOURCE}) == ([file], [])


def test_without_sources_nothing_is_excluded() -> None:
    file = FileCoverage("a.c", {11: False})
    assert without_excluded([file], [IMPOSSIBLE], {}) == ([file], [])


@pytest.mark.parametrize(
    "entry", ['file = "a.c"\ntext = "x;"', 'file = "a.c"\ntext = "x;"\nreason = ""', 'file = 1\ntext = "x;"\nreason = "y"', 'file = "a.c"\ntext = "x;"\nreason = "y"\nline = "3"']
)  # fmt: skip
def test_an_entry_without_a_reason_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "list.toml"
    path.write_text(f"[[excluded]]\n{entry}\n")
    with pytest.raises(RigError, match="entry 1 needs file, text and reason"):
        read_exclusions(path)
