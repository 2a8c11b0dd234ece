"""Changes of the firmware drawn by a program: the draw, and that the bench tests named in the record catch its rows.

`python -m tests.faults.defects --drawn N` runs a draw; fixtures/campaigns/mutations.json has the last whole one. The
quick tier repeats a few of its rows, the nightly tier all that were caught.
"""

import functools
import json
from collections import Counter
from pathlib import Path

import pytest
from defects.build import FIRMWARE, NotBuilt, Workshop, loaded
from defects.candidates import REFUSALS, ROOMS, Change, changes_of
from defects.draw import family, in_order
from defects.drawn import Source, may_be_compiled
from defects.drawn_record import CAUGHT, NOT_REACHED, PASS, Campaign, Drawn, read, write
from defects.kinds import KINDS
from defects.names import change_named, text_of
from defects.quick_tier import QuickTier
from defects.reach import FUNCTION, LINE, NONE, UNKNOWN, Ran, Reach, compiled_lines
from defects.row import BOARD
from firmware_copy import need_compiler

from tests.built_firmware import built_firmware

RECORD = Path(__file__).resolve().parents[2] / "fixtures" / "campaigns" / "mutations.json"
NIGHTLY = pytest.mark.tier("nightly")
GATE = 3  # rows of the record that the quick tier repeats
SOURCE = """\
#define LEAST 0x1p-20f

/* 1 + 2 in a comment */
int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

void shift(const int32_t *in, uint32_t n, int8_t *out) {
    __asm__("adds r0, #1");
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int8_t)clip127(-in[i] >> 3);
    }
}
"""


@pytest.fixture(scope="module")
def changes():
    return changes_of(FIRMWARE)


@pytest.fixture
def firmware(tmp_path):
    for room in ROOMS:
        (tmp_path / room).mkdir()
    (tmp_path / "kernels" / "drawn.c").write_text(SOURCE)
    return tmp_path


def test_every_kind_is_found_and_nothing_in_comments_or_assembly(firmware):
    found = {(change.line, change.kind, change.old, change.new) for change in changes_of(firmware)}
    assert found == {
        (1, "constant", "0x1p-20f", "(0x1p-20f * 1.25f)"),
        (5, "bound", "a > b ? a : b", "(a)"),
        (5, "bound", "a > b ? a : b", "(b)"),
        (10, "constant", "0", "1"),
        (10, "bound", "<", "<="),
        (10, "bound", "n", "(n) - 1"),
        (11, "index", "i", "i + 1"),
        (11, "bound", "clip127(-in[i] >> 3)", "(-in[i] >> 3)"),
        (11, "rounding", "-in[i] >> 3", "((-in[i] + ((1 << (3)) - 1)) >> (3))"),
        (11, "sign", "-in[i]", "(in[i])"),
        (11, "constant", "3", "4"),
        (11, "constant", "3", "2"),
    }


def test_a_change_knows_its_function_and_is_applied_at_its_place_only(firmware):
    text = (firmware / "kernels" / "drawn.c").read_text()
    for change in changes_of(firmware):
        changed = change.applied_to(text)
        assert changed is not None and changed != text
        differ = [
            number
            for number, (a, b) in enumerate(zip(text.splitlines(), changed.splitlines(), strict=True), 1)
            if a != b
        ]
        assert differ == [change.line]
        assert (change.function, change.first, change.last) in {("", 1, 14), ("larger", 4, 6), ("shift", 8, 13)}
        assert change.applied_to(text.replace(change.old, "~" * len(change.old))) is None


def test_the_rooms_give_changes_of_all_kinds_with_a_name_each_and_no_refusals(changes):
    assert {change.kind for change in changes} == set(KINDS)
    assert {change.file.split("/")[0] for change in changes} == set(ROOMS)
    assert len({change.name for change in changes}) == len(changes) > 5000
    assert not [change for change in changes if REFUSALS.fullmatch(change.place)]
    assert not [change for change in changes if change.applied_to((FIRMWARE / change.file).read_text()) is None]


@NIGHTLY  # what draws is changed seldom, and all candidates are weighed
def test_a_draw_repeats_itself_hits_every_family_and_no_line_twice(changes):
    weights = Counter(family(change.file) for change in changes)
    order = list(in_order(changes, 5, weights.__getitem__))
    assert (
        order
        == list(in_order(reversed(changes), 5, weights.__getitem__))
        != list(in_order(changes, 6, weights.__getitem__))
    )
    assert {family(change.file) for change in order[: len(weights)]} == set(weights)
    assert len({(change.file, change.line) for change in order}) == len(order)
    kinds = Counter(change.kind for change in order[:120])
    assert set(kinds) == set(KINDS) and max(kinds.values()) <= 3 * min(kinds.values())


@NIGHTLY
def test_a_change_elsewhere_leaves_the_draw_of_the_other_families(changes):
    weights = Counter(family(change.file) for change in changes)
    fewer = [change for change in changes if change.file != "methods/deepzero.c"]
    rest = [
        change
        for change in in_order(changes, 5, weights.__getitem__)
        if family(change.file) != family("methods/deepzero.c")
    ]
    assert list(in_order(fewer, 5, lambda name: weights[name] if name != "methods/deepzero" else 0)) == rest


def test_tests_that_do_not_run_the_function_are_left_out_and_those_of_the_line_come_first():
    change = Change("kernels/a.c", "f", 10, 20, "sign", 12, 0, "+", "-", "x")
    compiled = {"kernels/a.c": {11, 12, 30}}
    tests = {
        "long": Ran(9.0, {"kernels/a.c": {11, 12}}),
        "short": Ran(1.0, {"kernels/a.c": {11}}),
        "other": Ran(0.5, {"kernels/a.c": {30}, "kernels/b.c": {12}}),
    }
    assert Reach(compiled, tests).of(change) == (LINE, ["long", "short"])
    assert Reach(compiled, {"short": tests["short"]}).of(change) == (FUNCTION, ["short"])
    assert Reach(compiled, {"other": tests["other"]}).of(change) == (NONE, [])
    assert Reach({"kernels/a.c": {30}}, tests).of(change) == (UNKNOWN, ["other", "short", "long"])
    of_file = Change("kernels/a.c", "", 1, 40, "constant", 5, 0, "1", "2", "y")
    assert Reach(compiled, tests).of(of_file) == (FUNCTION, ["other", "short", "long"])


def test_a_macro_of_a_source_acts_on_its_file_and_one_of_a_header_on_every_file(changes):
    places = {"kernels/affine8_input_error.c", "formats/affine8.h"}
    found = {each.file: each for each in changes if not each.function and each.file in places}
    assert found["kernels/affine8_input_error.c"].first == 1
    assert found["kernels/affine8_input_error.c"].last > 30
    assert found["formats/affine8.h"].first == found["formats/affine8.h"].last == found["formats/affine8.h"].line


def test_a_change_is_found_by_its_function_and_its_lines_where_its_file_has_another_name():
    def change(file, line, number=""):
        return Change(file, "f", 1, 20, "sign", line, 0, "a", "b", f"{file}, f: a;  ->  b;{number}")

    moved, further = change("kernels/relu.c", 3), change("kernels/relu.c", 5, " (2)")
    other, elsewhere = (
        change("kernels/add.c", 4),
        Change("kernels/add.c", "g", 1, 9, "sign", 8, 0, "a", "b", "kernels/add.c, g: a;  ->  b;"),
    )
    changes = [other, elsewhere, moved, further]
    assert change_named("kernels/add.c, f: a;  ->  b;", changes) is other
    assert change_named("kernels/relu_dsp.c, f: a;  ->  b;", changes) is moved
    assert change_named("kernels/relu_dsp.c, f: a;  ->  b; (2)", changes) is further
    assert change_named("kernels/relu_dsp.c, h: a;  ->  b;", changes) is None
    assert text_of("kernels/relu.h: #define A 1  ->  #define A 2") == "#define A 1  ->  #define A 2"


def test_a_record_is_read_as_it_was_written_and_leaves_the_other_parts(tmp_path):
    file = tmp_path / "mutations.json"
    file.write_text(json.dumps({"commit": "c", "rows": [1]}))
    row = Drawn("n", "kernels/int8", "sign", "a.c:1", "quick", "t", CAUGHT, ("fc1",), "said", LINE, 1, 2, 3.0)
    missed = [
        Drawn("m", "kernels/int8", "sign", "a.c:2", "quick", "", verdict, (), "", NONE, 0, 2, 3.0)
        for verdict in (PASS, NOT_REACHED)
    ]
    campaign = Campaign("stm32h7b3", -1, "c", 7, {"kernels/int8": 3}, rows=[row, *missed])
    write(file, campaign)
    write(file, Campaign("rp2040", -1, "c"))
    write(file, campaign)
    assert read(file, "stm32h7b3", -1) == campaign and read(file, "stm32h7b3", -2) is None
    record = json.loads(file.read_text())
    assert record["commit"] == "c" and record["rows"] == [1] and len(record["drawn"]) == 2
    assert record["drawn"][1]["counts"] == {"fail": 1, "pass": 1, "not reached": 1, "blocked": 0, "equivalent": 0}
    assert campaign.share == 1 / 3


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    need_compiler()
    return built_firmware(tmp_path_factory)


@pytest.fixture(scope="module")
def workshops(tmp_path_factory, built):
    return functools.cache(lambda board: Workshop(tmp_path_factory.mktemp(board), built, board))


@pytest.fixture(scope="module")
def processes(tmp_path_factory, workshops):
    """Return a process of the tests of a board and tier, started once."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    started = []

    @functools.cache
    def process(board, tier):
        started.append(QuickTier(board, tmp_path_factory.mktemp("tests"), workshops(board).unchanged, tier))
        return started[-1]

    yield process
    for each in started:
        each.stop()


def test_a_header_is_compiled_into_all_that_include_it_and_the_next_image_is_whole_again(workshops, changes, tmp_path):
    workshop = workshops(BOARD)
    before = loaded(workshop.unchanged)
    header = next(
        each for each in changes if each.place == "kernels/sums_f32.h, give_error_f32" and each.kind == "sign"
    )
    assert loaded(workshop.build([header], tmp_path / "header.elf")) != before
    assert loaded(workshop.build([], tmp_path / "again.elf")) == before


def test_what_is_not_in_the_image_or_does_not_compile_is_discarded(tmp_path, built, changes):
    source = Source(BOARD, 1, tmp_path, built)
    assert not [change for change in source.changes if change.file == "kernels/dsp_in_c.h"]
    assert {change.file for change in source.changes} >= {"kernels/move_s8.c", "methods/fqt_update.c"}
    assert "kernels/move_s8_m0.c" not in {change.file for change in source.changes if change.function}
    same = next(change for change in changes if change.place.startswith("kernels/move_s8_m0.c, "))
    assert source.build(same, tmp_path / "same.elf") == "same image"
    broken = Change(same.file, "", 1, 1, "sign", 1, 0, "", "#error broken\n", "broken")
    assert source.build(broken, tmp_path / "broken.elf") == "not built"
    with pytest.raises(NotBuilt):
        Workshop(tmp_path / "other", built, "no-such-board")


CAMPAIGNS = [Campaign.from_json(entry) for entry in json.loads(RECORD.read_text()).get("drawn", [])]
CAUGHT_ROWS = [(campaign.board, row) for campaign in CAMPAIGNS for row in campaign.rows if row.caught]
QUICKEST = sorted(CAUGHT_ROWS, key=lambda each: (each[1].tier == "nightly", each[1].seconds))[:GATE]


@pytest.mark.parametrize(
    ("board", "row"),
    [
        pytest.param(
            board, row, id=f"{board}-{row.place}-{row.kind}", marks=() if (board, row) in QUICKEST else NIGHTLY
        )
        for board, row in CAUGHT_ROWS
    ],
)
def test_the_test_that_caught_a_drawn_change_still_catches_it(board, row, workshops, processes, changes, tmp_path):
    workshop = workshops(board)
    change = change_named(row.name, may_be_compiled(changes, compiled_lines(workshop.unchanged)))
    assert change is not None, f"{row.place} is not as it was drawn: run the draw again (docs/defects.md)"
    image = workshop.build([change], tmp_path / "changed.elf")
    process = processes(board, row.tier)
    (ended,) = process.run(image, [row.trial])
    assert process.again(image, ended, 2).verdict == CAUGHT
