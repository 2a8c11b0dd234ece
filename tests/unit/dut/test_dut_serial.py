"""`expect` and `read` over one buffer of a real pyserial port, and what a time-out says came instead."""

from __future__ import annotations

import ast
import os
import pickle
import re
import subprocess
import threading
import time

import pexpect
import pytest

from hil.dut.cases import read_cases
from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import PortGone, Quiet, Unexpected, Unreadable, is_text
from hil.dut.logged_port import TrafficLog
from hil.dut.printed import lines
from hil.dut.record import DutRecord
from hil.errors import Blocked, DeviceFault, RigError
from hil.targets.serial_port import open_serial

RECORD = DutRecord("host", "host", "train", "", True, None)


def test_expect_follows_the_rules_of_pexpect(line):
    line.prints(b"boot v3\r\nready 1234 parameters\r\n")
    assert line.serial.expect([r"error", re.compile(rb"ready (\d+) (?P<what>\w+)"), pexpect.TIMEOUT]) == 1
    assert line.serial.before == b"boot v3\r\n" and line.serial.after == b"ready 1234 parameters"
    assert int(line.serial.match[1]) == 1234 and line.serial.match["what"] == b"parameters"
    line.prints("température 21\n".encode())
    assert line.serial.expect_exact("température") == 0
    assert line.serial.expect([pexpect.TIMEOUT, "never"], timeout=0.05) == 0 and line.serial.after is pexpect.TIMEOUT


def test_read_and_expect_lose_nothing_to_each_other(line):
    line.prints(b"ready\nABCDEFGH")
    line.serial.expect("ready\n")
    assert line.serial.read(3) == b"ABC" and line.serial.read(2) == b"DE"
    line.serial.expect("G")
    assert line.serial.before == b"F" and line.serial.in_waiting == 1 and line.serial.read(10) == b"H"
    line.prints(b"one\ntwo\nthree")
    assert line.serial.readline() == b"one\n" and line.serial.read_until(b"w") == b"tw"
    assert line.serial.readlines() == [b"o\n", b"three"] and line.serial.read_all() == b""
    line.prints(b"12345678")
    assert line.serial.read_until(b"\n", 4) == b"1234"
    buffer = bytearray(4)
    assert line.serial.readinto(buffer) == 4 and buffer == b"5678"
    line.prints(b"left over")
    line.serial.expect("left")
    line.serial.reset_input_buffer()
    assert line.serial.read(1) == b""


def test_every_attribute_of_pyserial_is_there(line):
    assert line.serial.baudrate == 115_200 and line.serial.port.startswith("/dev/")
    line.serial.baudrate = 9600
    assert line.serial.pyserial.baudrate == 9600
    assert line.serial.write(b"hello") == 5 and os.read(line.device, 10) == b"hello"
    with pytest.raises(AttributeError):
        line.serial.baudrat = 1
    with pytest.raises(RigError, match=re.escape("'go' is a str: write b'go'")):
        line.serial.write("go")


def test_the_log_has_all_that_came_and_went(line):
    line.prints(b"ready\nstep \xff")
    line.serial.expect("ready")
    line.serial.write(b"go\n")
    line.serial.read(8)
    entries = [entry.split(" ", 2) for entry in line.log.read_text().splitlines()]
    both = {mark: "".join(ast.literal_eval(data) for _, each, data in entries if each == mark) for mark in "<>"}
    assert both == {"<": "ready\nstep \xff", ">": "go\n"}  # in as many pieces as came
    times = [float(at) for at, *_ in entries]
    assert times == sorted(times)


def test_other_text_is_the_devices_fault(line):
    line.prints(b"ready\nloss 0.25\nstep 1 of 3\n")
    line.serial.expect("ready\n")
    with pytest.raises(
        Unexpected, match=r"did not print 'step 2' within 0\.1 s: its last words are 'loss 0\.25"
    ) as seen:
        line.serial.expect("step 2", timeout=0.1)
    assert isinstance(seen.value, DeviceFault) and isinstance(seen.value, pexpect.TIMEOUT)
    assert not isinstance(seen.value, Blocked)
    line.serial.expect("step 1")  # nothing was lost


@pytest.mark.parametrize("how", ["expect", "lines", "cases"])
@pytest.mark.parametrize("before", [b"", b"ready 1234 parameters\n" * 8])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_bytes_that_are_no_text_are_shown_and_the_devices_fault_once_text_has_come(line, how, before, end):
    """What came as text proves the rate of the port; before that, nobody knows whose rate is wrong."""
    line.prints(before)
    if before:
        line.serial.expect_exact(before)
    line.prints(bytes((0xF8, 0x00, 0x9E, 0xE0, 0x78, 0xFE)) + end)
    with pytest.raises(DeviceFault if before else Unreadable, match=r"f8 00 9e e0 78 fe") as seen:
        if how == "expect":
            line.serial.expect("ready")
        elif how == "lines":
            next(lines(line.serial, "ready"))
        else:
            read_cases(line.serial, RECORD, "unity", timeout=0.2)
    assert isinstance(seen.value, Blocked) == (not before)
    assert before or "if its rate is not 115,200 baud, set `dut.serial.baudrate`" in str(seen.value)
    assert how != "expect" or isinstance(seen.value, pexpect.TIMEOUT)


def test_silence_blames_nobody_unless_the_line_is_a_stand_ins(line):
    with pytest.raises(Quiet, match="printed nothing within 0.2 s: 'ready' was expected on /dev/") as seen:
        line.serial.expect("ready")
    assert isinstance(seen.value, Blocked)
    line.serial._simulated = True
    with pytest.raises(Unexpected, match="printed nothing within 0.2 s instead of 'ready', and the line of a stand-in"):
        line.serial.expect("ready")


def test_what_the_probe_says_decides(line):
    looks: list[bool] = []

    def look(quiet: bool) -> str | None:
        looks.append(quiet)
        return "the firmware hangs in f."

    line.serial._look = look
    with pytest.raises(Unexpected, match="instead of 'x': the firmware hangs in f"):
        line.serial.expect("x")
    line.prints(b"y")
    with pytest.raises(Unexpected, match="its last words are 'y', and the firmware hangs in f"):
        line.serial.expect("x")
    threading.Timer(0.7, lambda: line.prints(b"z")).start()
    with pytest.raises(Unexpected, match="its last words are 'yz'"):
        line.serial.expect("x", timeout=0.9)
    assert looks == [True, True, False]  # silent for most of the time, or not


def test_the_time_in_which_a_stand_in_could_not_run_does_not_count(line):
    lost = iter([0.0, *(0.3 * number for number in range(1, 4)), *[0.9] * 10_000])  # seconds, at each look
    line.serial._lost_s = lambda: next(lost)
    threading.Timer(0.6, lambda: line.prints(b"late")).start()
    assert line.serial.expect("late", timeout=0.2) == 0


def test_the_end_of_a_port_is_an_eof_and_not_the_devices_fault(line):
    line.prints(b"bye")
    line.serial.expect("bye")
    line.unplug()
    assert line.serial.expect(["x", pexpect.EOF]) == 1
    with pytest.raises(PortGone, match="is gone") as seen:
        line.serial.expect("x")
    assert isinstance(seen.value, Blocked) and isinstance(seen.value, pexpect.EOF)
    with pytest.raises(PortGone):
        line.serial.read(1)
    with pytest.raises(PortGone):
        line.serial.write(b"x")


def test_a_pattern_that_is_none_is_refused(line):
    with pytest.raises(RigError, match="no regular expression"):
        line.serial.expect("ready (")


def test_a_port_on_a_network(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = DutSerial(open_serial(f"socket://127.0.0.1:{server.getsockname()[1]}", 115_200), tmp_path / "log")
        connection, _ = server.accept()
        connection.sendall(b"ready 7\nrest")
        port.expect(r"ready (\d+)\n")
        assert int(port.match[1]) == 7 and port.read(4) == b"rest"
        port.write(b"go")
        assert connection.recv(2) == b"go"
        connection.close()
        with pytest.raises(PortGone):
            port.expect("more", timeout=5)
        port.close()


@pytest.mark.parametrize("error", [Unexpected("a"), Unreadable("b"), Quiet("c", True), PortGone("d", "e")])
def test_errors_can_be_sent_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)


def test_text_is_told_from_bytes():
    assert is_text(b"loss 0.5\r\n") and is_text("weiß\n".encode()) and is_text("ß".encode()[1:] + b"abc")
    assert is_text(b"abc" + "€".encode()[:2]) and is_text("€".encode()[1:] + b"abc") and is_text(b"\n")
    assert not is_text(bytes(range(128, 256)) + b"\n") and not is_text(b"\n" + b"\xff" * 9)
    assert not is_text(bytes(range(128, 160))) and not is_text(b"\x00\x01\x02") and not is_text(b"")


def test_without_a_time_out_it_waits_until_it_comes(line):
    line.serial.timeout = None
    threading.Timer(0.5, lambda: line.prints(b"now")).start()
    assert line.serial.read(3) == b"now"


@pytest.mark.parametrize("end", ["", "\\n"])
def test_a_device_that_never_stops_printing_does_not_extend_the_time(line, end):
    child = subprocess.Popen(["sh", "-c", f"while :; do printf 'alive{end}'; done"], stdout=line.device)
    try:
        with pytest.raises(Unexpected, match="did not print 'ready' within 0.3 s: its last words are"):
            line.serial.expect("ready", timeout=0.3)
        line.serial.timeout = 0.3
        assert b"ready" not in line.serial.read_until(b"ready")
    finally:
        child.kill()
        child.wait()


def test_a_log_has_a_limit_and_says_so_once(line, monkeypatch):
    """A device that prints without end must not fill the disk."""
    monkeypatch.setattr("hil.dut.logged_port.LARGEST", 2 << 20)
    log = TrafficLog(line.log.with_name("other.log"))
    for _ in range(3):
        log.note("<", b"blah\n" * 100_000)
    log.close()
    again = TrafficLog(log.path)  # of a board that is used again
    again.note("<", b"more\n")
    again.close()
    written = log.path.read_text()
    assert len(written) < (2 << 20) + 200 and written.count("the log is full (2 MB)") == 1
    assert written.splitlines()[-1].endswith("what follows is not in it") and log.received == 1_500_000


def test_a_pattern_that_looks_ahead_matches_no_more_often_than_bytes_came(line):
    line.prints(b"a")
    for _ in range(3):
        line.serial.expect("(?=a)")
    assert line.serial.matches == line.serial.received == 1


@pytest.mark.parametrize("pattern", ["", ".*", b"$", r"(done)?", re.compile(rb"\s*")])
@pytest.mark.parametrize("printed", [b"", b"done\n"])
def test_a_pattern_that_no_text_matches_judges_nothing(line, pattern, printed):
    line.prints(printed)
    assert line.serial.expect(["never", pattern]) == 1  # as in pexpect
    assert line.serial.matches == 0
    (said,) = line.serial.lines_seen.warnings
    assert said.startswith("dut.serial.expect(") and "judged nothing: expect what the device must print" in said


def test_lines_of_any_content_are_no_match_unless_their_end_is_expected(line):
    line.prints(b"a\nb\n" * 4)
    next(lines(line.serial, ".*", until="end"))
    assert line.serial.matches == 1 and not line.serial.lines_seen.warnings
    next(lines(line.serial, ".*"))
    assert list(lines(line.serial, "", count=2)) == ["a", "b"]
    assert list(lines(line.serial, "a", until="")) == []
    assert line.serial.matches == 1
    said = [each for each in line.serial.lines_seen.warnings if "takes any line, so it has judged nothing" in each]
    assert [each.partition(")")[0] for each in said] == ["dut.lines('.*'", "dut.lines(''", "dut.lines(until=''"]


def test_empty_lines_may_be_what_is_expected(line):
    line.prints(b"a\n\n")
    assert list(lines(line.serial, ".", until="^$", count=1)) == ["a"]
    assert line.serial.matches == 1 and not line.serial.lines_seen.warnings


NO_TIMES = [float("nan"), -2, "2", True, -1.5]


@pytest.mark.parametrize("timeout", NO_TIMES)
def test_a_time_out_is_a_time(line, timeout):
    serial = line.serial
    for ask in (
        lambda: serial.expect("x", timeout=timeout),
        lambda: serial.expect_exact("x", timeout=timeout),
        lambda: lines(serial, "x", timeout=timeout),
        lambda: read_cases(serial, RECORD, "unity", timeout=timeout),
        lambda: setattr(serial, "timeout", timeout),
    ):
        with pytest.raises(RigError, match="timeout is .*: give seconds, at least 0, or None to wait for ever"):
            ask()
    for only in (lambda: read_cases(serial, RECORD, "unity", timeout=-1), lambda: setattr(serial, "timeout", -1)):
        with pytest.raises(RigError, match="timeout is -1: give seconds"):
            only()
    assert serial.timeout == 0.2


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        ([], "expect has an empty list of patterns: give one or more"),
        *((wrong, "expect has the pattern .*: give a str, bytes") for wrong in (12, None, (), ("a", "b"), ["a", 1])),
    ],
)
def test_what_is_no_pattern_is_refused(line, patterns, said):
    for ask in (line.serial.expect, line.serial.expect_exact):
        with pytest.raises(RigError, match=said):
            ask(patterns)


def test_what_is_no_pattern_of_a_line_is_refused(line):
    for how, said in (
        ({"error": ""}, "error='' has a match in every line: give what only a device that failed prints"),
        ({"error": ".*"}, "has a match in every line"),
        ({"until": "", "count": 1}, "until='' has a match in every line, so that no line is before it"),
        ({"until": 12}, "the pattern of a line is 12: give a regular expression in a str"),
        ({"error": b"x"}, "the pattern of a line is b'x'"),
    ):
        with pytest.raises(RigError, match=said):
            lines(line.serial, "x", **how)
    for wrong in (12, None, b"x", re.compile(b"x"), ()):
        with pytest.raises(RigError, match="the pattern of a line is"):
            lines(line.serial, wrong)


def test_a_time_out_ends_while_the_time_of_the_test_is_stopped(line, monkeypatch):
    looks = iter(range(1000))  # a clock that stands: a wait by it never ends
    for name in ("monotonic", "time", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: float(next(looks) * 0))
    line.prints(b"ready\n")
    with pytest.raises(Unexpected, match="within 0.1 s"):
        line.serial.expect("never", timeout=0.1)
    assert line.serial.read(100) == b"ready\n"
