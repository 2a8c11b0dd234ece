"""Tests of a stranger on a command as a board: verdicts, record, page, summary, and the same test on QEMU."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.report import render_single
from hil.summary import summary_of
from tests.foreign import build

HOST = """
import os, struct, sys
print("ready 12 parameters", flush=True)
weights = [0.0] * 12
for index in range(1, 1000):
    word = os.read(0, 1)
    if word == b"x":
        sys.exit("Assertion failed: loss")
    if word in (b"", b"e"):
        break
    loss = 0.0
    for row in range(4):
        for column in range(3):
            weights[3 * row + column] += 0.5 * (row + index)
    loss = sum(weights)
    print(f"step {index} loss 0x{struct.unpack('<I', struct.pack('<f', loss))[0]:08x}", flush=True)
"""
MINE = """
import json

import numpy as np
import pytest
from hil.comparison import recorded

LINE = r"step (?P<step>\\d+) loss (?P<loss>\\S+)"


class Reference:
    def __init__(self):
        self.w = np.zeros((4, 3), np.float32)

    def step(self, index):
        self.w = self.w + np.float32(0.5) * (np.arange(4, dtype=np.float32)[:, None] + np.float32(index + 1))
        return {"loss": self.w.sum(dtype=np.float32)}


def test_engine(hil_dut, hil_compare, hil_figure):
    hil_dut.serial.expect(r"ready (\\d+) parameters")
    run = hil_compare(Reference(), exact=True)
    for step in range(4):
        hil_dut.serial.write(b"t")
        run.step(step, {"loss": next(hil_dut.lines(LINE, dtypes={"loss": np.float32}, bits=["loss"]))["loss"]})
    hil_figure("step_time", 3, "ms", provenance="measured", budget="5 ms")


def test_ends_well(hil_dut):
    hil_dut.serial.write(b"e")
    assert hil_dut.wait() == 0


def test_ends_badly(hil_dut):
    hil_dut.serial.write(b"x")
    while hil_dut.record.exit_code is None and hil_dut.failed() is None:
        pass


def test_nothing(hil_dut):
    pass


def test_ends_between_lines(hil_dut):
    hil_dut.serial.write(b"te")
    assert next(hil_dut.lines(LINE))["step"] == 1
    next(hil_dut.lines(LINE))


def test_loop_ends_early(hil_dut):
    hil_dut.serial.write(b"tte")
    for line in hil_dut.lines(LINE):
        assert line["loss"]


def test_loop_ends_early_with_count(hil_dut):
    hil_dut.serial.write(b"tte")
    for line in hil_dut.lines(LINE, count=3):
        assert line["loss"]


def test_type_error(hil_dut):
    hil_dut.serial.expect("ready") + "x"


def test_error_elsewhere(hil_dut):
    json.loads(3)


@pytest.mark.budget(loss="at most 1")
def test_budget_of_a_declared_figure(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("loss", 0.5)


def test_rig_budget_of_a_declared_figure(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("accuracy", 0.5)


def test_no_budget(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    try:
        hil_figure("loss", 0.5, provenance="counted", budget=[])
    except Exception:
        pass


def test_symbols(hil_dut):
    hil_dut.read("weights")
"""
RIG = """
[[board]]
name = "host"
reality = "host"
run = ["{python}", "-u", "{{elf}}"]
elf = "train.py"
budgets = {{ accuracy = "65 %" }}

[[board]]
name = "broken"
reality = "simulator"
run = ["./not-built"]
"""


@pytest.fixture(scope="module")
def done(strange: Callable, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("host")
    (folder / "train.py").write_text(HOST)
    (folder / "rig.toml").write_text(RIG.format(python=sys.executable))
    return strange(folder, MINE, "--board=host")


@pytest.mark.parametrize(
    ("test", "verdict", "reason"),
    [
        ("test_engine", "pass", ""),
        ("test_ends_well", "pass", ""),
        ("test_ends_badly", "fail", "the command ended with exit code 1; the last lines.*'Assertion failed: loss'"),
        ("test_nothing", "skipped", ""),
        ("test_ends_between_lines", "fail", "^the command ended with exit code 0 and did not print a line with"),
        ("test_loop_ends_early", "pass", ""),
        ("test_loop_ends_early_with_count", "fail", "printed 2 of 3 lines with .* the command ended with exit code 0"),
        ("test_type_error", "fail", "^the test itself is wrong: TypeError: unsupported operand"),
        ("test_error_elsewhere", "fail", "^the test failed: TypeError: the JSON object"),
        (
            "test_budget_of_a_declared_figure",
            "refused",
            "the budget beside the test of loss judges nothing: loss is dec",
        ),
        ("test_rig_budget_of_a_declared_figure", "pass", ""),
        ("test_no_budget", "refused", "the budget in the test of loss is empty"),
        ("test_symbols", "blocked", "host has no debug probe here: a command has none"),
    ],
)
def test_verdicts(done, test: str, verdict: str, reason: str) -> None:
    said, why = done.verdict(test)
    assert said == verdict, done.out
    assert re.search(reason, why)


def test_the_record_says_that_it_is_a_command_and_no_hardware(done) -> None:
    entry = done.entry("test_engine")
    assert (entry.reality, entry.attached, entry.core, entry.clock_hz, entry.baud) == ("host", False, None, None, None)
    assert entry.command == [sys.executable, "-u", "{elf}"]
    assert (entry.image["file"], entry.flash, entry.verified) == ("train.py", "loaded", None)
    (figure,) = entry.figures
    assert figure["provenance"] == "modelled" and "a stand-in (host)" in figure["note"]
    assert figure["budgets"][0]["verdict"] == "not judged"
    assert done.entry("test_ends_well").judged == ["the test read how the command ended: exit code 0."]
    assert done.entry("test_ends_badly").exit_code == 1
    assert done.properties("test_engine")["reality"] == "host"


def test_what_is_not_judged_is_a_warning_on_page_and_terminal(done) -> None:
    for test, said in (
        ("test_loop_ends_early", "printed 2 lines with .*, until the command ended with exit code 0: with `count`"),
        (
            "test_rig_budget_of_a_declared_figure",
            "the budget of host in rig.toml of accuracy judges nothing: accuracy is decl",
        ),
    ):
        (warning,) = done.entry(test).warnings
        assert re.search(said, warning)
        assert f"warning: test_mine.py::{test}[host]: {warning}" in done.out
        page = (done.run / done.entry(test).folder / "index.html").read_text()
        assert warning in html.unescape(page)
    assert done.entry("test_loop_ends_early_with_count").warnings == []
    where = {each.test.partition("::")[2].partition("[")[0]: each.where for each in summary_of(done.read).problems}
    assert where["test_type_error"] == "test" and where["test_ends_between_lines"] == "device"


def test_page_and_summary_say_so_too(done) -> None:
    page = render_single(done.run).read_text(encoding="utf-8")
    assert "The test ran on: host, a command of rig.toml." in page and "No silicon here." in page
    assert "Assertion failed: loss" in page
    assert [(place.board, place.reality) for place in summary_of(done.read).places] == [("host", "host")]
    assert "trainrig: host, a command (host): no figure below was measured on silicon" in done.out


def test_a_command_that_is_not_there_blocks(strange: Callable, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HOST)
    (tmp_path / "rig.toml").write_text(RIG.format(python=sys.executable))
    found = strange(tmp_path, "def test_it(hil_dut):\n    pass\n", "--board=broken")
    assert found.verdict("test_it")[0] == "blocked" and "'./not-built' of `run`" in found.verdict("test_it")[1]


def test_the_same_test_runs_on_the_host_and_on_qemu(strange: Callable, tmp_path: Path, capsys) -> None:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")
    build(tmp_path, "mps2-an386", name="mine.elf")
    (tmp_path / "train.py").write_text(HOST)
    (tmp_path / "rig.toml").write_text(
        RIG.format(python=sys.executable)
        + '\n[[board]]\nname = "mps2-an386"\nreality = "simulator"\nelf = "mine.elf"\nrun = ["qemu-system-arm", "-M", '
        '"mps2-an386", "-nographic", "-monitor", "none", "-serial", "stdio", "-icount", "shift=5", "-kernel", "{elf}"]\n'
    )
    found = strange(tmp_path, MINE.partition("def test_ends_well")[0], "--board=host", "--board=mps2-an386")
    assert found.code == 0, found.out
    entries = found.read.device_tests
    assert [(each.board, each.reality, each.verdict) for each in entries] == [
        ("host", "host", "pass"), ("mps2-an386", "simulator", "pass"),
    ]  # fmt: skip
    folders = [found.run / each.folder for each in entries]
    assert main(["compare", *map(str, folders), "--page", str(tmp_path / "page.html")]) == 0
    said = plain(capsys.readouterr().out)
    assert "test_mine.py::test_engine on host / test_mine.py::test_engine on mps2-an386" in said
    assert "reality host simulator" in said and "image train.py mine.elf" in said
    assert "Tensors: all 4 steps are bit for bit equal." in said and "loss 4 4 0 0 0 0" in said
    page = plain(re.sub("<[^>]*>", " ", (tmp_path / "page.html").read_text()))
    assert "all 4 steps are bit for bit equal." in page
    assert main(["compare", "board=host", "board=mps2-an386", "--in", str(found.run), "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert [row["path"] for row in pair["figures"]] == ["steps_compared", "figures.step_time"]
    assert pair["tensors"]["rows"] == [
        {"tensor": "loss", "steps": 4, "elements": 4, "differing": 0, "max_ulp": 0, "max_relative": 0, "max_abs": 0}
    ]
    for form in ("markdown", "latex", "csv"):
        assert main(["compare", *map(str, folders), "--format", form]) == 0
        assert "loss" in capsys.readouterr().out


def plain(text: str) -> str:
    return " ".join(text.split())
