"""Tests of a stranger against a foreign firmware on QEMU: their verdicts, what they rest on, record, JUnit and checks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest

from hil.comparison import compare, recorded
from hil.errors import DeviceFault
from hil.history.address import address_of
from hil.history.queries import History
from hil.record.parquet import read_columns
from hil.report import render_single
from hil.summary import summary_of
from tests.foreign import build

BOARD = "mps2-an386"
MINE = r'''
import time

import numpy as np
import pexpect
import pytest


class Reference:
    """The firmware's training in NumPy."""

    def __init__(self):
        self.w = np.zeros((4, 3), np.float32)

    def step(self, index):
        self.w = self.w + np.float32(0.5) * (np.arange(4, dtype=np.float32)[:, None] + np.float32(index + 1))
        return {"loss": self.w.sum(dtype=np.float32)}


class OneUlpOff(Reference):
    def step(self, index):
        loss = super().step(index)["loss"]
        return {"loss": np.nextafter(loss, np.float32(np.inf)) if index else loss}


def loss(dut):
    dut.serial.write(b"t")
    pattern = r"step (?P<step>\d+) loss (?P<loss>\S+)"
    return next(dut.lines(pattern, dtypes={"loss": np.float32}, bits=["loss"]))["loss"]


def test_two_devices(hil_duts):
    devices = hil_duts(2)
    for dut in devices:
        dut.serial.expect("ready 12 parameters")
    assert loss(devices[0]) == loss(devices[1]) != loss(devices[0])  # each trains by itself


def test_one_of_two_devices(hil_duts):
    hil_duts(2)[0].serial.expect("ready")


def test_too_many_words(hil_duts):
    hil_duts("two")


def test_engine(hil_dut, hil_compare, hil_figure, expect_learning):
    hil_dut.serial.expect(r"ready (\d+) parameters")
    run, losses = hil_compare(OneUlpOff(), ulp=2, name="the engine"), []
    for step in range(4):
        losses.append(loss(hil_dut))
        run.step(step, {"loss": losses[-1]})
    expect_learning([1 / each for each in losses for _ in range(3)])
    hil_figure("parameters", int(hil_dut.serial.match is not None) + 11, "1", "counted", budget="at most 20")
    (judgement,) = hil_figure("step_time", 300, "ms", provenance="counted", budget="75 ms")
    assert judgement.verdict == "not judged"  # beyond it, but of a stand-in


def test_own_assertion(hil_dut, record_property):
    record_property("loss", 0.25)
    record_property("note", "no number")
    assert hil_dut.serial.read(5) == b"ready"


def test_own_assertion_fails(hil_dut):
    assert hil_dut.serial.read(5) == b"steady"


def test_nothing(hil_dut):
    pass


def test_differs(hil_dut, hil_compare):
    run = hil_compare(OneUlpOff(), exact=True)
    for step in range(4):
        run.step(step, {"loss": loss(hil_dut)})


def test_swallows(hil_dut, hil_compare):
    run = hil_compare(OneUlpOff(), exact=True)
    try:
        for step in range(4):
            run.step(step, {"loss": loss(hil_dut)})
    except Exception:
        pass


def test_keeps_going(hil_dut, hil_compare):
    run = hil_compare(OneUlpOff(), exact=True, keep_going=True)
    for step in range(4):
        run.step(step, {"loss": loss(hil_dut)})


def test_compares_nothing(hil_dut, hil_compare):
    hil_compare(Reference(), exact=True)
    loss(hil_dut)


def test_an_assertion_goes_before_what_it_left_open(hil_dut, hil_compare):
    run = hil_compare(Reference(), exact=True)
    assert loss(hil_dut) == 3, "mine"


def test_budget_missed(hil_dut, hil_figure):
    loss(hil_dut)
    hil_figure("parameters", 12, provenance="counted", budget="at most 8")
    hil_figure("weights", 48, "B", provenance="counted", budget="1 KiB")


@pytest.mark.budget(parameters="at least 13", sram="1 KiB")
def test_budget_in_the_marker(hil_dut, hil_figure):
    loss(hil_dut)
    hil_figure("parameters", 12, provenance="counted")
    hil_figure("sram", 48, "B", provenance="counted")


@pytest.mark.budget(step_time="75 ms")
def test_budget_without_figure(hil_dut):
    loss(hil_dut)


@pytest.mark.budget(loss="at most 1")
def test_budget_of_a_property(hil_dut, record_property):
    record_property("loss", float(loss(hil_dut)))


def test_unexpected(hil_dut):
    hil_dut.serial.expect("ready 13", timeout=1)


def test_a_timeout_that_the_test_expects(hil_dut):
    hil_dut.serial.expect("parameters\r\n")
    with pytest.raises(pexpect.TIMEOUT):
        hil_dut.serial.expect("anything", timeout=0.5)
    assert hil_dut.serial.expect(["never", pexpect.TIMEOUT], timeout=0.5) == 1


def wait(until):
    ends = time.monotonic() + 30
    while not until() and time.monotonic() < ends:
        time.sleep(0.1)


def crash(dut):
    dut.serial.expect("parameters\r\n")
    dut.serial.write(b"u")
    wait(lambda: dut.probe.look().exception == 3)  # as nobody else looks


def test_faults_after_the_last_words(hil_dut):
    crash(hil_dut)


def test_faults_in_its_second_device(hil_duts):
    for dut in hil_duts(2)[1:]:
        crash(dut)


def test_faults_and_looks(hil_dut):
    crash(hil_dut)
    assert "UNDEFINSTR" in hil_dut.fault()


def test_faults_and_times_out(hil_dut):
    crash(hil_dut)
    with pytest.raises(pexpect.TIMEOUT, match="the processor faulted"):
        hil_dut.serial.expect("step", timeout=0.5)


def test_faults_times_out_and_looks(hil_dut):
    crash(hil_dut)
    with pytest.raises(pexpect.TIMEOUT):
        hil_dut.serial.expect("step", timeout=0.5)
    assert "UNDEFINSTR" in hil_dut.fault()


def test_faults_and_is_reset(hil_dut):
    crash(hil_dut)
    hil_dut.reset()
    loss(hil_dut)


def test_faults_looks_and_is_reset(hil_dut):
    crash(hil_dut)
    assert hil_dut.fault()
    hil_dut.reset()
    loss(hil_dut)


def test_faults_and_is_flashed(hil_dut):
    crash(hil_dut)
    hil_dut.flash()
    loss(hil_dut)


def test_locks_up_after_the_last_words(hil_dut):
    hil_dut.serial.expect("ready")
    hil_dut.serial.write(b"k")
    wait(lambda: hil_dut._taken.chip_fault(hil_dut.image))


def test_is_halted_at_the_end(hil_dut):
    loss(hil_dut)
    hil_dut.halt()


def test_needs_a_meter(hil_dut):
    with hil_dut.energy():
        pass


def test_wrong_request(hil_dut, hil_figure):
    hil_figure("loss", "much")


def test_nan(hil_dut, hil_figure):
    hil_figure("loss", float("nan"))


def test_does_not_learn(hil_dut, expect_learning):
    expect_learning([loss(hil_dut) for _ in range(4)])


@pytest.mark.xfail(reason="the reference is one ulp off")
def test_xfail(hil_dut, hil_compare):
    run = hil_compare(OneUlpOff(), exact=True)
    for step in range(4):
        run.step(step, {"loss": loss(hil_dut)})


def test_no_device(hil_compare, hil_figure):
    hil_compare(Reference(), exact=True).step(0, Reference().step(0))
    hil_figure("weights", 48, "B", provenance="measured")


def test_no_device_budget(hil_figure):
    hil_figure("weights", 48, "B", provenance="measured", budget="1 KiB")


def test_agrees_in_its_fixture(trained, hil_compare):
    run = hil_compare(Reference(), exact=True)
    run.step(0, {"loss": trained})


@pytest.mark.budget(step_time="75 ms")
def test_budget_without_the_rig():
    pass


@pytest.fixture
def trained(request):
    return loss(request.getfixturevalue("hil_dut"))


def test_skips(hil_dut):
    pytest.skip("not today")
'''
PASS = {
    "test_engine", "test_own_assertion", "test_a_timeout_that_the_test_expects", "test_no_device",
    "test_agrees_in_its_fixture", "test_two_devices", "test_one_of_two_devices", "test_faults_and_looks",
    "test_faults_times_out_and_looks", "test_faults_looks_and_is_reset", "test_is_halted_at_the_end",
}  # fmt: skip
OFF = r"step 1, tensor loss: the device has \S+ \(0x\w+\), the reference \S+ \(0x\w+\); 1 of 1 elements differ"
OTHERS = {
    "test_own_assertion_fails": ("fail", r"the test failed: AssertionError: assert b'ready' == b'steady'"),
    "test_nothing": ("skipped", "the test passed, but read nothing from the device, and nothing was compared"),
    "test_differs": ("fail", OFF),
    "test_swallows": ("fail", OFF),
    "test_keeps_going": ("fail", OFF),
    "test_compares_nothing": ("refused", "no step was compared: call step"),
    "test_an_assertion_goes_before_what_it_left_open": ("fail", "the test failed: AssertionError: mine"),
    "test_budget_missed": ("fail", "parameters is 12, but the budget in the test is at most 8."),
    "test_budget_in_the_marker": ("fail", "parameters is 12, but the budget beside the test is at least 13."),
    "test_budget_without_figure": ("refused", "the marker budget has step_time, of which the test gives no figure"),
    "test_budget_of_a_property": ("refused", "no budget judges a number that is only declared; give it by hil_figure"),
    "test_no_device_budget": (
        "refused",
        "weights is declared .the test says measured, but used no device., and a decl",
    ),
    "test_budget_without_the_rig": ("refused", "the marker budget, but gives no figure that it could be for"),
    "test_unexpected": ("fail", "did not print 'ready 13' within 1 s: its last words are 'ready 12 parameters"),
    "test_faults_after_the_last_words": (
        "fail",
        r"HardFault .*UNDEFINSTR.* in train_undefined.*; the test ended without a look at it, call dut.fault",
    ),
    "test_faults_and_times_out": (
        "fail",
        r"HardFault .*UNDEFINSTR.*; the test ended without a look at it, call dut.fault",
    ),
    "test_faults_and_is_reset": (
        "fail",
        r"HardFault .*UNDEFINSTR.*; dut.reset\(\) came without a look at it, call dut.fault",
    ),
    "test_faults_and_is_flashed": (
        "fail",
        r"HardFault .*UNDEFINSTR.*; dut.flash\(\) came without a look at it, call dut.fault",
    ),
    "test_faults_in_its_second_device": ("fail", "device 2: the processor faulted: HardFault"),
    "test_locks_up_after_the_last_words": ("fail", "the emulated core is locked up: .*; the test ended without"),
    "test_needs_a_meter": ("blocked", "stage 'meter': mps2-an386 has no power meter here: qemu has none; measure on"),
    "test_too_many_words": ("refused", "hil_duts was given 'two': say how many devices the test needs"),
    "test_wrong_request": ("refused", "the figure loss is 'much': give one number"),
    "test_nan": ("fail", "the figure loss is nan"),
    "test_does_not_learn": ("fail", "it does not fall"),
    "test_xfail": ("fail", OFF),
    "test_skips": ("skipped", "not today"),
}
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, strange: Callable):
    folder = tmp_path_factory.mktemp("stranger")
    build(folder, BOARD)
    return strange(folder, MINE, f"--board={BOARD}", "--elf=foreign.elf", "-p", "no:randomly")


@pytest.mark.parametrize("name", sorted(PASS))
def test_what_was_compared_or_asserted_passes(done, name):
    assert done.verdict(name) == ("pass", "")


@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_has_its_verdict_and_one_sentence(done, name):
    verdict, words = OTHERS[name]
    assert done.verdict(name)[0] == verdict, done.verdict(name)
    assert re.search(words, done.verdict(name)[1])
    if name != "test_budget_without_the_rig":
        assert (done.entry(name).verdict, done.entry(name).judged) == (verdict, [])


def test_the_entry_says_what_was_judged(done):
    entry = done.entry("test_engine")
    compared, learned, parameters, printed = entry.judged
    assert compared.startswith("comparison the engine: 4 steps, 1 tensor, 4 elements compared: all within ulp=2; 3 ")
    assert (
        learned.startswith("loss from ") and parameters == "parameters is 12, and the budget in the test is at most 20."
    )
    assert printed == f"the device printed what was expected, {entry.matches} times." and entry.matches == 5
    (comparison,) = entry.comparisons
    assert (comparison["steps"], comparison["elements"], comparison["differing"]) == (4, 4, 3)
    assert comparison["worst"][0]["max_ulp"] == 1 and comparison["reference"] == "test_mine.OneUlpOff"
    assert done.entry("test_own_assertion").judged == ["asserted by the test; nothing was compared by the rig."]
    assert done.entry("test_differs").comparisons[0]["first_difference"]["step"] == 1
    assert done.entry("test_needs_a_meter").stage == "meter"


def test_several_devices_are_one_entry(done):
    entry = done.entry("test_two_devices")
    assert (entry.devices, entry.matches, done.entry("test_engine").devices) == (2, 5, 1)
    assert (done.run / entry.folder / "device-2" / "serial.log").is_file()
    (second,) = entry.others
    assert (second["flash"], second["resets"], second["power_cycles"], second["exit_code"]) == ("loaded", 1, 0, None)
    assert second["probe"] == "GDB stub of qemu" and "device 2" in (done.run / entry.folder / "index.html").read_text()


def test_a_device_that_nothing_was_read_from_is_named(done):
    said = "the test read nothing from device 2 of 2."
    assert said in done.entry("test_one_of_two_devices").warnings
    assert said not in done.entry("test_two_devices").warnings


def test_the_entry_says_what_ran(done):
    entry = done.entry("test_engine")
    assert (entry.board, entry.core, entry.reality, entry.flash) == (BOARD, "cortex-m4", "qemu", "loaded")
    assert entry.image is not None and entry.image["file"] == "foreign.elf" and entry.image["own"]
    assert entry.probe == "GDB stub of qemu"  # by which the reset has painted the stack
    own = [each for each in entry.image["compilers"] if each.startswith("GNU C11")]  # others are of libgcc
    assert len(own) == 1 and "-mcpu=cortex-m4" in own[0] and "-Og" in own[0]
    assert entry.received > 50 and entry.resets == 1 and entry.attached is False and entry.wall_s > 0
    folder = done.run / entry.folder
    assert {path.name for path in folder.iterdir()} == {
        "device_test.json", "serial.log", "bench.log", "drift-the_engine.parquet",
        "tensors.npz", "index.html",
    }  # fmt: skip
    assert done.printed("test_engine").startswith(
        "ready 12 parameters\r\n"
    )  # nothing before the first `expect` is lost
    drift = read_columns(folder / "drift-the_engine.parquet", words=("tensor",))
    assert drift["max_ulp"].tolist() == [0, 1, 1, 1] and set(drift["tensor"]) == {"loss"}


def test_figures_keep_the_provenance_that_the_rig_can_stand_for(done):
    figures = {each["name"]: each for each in done.entry("test_engine").figures}
    assert figures["parameters"]["provenance"] == "counted" and figures["parameters"]["budgets"][0]["verdict"] == "pass"
    time = figures["step_time"]
    assert (time["value"], time["unit"], time["provenance"]) == (0.3, "s", "modelled")
    assert time["note"] == "the test says counted, but the device is a stand-in (qemu)"
    assert time["budgets"][0]["verdict"] == "not judged" and "budgets are for silicon" in time["budgets"][0]["sentence"]
    (own,) = done.entry("test_own_assertion").figures  # text of record_property is no figure
    assert (own["name"], own["value"], own["provenance"], own["source"]) == (
        "loss",
        0.25,
        "declared",
        "record_property",
    )
    (bare,) = done.entry("test_no_device").figures
    assert (bare["provenance"], bare["budgets"]) == ("declared", [])
    missed = {each["name"]: each["budgets"][0]["verdict"] for each in done.entry("test_budget_missed").figures}
    assert missed == {"parameters": "fail", "weights": "pass"}


def test_the_tensors_are_a_reference_for_another_run(done):
    run = compare(recorded(done.run / done.entry("test_engine").folder), exact=True)
    losses = recorded(done.run / done.entry("test_differs").folder, steps=1)
    run.step(0, losses.step(0))
    with pytest.raises(DeviceFault, match="only 1 of 4 recorded steps came from the device"):
        run.check()


def test_the_page_shows_comparison_drift_figures_and_log(done):
    entry = done.entry("test_engine")
    page = (done.run / entry.folder / "index.html").read_text()
    assert "<h2>What the verdict rests on</h2>" in page and entry.judged[0] in page
    assert page.count("data-plot=") == 2 and "drift-ulp" in page and "drift-relative" in page
    assert (
        "step_time is 300 ms, modelled; the budget in the test is at most 75 ms, and budgets are for silicon." in page
    )
    assert "No silicon here." in page and 'aria-label="Log serial.log"' in page and "foreign.elf" in page
    bad = (done.run / done.entry("test_differs").folder / "index.html").read_text()
    assert "first difference: step</dt><dd>1</dd>" in bad and "<dt>tensor</dt><dd>loss</dd>" in bad
    overview = (done.run / "index.html").read_text()
    assert f'href="{entry.folder}/index.html"' in overview and "of 38 tests" in overview
    assert "300\u00a0ms<br>" in overview  # step_time, in the column of trials
    assert (done.run / "plotly.js").is_file()
    single = render_single(done.run).read_text()
    assert single.count("What the verdict rests on") == len(PASS)


def test_summary_and_terminal_name_the_device_tests(done):
    summary = summary_of(done.read)
    assert summary.sentence.startswith("Not fine, on stand-ins only") and summary.steps_of_devices > 10
    where = {each.test.rpartition("::")[2].partition("[")[0]: each.where for each in summary.problems}
    assert where["test_differs"] == where["test_budget_missed"] == where["test_unexpected"] == "device"
    assert where["test_own_assertion_fails"] == "test" and where["test_needs_a_meter"] == "rig"
    assert [each.figure for each in summary.budgets] == ["parameters"]
    assert "of them on a device" in done.out and "test of a device" in done.out and "within" in done.out


def test_the_history_has_figures_and_drift(done):
    with History.open(address_of(None, done.run.parent)) as history:
        series = history.series(["figures.parameters", "drift.the engine.loss.max_ulp"])
        verdicts = {each.network.rpartition("::")[2]: each.verdict for each in history.trials()}
    engine = {each.name: each for each in series if each.subject.network == "test_mine.py::test_engine"}
    assert {name: each.values.tolist() for name, each in engine.items()} == {
        "figures.parameters": [12.0], "drift.the engine.loss.max_ulp": [1.0],
    }  # fmt: skip
    subject = engine["figures.parameters"].subject
    assert (subject.board, subject.reality, subject.method) == (BOARD, "qemu", "device test")
    assert verdicts["test_engine"] == "pass" and verdicts["test_differs"] == "fail" and "test_nothing" not in verdicts


def test_junit_has_verdict_reality_steps_and_figures(done):
    properties = done.properties("test_engine")
    assert properties["verdict"] == "pass" and properties["reality"] == "qemu" and properties["steps_compared"] == "4"
    assert properties["figure.step_time"] == "0.3 s (modelled)" and properties["judged.1"].startswith("comparison the")
    assert done.properties("test_own_assertion")["loss"] == "0.25"


def test_the_run_is_whole_agrees_with_itself_and_has_the_right_exit_code(done):
    results = done.results
    assert done.code == 1 and results["run"]["whole"] and results["run"]["missing"] == []
    assert results["trials"] == [] and results["totals"]["trials"]["all"] == 0
    assert len(results["device_tests"]) == results["totals"]["tests"]["all"] - 1 == len(results["tests"]) - 1
    assert "Traceback" not in done.out
