"""Lines that a device prints, as values: numbers of C's printf, counts, and lines that are cut off."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.dut import dut_serial
from hil.dut.dut_serial import DutSerial
from hil.dut.expectations import Quiet, Unexpected
from hil.dut.printed import Incomplete, lines
from hil.dut.printed_values import value_of
from hil.errors import Blocked, DeviceFault, RigError

STEP = r"step (?P<step>\d+) loss (?P<loss>\S+)"


@pytest.mark.parametrize(("text", "value"), [
    ("12", 12), ("-7", -7), ("0xff", 255), ("1.5", 1.5), ("-2.5e-3", -0.0025), (".5", 0.5), ("3.", 3.0), ("1e3", 1000.0),
    ("0x1.8p+1", 3.0), ("-0x1p-149", -(2.0**-149)), ("inf", math.inf), ("-inf", -math.inf), ("Infinity", math.inf),
    ("hello", "hello"), ("1.2.3", "1.2.3"), ("", ""), ("0x", "0x"), ("0x1p99999", "0x1p99999"),
])  # fmt: skip
def test_a_text_says_a_number(text, value):
    found = value_of(text)
    assert found == value and type(found) is type(value)


def test_nan_keeps_its_sign():
    assert math.isnan(value_of("nan")) and math.copysign(1, value_of("-nan")) == -1 and math.isnan(value_of("NaN(0x1)"))


def test_dtypes_and_bits():
    assert value_of("0.1", np.float32) == np.float32(0.1) and type(value_of("1", np.float32)) is np.float32
    assert value_of("0x40490fdb", np.float32, as_bits=True) == np.float32(np.pi)
    assert value_of("40490fdb", np.float32, as_bits=True) == np.float32(np.pi)
    assert value_of("0x3ff0000000000000", np.float64, as_bits=True) == 1.0
    np.testing.assert_array_equal(value_of("[1.5, -2 nan]"), [1.5, -2.0, math.nan])
    ints = value_of("1 2 3", np.int8)
    assert ints.dtype == np.int8 and ints.tolist() == [1, 2, 3]
    for text, dtype in (("300", np.uint8), ("-1", np.uint8), ("1.5", np.int32), ("x", np.float32)):
        with pytest.raises(RigError, match="is no number of"):
            value_of(text, dtype)
    for text in ("nan", "-inf", "1.5", "x"):
        with pytest.raises(RigError, match="no number of int32"):
            value_of(text, np.int32, as_bits=True)


@pytest.mark.parametrize("count", [-1, True, 1.5, "3"])
def test_a_count_is_a_number_of_lines(count):
    with pytest.raises(RigError, match="count is .*: give the number of lines, or leave it out"):
        list(lines(None, STEP, count))


def test_bits_that_are_not_finite_may_be_words():
    assert math.isnan(value_of("nan", np.float32, as_bits=True))
    assert math.copysign(1, value_of("-nan", np.float64, as_bits=True)) == -1
    found = value_of("0x3f800000 -inf inf", np.float32, as_bits=True)
    assert found.dtype == np.float32 and found.tolist() == [1, -math.inf, math.inf]


@pytest.mark.parametrize("text", ["0x3ff00000", "0x3ff0", "0x3ff00000000000001", "0x0", "0x3ff0000000000000 0x3ff0"])
def test_bits_that_are_cut_off_are_no_value(text):
    """0x3ff0 is the begin of 1.0 in float64, and as a whole number 8e-320."""
    with pytest.raises(RigError, match="hexadecimal digits, and the bits of float64 have 16"):
        value_of(text, np.float64, as_bits=True)


@pytest.mark.parametrize(("line_", "bits"), [("step 2 loss 0x3f8", ["loss"]), ("step 2 loss 0x3f800000##", ["loss"]),
                                             ("step 2 loss 0.5xyz", [])])  # fmt: skip
def test_what_was_a_number_before_and_is_none_now_is_the_device(line, line_, bits):
    good = b"step 0 loss 0x40000000\n" if bits else b"step 0 loss 0.5\n"
    ask = lambda: next(lines(line.serial, STEP, dtypes={"loss": np.float32}, bits=bits))  # noqa: E731
    line.prints(line_.encode() + b"\n")
    with pytest.raises(RigError, match=r"correct the pattern or its dtype|or correct its dtype") as seen:
        ask()
    assert type(seen.value) is RigError  # nobody can tell who is wrong
    line.prints(good + line_.encode() + b"\n")
    ask()
    with pytest.raises(DeviceFault, match="loss in the line .*, although it was a number in 1 line before: the device"):
        ask()
    line.prints(line_.encode() + b"\n")
    with pytest.raises(RigError, match="correct") as other:  # another dtype was never right
        next(lines(line.serial, STEP, dtypes={"loss": np.float64}, bits=bits))
    assert type(other.value) is RigError


def test_lines_without_end_do_not_extend_the_time_out(line):
    """The time-out is for the next line that is expected, whatever else comes."""
    ended = threading.Event()

    def blah():
        while not ended.is_set():
            os.write(line.device, b"blah blah\n")

    device = threading.Thread(target=blah, daemon=True)
    device.start()
    try:
        for how in ({}, {"count": 3}, {"until": "done"}):
            with pytest.raises(Unexpected, match=r"did not print a line with .* its last words are .*blah") as seen:
                next(lines(line.serial, STEP, **how))
            assert "cut off" not in str(seen.value)
    finally:
        ended.set()
        while device.is_alive():
            line.serial.read_all()
            device.join(0.01)


def test_the_time_out_begins_anew_after_each_line(line, monkeypatch):
    """Not after lines that were passed over; what the test does between two lines does not count."""
    begun, begin = [], DutSerial.deadline
    monkeypatch.setattr(DutSerial, "deadline", lambda self, seconds: begun.append(seconds) or begin(self, seconds))
    line.prints(b"".join(b"noise\nstep %d loss 1\nnoise\n" % index for index in range(5)))
    for index, _ in enumerate(lines(line.serial, STEP, 5, timeout=7), 1):
        assert begun == [7] * index


def test_lines_of_calls_before_are_said(line):
    line.prints(b"step 0 loss 1\nstep 1 loss 2\nstep 2 lo")
    for _ in range(2):
        next(lines(line.serial, STEP))
    with pytest.raises(Incomplete, match="printed 0 lines with .*, after 2 before, and the last line is cut off"):
        next(lines(line.serial, STEP))


def test_lines_give_the_values_of_their_groups(line):
    line.prints(b"boot\r\nstep 0 loss 2.5\r\nnoise\nstep 1 loss nan\nstep 2 loss 0x1.8p+1\n")
    found = list(lines(line.serial, STEP, 3))
    assert [each["step"] for each in found] == [0, 1, 2]
    assert found[0]["loss"] == 2.5 and math.isnan(found[1]["loss"]) and found[2]["loss"] == 3.0
    line.prints(b"step 3 loss 0x3f800000\nw 1 2 3\n")
    one = next(lines(line.serial, STEP, dtypes={"loss": np.float32}, bits=["loss"]))
    assert one == {"step": 3, "loss": np.float32(1)} and one["loss"].dtype == np.float32
    assert next(lines(line.serial, r"w (?P<w>.*)", dtypes={"w": np.float32}))["w"].tolist() == [1, 2, 3]


def test_lines_without_groups_are_text_and_leave_what_follows(line):
    line.prints(b"ok 1\nok 2\nnext")
    assert list(lines(line.serial, "^ok", 2)) == ["ok 1", "ok 2"] and line.serial.read(4) == b"next"


def test_a_line_that_is_cut_off_fails(line):
    line.prints(b"step 0 loss 2.5\nstep 1 loss 0.1")  # ...234
    with pytest.raises(
        Incomplete, match=r"printed 1 of 2 lines .*the last line is cut off: 'step 1 loss 0\.1'"
    ) as seen:
        list(lines(line.serial, STEP, 2))
    assert isinstance(seen.value, DeviceFault)


def test_a_missing_line_fails(line):
    line.prints(b"step 0 loss 2.5\ndone\n")
    with pytest.raises(Incomplete, match="printed 1 of 2 lines with .* before 'done'"):
        list(lines(line.serial, STEP, 2, until="done"))
    line.prints(b"step 0 loss 2.5\n")
    line.serial._simulated = True
    with pytest.raises(Unexpected, match="printed nothing within .* instead of a line with 'step .* after 1 of 2 such"):
        list(lines(line.serial, STEP, 2))


def test_a_line_too_many_fails_where_the_end_is_known(line):
    line.prints(b"step 0 loss 1\nstep 1 loss 2\ndone\n")
    with pytest.raises(Incomplete, match="more than 1 lines"):
        list(lines(line.serial, STEP, 1, until="done"))
    line.prints(b"step 0 loss 1\nbye\ndone\nrest\n")
    line.serial.expect("done\n")
    assert len(list(lines(line.serial, STEP, 1, until="done"))) == 1 and line.serial.readline() == b"rest\n"


def test_the_number_of_lines_need_not_be_known(line):
    line.prints(b"step 0 loss 1\nstep 1 loss 2\ndone\n")
    assert len(list(lines(line.serial, STEP, until="^done$"))) == 2


@pytest.mark.parametrize(("pattern", "options", "words"), [
    (r"step (\d+)", {}, "has no name: write"),
    (r"step (?P<a>\d+)", {"dtypes": {"b": np.float32}}, "has no group 'b'"),
    (r"step (?P<a>\d+)", {"bits": ["a"]}, "the bits of 'a' are of a dtype"),
    (r"step (", {}, "no regular expression"),
])  # fmt: skip
def test_a_wrong_request_is_refused(line, pattern, options, words):
    with pytest.raises(RigError, match=words):
        next(lines(line.serial, pattern, **options))


def test_a_time_out_says_what_was_expected_how_many_came_and_the_last_lines(line):
    """Lines that were passed over are what the device printed instead, as with `expect`: no fault of the rig."""
    line.prints(b"boot\nstep 0 loss 2.5\nstep 1 loss 2.25\nERROR: out of memory\n")
    with pytest.raises(Unexpected) as seen:
        list(lines(line.serial, STEP, 100))
    said = str(seen.value)
    assert repr(STEP) in said and "after 2 of 100 such lines within 0.2 s" in said and "[^" not in said
    assert "its last words are 'ERROR: out of memory\\n'" in said and "step 1" not in said
    with pytest.raises(Quiet, match="a line with 'x' after 2 matches of other calls was expected"):
        next(lines(line.serial, "x"))
    line.prints(b"step 0 loss 2.5\nlow battery\ndone\n")
    with pytest.raises(Incomplete, match=r"1 of 2 lines with .* before 'done'; its last words are 'low battery\\ndone"):
        list(lines(line.serial, STEP, 2, until="done"))


def test_a_line_that_says_so_fails_at_once(line):
    line.serial.timeout = 600  # it does not wait
    line.prints(b"step 0 loss 2.5\nstep 1 loss nan\n")
    with pytest.raises(
        Incomplete, match="printed 1 of 100 lines with .* and then 'step 1 loss nan', which says that it"
    ):
        list(lines(line.serial, STEP, 100, error="ERROR|nan"))
    line.prints(b"step 0 loss 2.5\nERROR: 7\ndone\n")
    with pytest.raises(Incomplete, match="'ERROR: 7'"):
        list(lines(line.serial, STEP, 1, until="done", error="ERROR|nan"))
    with pytest.raises(RigError, match="no regular expression"):
        next(lines(line.serial, STEP, error="("))


def test_a_line_that_comes_in_pieces_is_searched_once(tmp_path):
    """The time grows with the length of a line: each byte that comes is looked at a few times, in whatever pieces."""
    text = b"w " + b"0.123456 " * 4000 + b"\n"

    class Port:
        port, baudrate, at = "x", 115_200, 0

        @property
        def in_waiting(self):
            return 16

        def read(self, size):
            data = text[self.at : self.at + size]
            self.at += len(data)
            return data

        def close(self):
            pass

    class Data(bytearray):
        looked = 0

        def find(self, what, begin=0):
            Data.looked += len(self) - begin
            return super().find(what, begin)

    patched = pytest.MonkeyPatch()
    patched.setattr(dut_serial, "bytearray", Data, raising=False)
    with patched.context():
        serial = DutSerial(Port())
        (one,) = lines(serial, r"w (?P<w>.*)", 1, dtypes={"w": np.float32})
    patched.undo()
    assert one["w"].shape == (4000,) and Data.looked <= 2 * len(text)


@given(st.lists(st.floats(allow_nan=False, width=64) | st.integers(-(10**20), 10**20), min_size=2, max_size=9),
       st.sampled_from([", ", " ", "; ", "\t"]), st.sampled_from([np.float32, np.float64]))  # fmt: skip
def test_a_list_of_decimals_is_what_each_of_them_is(numbers, between, dtype):
    """The fast way for lists gives the same bits as one number at a time, and refuses what that does."""
    text = f"[{between.join(map(str, numbers))} ]"
    with np.errstate(over="ignore"):
        if (np.isinf(np.array(numbers, dtype)) & np.isfinite(np.array(numbers, np.float64))).any():
            with pytest.raises(RigError, match=f"is beyond {np.dtype(dtype).name}: correct its dtype"):
                value_of(text, dtype)
            return
        found = value_of(text, dtype)
        each = np.array([value_of(str(one), dtype) for one in numbers])
    assert found.dtype == dtype and found.tobytes() == each.tobytes()


@pytest.mark.parametrize(("text", "dtype"), [
    ("70000", np.float16), ("65520", np.float16), ("1e39", np.float32), ("-1e39", np.float32), ("0x1p200", np.float32),
    ("9" * 400, np.float64), ("1 2 70000", np.float16), ("inf 1e39", np.float32), ("1 70000 nan", np.float16),
])  # fmt: skip
def test_a_finite_number_is_never_infinite(text, dtype):
    with pytest.raises(RigError, match="is beyond float.*: correct its dtype"):
        value_of(text, dtype)


def test_what_is_infinite_or_near_the_end_is_taken():
    assert value_of("65519", np.float16) == 65504 and value_of("-inf", np.float16) == -math.inf
    assert value_of("inf 3 -Infinity", np.float16).tolist() == [math.inf, 3, -math.inf]
    assert value_of("1e999") == "1e999" and value_of("9" * 5000) == "9" * 5000
    for text in ("1e999", "9" * 5000):
        with pytest.raises(RigError, match="is no number of float64"):
            value_of(text, np.float64)


@pytest.mark.parametrize("text", ["2", "-7", "255", "1.0", "0.5", "yes", "nan", "-1", "1 2", "0x55"])
def test_a_bool_is_0_or_1_true_or_false(text):
    with pytest.raises(RigError, match="is no number of bool"):
        value_of(text, np.bool_)
    for good, flag in (("0", False), ("1", True), ("true", True), ("FALSE", False)):
        found = value_of(good, np.bool_)
        assert found == flag and isinstance(found, np.bool_)
    assert value_of("1 0 true", np.bool_).tolist() == [True, False, True]
    assert value_of("00 01", np.bool_, as_bits=True).tolist() == [False, True]
    with pytest.raises(RigError, match="is no number of bool"):
        value_of("0x55", np.bool_, as_bits=True)


@pytest.mark.parametrize(("dtype", "words"), [
    ("bfloat16", "'bfloat16' is no dtype: give one of NumPy"), (3, "is no dtype"), (object, "has no bytes in memory"),
])  # fmt: skip
def test_a_dtype_that_numpy_does_not_know_is_refused(line, dtype, words):
    with pytest.raises(RigError, match=words):
        lines(line.serial, STEP, dtypes={"loss": dtype})


@pytest.mark.parametrize("rate", [-5, 0, True, "fast", 9600.5, None])
def test_a_rate_is_a_whole_number(line, rate):
    with pytest.raises(RigError, match="the serial port has no rate of .*: give a whole number, such as 115200"):
        line.serial.baudrate = rate
    assert line.serial.baudrate == 115_200
    with pytest.raises(RigError, match="the serial port takes no bytesize 99 .*: correct it"):
        line.serial.bytesize = 99


@pytest.mark.parametrize("full", [True, False])
def test_a_full_disk_is_no_error_of_the_port(line, tmp_path, full):
    """/dev/full takes no byte; the folder of the other is not there."""
    log = Path("/dev/full") if full else tmp_path / "gone" / "serial.log"

    def use():
        serial = DutSerial(line.serial.pyserial, log)
        line.prints(b"ready\n")
        serial.expect("ready")

    with pytest.raises(Blocked, match=f"{log} cannot be written .*: check the space and the permissions") as seen:
        use()
    assert seen.value.stage == "record"


@pytest.mark.parametrize("text", ["1 2 3 x", "12345 " * 500 + "x", "1.5 2..5", "1_0 2", "1 2 0x", "1 2 3 -", "1,,2 e5"])
def test_a_list_with_something_else_is_none(text):
    with pytest.raises(RigError, match="is no number of float32"):
        value_of(text, np.float32)


def test_a_loop_that_is_left_before_its_count_is_a_warning(line):
    line.prints(b"step 1\nstep 2\nstep 3\nend\n" * 2)
    for found in lines(line.serial, r"step \d", count=3):
        if found == "step 2":
            break
    (said,) = line.serial.lines_seen.warnings
    assert said.startswith(r"the test has taken 2 of 3 lines with 'step \\d' and left its loop over dut.lines")
    next(lines(line.serial, "end", count=1))  # it has its one line
    lines(line.serial, "step", count=7)  # nobody has begun the loop
    assert len(list(lines(line.serial, "st", count=3, until="end"))) == 3
    with pytest.raises((Unexpected, Quiet)):
        list(lines(line.serial, "never", count=3))  # the error has said it
    assert [each.partition(" and left")[0] for each in line.serial.lines_seen.warnings] == [
        r"the test has taken 2 of 3 lines with 'step \\d'",
        "the test has taken 0 of 7 lines with 'step'",
    ]


def test_a_loop_that_is_left_before_the_last_line_is_a_warning(line):
    line.prints(b"step 1\nstep 2\nend\n")
    assert next(lines(line.serial, "step", count=1, until="end")) == "step 1"
    (said,) = line.serial.lines_seen.warnings
    assert "taken 1 of 1 lines with 'step' and left its loop over dut.lines: nobody looked for that of 'end'" in said
