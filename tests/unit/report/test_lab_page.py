"""The lab in words and as a page: every figure with its provenance, names stay text, a phone and a screen reader."""

from __future__ import annotations

import html
import json
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hil.history.health import BoardKey, Health, LastTrial
from hil.history.quarantine import Quarantine
from hil.history.under_way import UnderWay, time_left
from hil.report.lab import LabView, write_lab_page
from hil.report.lab.view import BoardLine, of_board
from hil.report.lab.words import duration_words, flash_words, left_words, run_words

from .chromium import Chromium, find

NOW = datetime(2026, 11, 27, 22, tzinfo=timezone.utc)
EVIL = "<script>alert(1)</script><b>x</b>\x1b[31m"
RUN = UnderWay(
    "20261127T210000Z-12ab", "north", "Linux x86_64 8", "/home/me/reports/20261127T210000Z-12ab",
    NOW - timedelta(hours=1), NOW, False, 3, {"stm32h7b3": 4, "rp2040": 1}, ("stm32h7b3",), 1500.0, 1,
)  # fmt: skip


@dataclass(frozen=True)
class Held:
    board: str
    place: str = ""
    holder: str | None = ""
    waiting: tuple[str, ...] = ()


def line(board: str = "stm32h7b3", place: str = "", bench: str = "north", **fields: object) -> BoardLine:
    fares = Health(
        {bench}, LastTrial("blocked", "flash", "the probe is gone.", NOW - timedelta(days=1), "20261126T210000Z-77aa"), 14,
        310, {"fail": 3, "flash": 12, "bench": 1}, 86400.0 * 12, 41, NOW - timedelta(days=300),
    )  # fmt: skip
    return BoardLine(
        **{
            "bench": "" if place else bench, "board": board, "place": place, "named": True, "holder": "lab-1/jo:trainrig-4711",
            "waiting": ("lab-2/kim:trainrig-99",), "health": fares, "quarantine": None, "runs": (RUN,),
        } | fields
    )  # fmt: skip


def lab(*lines: BoardLine, notes: tuple[str, ...] = ()) -> LabView:
    return LabView(NOW, 14, lines, (RUN,), notes)


def page_of(tmp_path: Path, view: LabView) -> str:
    write_lab_page(view, tmp_path / "lab.html")
    return (tmp_path / "lab.html").read_text()


BROKEN = Quarantine(NOW - timedelta(hours=30), False, "3 trials one after the other were blocked by the rig")


def test_the_page_has_every_figure_and_where_it_is_from(tmp_path: Path) -> None:
    view = lab(line(), line("rp2040", "pico shelf 2", quarantine=BROKEN), notes=("labgrid is away: start it.",))
    page = html.unescape(page_of(tmp_path, view))
    assert "<h1>Lab: 2 boards, 1 in quarantine</h1>" in page
    assert "rp2040 (board pico shelf 2) is in quarantine since 2026-11-26 16:00 UTC" in page
    assert '`hil lab release "pico shelf 2"`' in page and "labgrid is away: start it." in page
    for said in (
        "lab-1/jo:trainrig-4711", "lab-2/kim:trainrig-99", "3 fail, 12 flash, 1 bench of 310", "288 h 0 min",
        "41 since 2026-01-31", "about 25 min, 1 of its tests are new",
    ):  # fmt: skip
        assert said in page, said
    assert page.count('class="tag counted"') == 1 and page.count('class="tag modelled"') == 1


def test_names_stay_text_and_nothing_is_asked_for_or_told_of_this_computer(tmp_path: Path) -> None:
    evil = line(EVIL, EVIL, holder=EVIL, waiting=(EVIL,), quarantine=Quarantine(NOW, True, EVIL))
    page = page_of(tmp_path, lab(evil, notes=(EVIL,)))
    assert "<script" not in page and "<b>x" not in page and "script-src 'none'" in page
    assert "/home/me" not in page and not re.search(r"https?:", page)
    assert "/home/me" not in json.dumps(lab(evil).to_json()), "paths of a computer are nobody else's"


def test_a_lab_without_boards_is_a_page(tmp_path: Path) -> None:
    page = page_of(tmp_path, LabView(NOW, 14, (), (), ()))
    assert "Lab: 0 boards" in page and "No board: rig.toml names none" in page


def test_json_has_times_and_counts(tmp_path: Path) -> None:
    found = json.loads(json.dumps(lab(line(quarantine=BROKEN)).to_json(), allow_nan=False))
    (board,) = found["boards"]
    assert board["quarantine"]["since"] == "2026-11-26T16:00:00+00:00" and board["health"]["programmed"] == 41
    assert board["runs"] == [RUN.run] and found["runs"][0]["left_s"] == 1500.0
    assert found["provenance"]["left_s"] == "modelled" and found["provenance"]["use_s"] == "counted"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"silent": True, "left_s": None, "heard": NOW - timedelta(hours=5)}, "no news since 17:00 UTC"),
        ({"left_s": None}, "not known: no test of it has an earlier night"),
        ({"left_s": 0.0}, "takes longer than on earlier nights"),
        ({"left": {}, "left_s": 0.0}, "all tests ended"),
        ({"unknown": 0, "left_s": 42.0}, "about 42 s"),
    ],
)
def test_the_time_left_in_words(changes: dict[str, object], said: str) -> None:
    run = UnderWay(**{**RUN.__dict__, **changes})
    assert left_words([run], NOW) == said
    assert run_words(run, NOW).endswith(f"left: {said}")


def test_words_of_durations_and_flash_cycles() -> None:
    assert [duration_words(each) for each in (0, 119.4, 120, 3599, 3600, 36000)] == [
        "0 s", "119 s", "2 min", "1 h 0 min", "1 h 0 min", "10 h 0 min",
    ]  # fmt: skip
    assert flash_words(Health()) == "-", "not known is not 0"
    assert flash_words(Health(programmed=0, programmed_since=NOW)) == "0 since 2026-11-27"


def test_who_runs_a_trial_at_a_place_holds_it() -> None:
    key = BoardKey("", "stm32h7b3", "h7")
    fares = {key: Health({"north"})}

    def runs(held: Held | None) -> int:
        return len(of_board(key, "south", held, fares, {}, [RUN]).runs)

    assert runs(Held("stm32h7b3", "h7", "lab-1/jo:trainrig-1")) == 1
    assert runs(Held("stm32h7b3", "h7", "")) == 0, "nobody has acquired it"
    assert runs(None) == 1, "of another lab nothing is known"
    assert len(of_board(BoardKey("north", "rp2040", ""), "north", Held("rp2040"), {}, {}, [RUN]).runs) == 0, (
        "a stand-in"
    )


def test_the_time_left_is_that_of_the_longest_board_or_of_all_workers() -> None:
    """An oracle of its own: tests of one board in a row, and no more workers than there are."""
    left = [("a", "x"), ("b", "x"), ("c", "y"), ("new", "y")]
    before = {("a", "x", "here"): [10.0, 30.0, 20.0], ("b", "x", "there"): [5.0], ("c", "y", "here"): [2.0]}
    typical = 5.0  # the median of 20, 5 and 2
    assert time_left(left, before, "here", 1, 0.0, "xy") == 20 + 5 + 2 + typical
    assert time_left(left, before, "here", 2, 0.0, "xy") == 25.0, "x takes longer than y"
    assert (
        time_left(left, before, "here", 2, 24.0, "xy") == 1.0 and time_left(left, before, "here", 2, 99.0, "xy") == 0.0
    )
    assert time_left(left, before, "here", 2, 0.0, "y") == 32 / 2, "x is a stand-in, whose tests run side by side"
    assert (
        time_left([("new", "y")], before, "here", 1, 0.0, "xy") is None
        and time_left([], before, "here", 1, 0.0, "xy") == 0.0
    )
    own = {("a", "x", "here"): [10.0], ("a", "x", "there"): [1000.0]}
    assert time_left([("a", "x")], own, "here", 1, 0.0, "xy") == 10.0, "the nights of the bench itself come first"


@pytest.mark.tier("nightly")
@pytest.mark.skipif(find() is None, reason="needs Chromium: apt-get install chromium")
@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1280, "light")])
def test_a_browser_shows_it_on_a_phone_and_reads_it_out(tmp_path: Path, width: int, scheme: str) -> None:
    long = "a-holder-with-a-long-name.example.org/someone:trainrig-123456"
    view = lab(
        line(holder=long, waiting=(long, long)), line("rp2040", "pico shelf 2 in the room behind the stairs", quarantine=BROKEN),
        line("nrf52840", bench="south", named=False, holder=None, waiting=(), runs=(), health=Health()), notes=("labgrid is away: start it.",),
    )  # fmt: skip
    page_of(tmp_path, view)
    with Chromium(tmp_path / "profile") as browser, closing(browser.open(tmp_path / "lab.html", width, scheme)) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = "[...document.querySelectorAll('td, th, p, li')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate(cut) == 0
        assert page.faults == [] and len(page.requests) == 1
        nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
        roles = [node["role"]["value"] for node in nodes if not node.get("ignored")]
        assert roles.count("row") == 4 and roles.count("rowheader") == 3 and roles.count("columnheader") == 8
        assert roles.count("heading") == 3 and "status" in roles and "main" in roles
        page.picture(tmp_path / "lab.png")
