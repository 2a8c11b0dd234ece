"""Numbers that users write: what Python reads beyond them is refused, everywhere."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from hil.commands import measure_arguments
from hil.commands.main import main as hil
from hil.errors import RigError
from hil.number_text import number, whole_number
from hil.quantity import parse_quantity
from hil.session.options import _share
from hil.standins.virtual.inject import parse_injection
from hil.training.commands import campaign_arguments
from hil.training.experiments.options import _rates


@pytest.mark.parametrize("text", ["0_02", "1_0.5", "1e1_0", "\u0661", "\uff11", "", "one"])
def test_what_is_no_number(text: str) -> None:
    for read in (number, whole_number):
        with pytest.raises(ValueError):
            read(text)


def test_what_is_a_number() -> None:
    assert number(" -1.5e-3") == -0.0015 and whole_number("012") == 12 and whole_number("0x10", 0) == 16


@pytest.mark.parametrize(
    "read", [measure_arguments.positive, measure_arguments.share, measure_arguments.celsius, _share]
)
def test_options_of_meters_and_budgets(read: object) -> None:
    with pytest.raises((ValueError, argparse.ArgumentTypeError)):
        read("0_02")  # type: ignore[operator]


def test_options_of_a_campaign() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    campaign_arguments.add_trial(parser, ["steps"])
    assert parser.parse_args(["--steps", "20"]).steps == 20
    with pytest.raises(argparse.ArgumentError, match="1_0"):
        parser.parse_args(["--steps", "1_0"])


@pytest.mark.parametrize(
    ("read", "text"), [(_rates, "0_1,0.2"), (parse_quantity, "2_56 KiB"), (parse_injection, "uart_rx_flip:1_0:1")]
)
def test_texts_with_several_numbers(read: object, text: str) -> None:
    with pytest.raises(RigError, match=re.escape(text.partition(",")[0][:4])):
        read(text)  # type: ignore[operator]


@pytest.mark.parametrize("option", [["--accuracy", "0_1"], ["--accuracy", "0.1,0_1"]])
def test_an_accuracy(tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("time,power\n0,1.0\n1,1.0\n")
    assert hil(["measure", "--csv", str(tmp_path / "a.csv"), "--out", str(tmp_path / "out"), *option]) == 2
    assert "is not an accuracy" in capsys.readouterr().err


def test_no_room_reads_the_text_of_a_user_by_itself() -> None:
    """argparse's own `int` and `float` would read 0_02 as 2."""
    hil_folder = Path(__file__).parents[2] / "hil"
    own = [path for path in hil_folder.rglob("*.py") if re.search(r"type=(int|float)\b", path.read_text("utf-8"))]
    assert [path.relative_to(hil_folder).as_posix() for path in own] == ["standins/renode/server.py"]  # of its parent
