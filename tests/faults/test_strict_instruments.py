"""Energy by strict instruments: none of what an instrument or a supply may do gives a wrong energy that says nothing.

`python -m tests.faults.instruments` prints the table; the nightly tier runs all of it, the quick tier a few trials of
a few rows."""

import os
import socket
from dataclasses import replace

import numpy as np
import pytest
from instruments.analog import OVERFLOW, Errors, Front
from instruments.board import Work, bursts, plain
from instruments.faults import Faults
from instruments.keithley_2450 import Keithley2450
from instruments.n6705c import N6705C
from instruments.rows import CLEAN, ROWS
from instruments.scpi import served
from instruments.table import ALL, HEAD, QUICK, TRIALS, good_of, table
from instruments.trace import Trace, joined
from instruments.truevolt import Truevolt
from instruments.world import World

from hil.cluster import Workers
from hil.energy.data_sheet import load_data_sheet

NAMED = {row.name: row for row in ROWS}
FEW = [  # one of every cause
    "2450, marker bounces in mid-window, no counter",
    "2450, 0.4 A x 100 us on the 100 mA range",
    "2450, current limit reached",
    "2450, one time stamp backward",
    "N6705C, log begins 20 ms late",
    "34465A, supply of 1 ohm",
    "DMM6500, the same bursts, cut off, windows of 1 s",
    "hil measure, 2450, default range",
]
WORK = Work(plain(0.01, 0.06))


def instrument(kind, key, **faults):
    sheet = load_data_sheet(key)
    errors = Errors(over=kind.over)
    front = Front(sheet, errors, 3.3, np.random.default_rng(1))
    return kind(World(), front, Faults(np.random.default_rng(2), **faults))


def replies_of(one, *lines):
    """Say lines to an instrument; return what it answers last."""
    answer = None
    for line in lines:
        answer = one.execute(line)
    return None if answer is None else answer.decode("latin-1")


def smu_with(one, capacity=100, mode="CONT"):
    replies_of(
        one,
        "*RST",
        ":SOUR:VOLT 3.3",
        ":SOUR:VOLT:ILIM 1",
        ':SENS:FUNC "CURR"',
        ":SENS:CURR:RANG 0.1",
        ":SENS:CURR:NPLC 0.1",
    )
    replies_of(one, ":SENS:CURR:AZER OFF", ":OUTP ON", f':TRAC:MAKE "b", {capacity}', f':TRAC:FILL:MODE {mode}, "b"')
    replies_of(one, ':TRIG:LOAD "Empty"', ':TRIG:BLOC:MEAS 1, "b", INF', ":TRIG:BLOC:DEL:CONS 2, 5", ":INIT")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (":SENS:CURRE:RANG 0.1", -113),
        (":TRAC:NEW 5", -113),
        (":SOUR:VOLT 500", -222),
        (":SOUR:VOLT three", -104),
        (":TRAC:MAKE", -109),
        (":OUTP ON, 1", -108),
        (":SOUR:FUNC POWER", -224),
        (':TRAC:CLE "nobody"', -224),
        (":SENS:FUNC CURR", -104),
    ],
)
def test_what_it_cannot_take_stands_in_the_error_queue_and_is_not_done(line, error):
    one = instrument(Keithley2450, "keithley-2450")
    before = replies_of(one, ":SOUR:VOLT?")
    assert replies_of(one, line) is None
    assert replies_of(one, ":SYST:ERR?").startswith(f"{error},")
    assert replies_of(one, ":SYST:ERR?").startswith("0,")
    assert replies_of(one, ":SOUR:VOLT?") == before


def test_short_and_long_form_and_nothing_between():
    one = instrument(Keithley2450, "keithley-2450")
    for header in (":SENS:CURR:RANG", ":SENSE:CURRENT:DC:RANGE:UPPER", "sens1:curr:dc:rang", ":CURR:RANG"):
        replies_of(one, f"{header} 0.01", f"{header} 0.1")
        assert float(replies_of(one, ":SENS:CURR:RANG?")) == 0.1
    assert not one.errors
    replies_of(one, ":SENS:CURREN:RANG 0.01")
    assert float(replies_of(one, ":SENS:CURR:RANG?")) == 0.1


def test_the_error_queue_ends_with_an_overflow():
    one = instrument(Truevolt, "keysight-34465a")
    replies_of(one, *["NONSENSE"] * 30)
    said = [replies_of(one, "SYST:ERR?").split(",")[0] for _ in range(21)]
    assert said == ["-113"] * 19 + ["-350", "+0"]


@pytest.mark.parametrize(("mode", "first_is_oldest"), [("ONCE", True), ("CONT", False)])
def test_a_full_buffer_discards_the_new_or_the_old(mode, first_is_oldest):
    one = instrument(Keithley2450, "keithley-2450")
    smu_with(one, 50, mode)
    one.world.sleep(0.05)
    first = replies_of(one, ':TRAC:DATA? 1, 1, "b", SEC, FRAC')
    one.world.sleep(1.0)
    assert replies_of(one, ':TRAC:ACT? "b"') == "50"
    assert (replies_of(one, ':TRAC:DATA? 1, 1, "b", SEC, FRAC') == first) == first_is_oldest


def test_readings_are_the_truths_means_over_their_apertures():
    one = instrument(Keithley2450, "keithley-2450")
    script = WORK.script(50, 0.1, one.world.now() + 0.1)
    one.front.trace, one.script = script.trace, script
    smu_with(one, 1000)
    one.world.sleep(1.0)
    count = replies_of(one, ':TRAC:ACT? "b"')
    values = np.array(replies_of(one, f':TRAC:DATA? 1, {count}, "b", READ').split(","), float)
    step = one.interval_s()
    assert np.sum(values - 0.02) * step * 3.3 == pytest.approx(50 * script.net_j(3.3, 0.0), rel=0.02)


def test_the_source_holds_a_current_at_its_limit_and_says_so():
    one = instrument(Keithley2450, "keithley-2450")
    one.front.trace = Trace(np.array([0.0, 1.0]), np.array([0.4]))
    smu_with(one)
    one.world.sleep(0.1)
    current, status = (float(part) for part in replies_of(one, ':TRAC:DATA? 5, 5, "b", READ, SOURSTAT').split(","))
    assert (current, int(status) & 32) == (pytest.approx(0.105, rel=1e-3), 32)
    assert replies_of(one, ":SOUR:VOLT:ILIM:TRIP?") == "1"


def test_a_multimeter_beyond_its_range_says_so_once_and_keeps_samples_ahead_of_the_trigger():
    one = instrument(Truevolt, "keysight-34465a")
    replies_of(
        one,
        "*RST",
        "CONF:CURR:DC 0.1",
        "CURR:DC:ZERO:AUTO OFF",
        "CURR:DC:APER 0.0009",
        "SAMP:SOUR TIM",
        "SAMP:TIM 0.001",
    )
    replies_of(one, "TRIG:SOUR EXT", "TRIG:SLOP POS", "SAMP:COUN 300", "SAMP:COUN:PRET 100")
    script = replace(WORK, step=plain(0.01, 0.3)).script(10, 0.2, one.world.now() + 0.01)
    one.front.trace, one.script = script.trace, script
    replies_of(one, "INIT")
    assert replies_of(one, "STAT:OPER:COND?") == "+32"
    one.world.sleep(1.0)
    assert (replies_of(one, "STAT:OPER:COND?"), replies_of(one, "DATA:POIN?")) == ("+0", "+300")
    assert (replies_of(one, "STAT:QUES:COND?"), replies_of(one, "STAT:QUES?"), replies_of(one, "STAT:QUES?")) == (
        "+0",
        "+2",
        "+0",
    )
    values = np.array(replies_of(one, "DATA:REM? 300").split(","), float)
    assert np.all(values[:99] < 0.03) and np.any(values == OVERFLOW)
    assert not one.errors


def test_a_log_tells_records_until_it_is_aborted_and_latches_the_current_limit():
    one = instrument(N6705C, "keysight-n6705c")
    replies_of(
        one,
        "*RST",
        "VOLT 3.3,(@1)",
        "CURR:LIM 0.5,(@1)",
        "OUTP ON,(@1)",
        "SENS:ELOG:FUNC:CURR ON,(@1)",
        "SENS:ELOG:FUNC:VOLT ON,(@1)",
    )
    replies_of(one, "FORM REAL", "SENS:ELOG:PER 0.001,(@1)", "TRIG:ELOG:SOUR BUS,(@1)", "TRIG:ELOG (@1)")
    assert replies_of(one, "SYST:ERR?").startswith("-221"), "a trigger without INIT was taken"
    script = replace(WORK, step=plain(0.01, 0.6)).script(10, 0.1, one.world.now() + 0.01)
    one.front.trace, one.script = script.trace, script
    replies_of(one, "INIT:ELOG (@1)", "TRIG:ELOG (@1)")
    one.world.sleep(0.5)
    answer = one.execute("FETC:ELOG? 1000,(@1)")
    records = np.frombuffer(answer[2 + int(answer[1:2]) :], ">f4").reshape(-1, 2)
    assert len(records) == pytest.approx(499, abs=3)
    assert records[:, 0].max() == pytest.approx(0.5, rel=0.01)
    assert (
        replies_of(one, "STAT:OPER:COND? (@1)"),
        replies_of(one, "STAT:OPER? (@1)"),
        replies_of(one, "STAT:QUES? (@1)"),
    ) == (
        "+33",
        "+2",
        "+128",
    )


def test_a_refused_query_has_no_answer_on_the_wire():
    with served(instrument(Keithley2450, "keithley-2450")) as address:
        port = int(address.split("::")[2])
        with socket.create_connection(("127.0.0.1", port), 5) as wire:
            wire.sendall(b":NO:SUCH?\n:SYST:ERR?\n")
            assert wire.recv(100).startswith(b'-113,"Undefined header"')


def test_the_truth_is_that_of_the_script():
    trace = joined([(1.0, 0.5), (2.0, 0.25)], 10.0)
    assert trace.mean(np.array([10.5, 9.0, 12.0]), np.array([11.5, 11.0, 12.0])) == pytest.approx([0.375, 0.5, 0.25])
    script = Work(bursts(0.01, 0.1, 0.3, 0.001, 0.01), idle_a=(0.1, 0.1)).script(7, 0.1, 0.0)
    assert script.net_j(3.0, 0.0) == pytest.approx(3.0 * 0.2 * 0.001)
    assert script.net_j(3.0, 1.0) == pytest.approx((3.0 * 0.2 - (0.09 - 0.01)) * 0.001)


def test_a_few_rows_of_the_table():
    """All at once: the trials without a fault, whose sentences name none, are needed by every row and run once."""
    clean = [row for row in CLEAN if row.meter != "rigol-dp832a"]  # polled a hundred times a second: it takes too long
    rows = {row.name: row for row in table([*clean, *(NAMED[name] for name in FEW)], QUICK)}
    assert [rows[one.name] for one in clean if rows[one.name].covered < 1] == []
    assert [rows[name] for name in FEW if rows[name].silent] == []


@pytest.mark.tier("nightly")
def test_no_row_of_the_table_misses_silently():
    with Workers(os.cpu_count() or 1) as workers:
        rows = table(ROWS, TRIALS, workers)
    print(HEAD, *(row.markdown() for row in rows), sep="\n")
    assert [row.name for row in rows if not row.passes] == []
    assert good_of(rows) >= ALL
