"""The soak: its rule finds what grows and lets noise pass, its samples are true, and a short one ends rightly."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.record import read_run
from hil.record.soak import FILE, SoakRow, read_soak
from tests.faults.campaign.expected import EXPECTED
from tests.faults.campaign.fault import Measured
from tests.faults.soak.flat import COUNTS, HOUR_KB, HOUR_S, RISE, RISE_KB, not_flat, warm_up_of
from tests.faults.soak.kinds import FIRST, NAMES, ROUND, fault_of
from tests.faults.soak.sample import files_in, sample, settled

ROOT = Path(__file__).resolve().parents[2]
NIGHTLY = pytest.mark.tier("nightly")
HANG_S = 5400.0
BOARD = "stm32h7b3"
STAGES = {
    stage: {"to_board": 300, "to_host": 200, "probe": 40, "meter": 30}
    for stage in ("connect", "flash", "greet", "load", "train", "finish", "energy")
}
MEASURED = Measured({}, dict.fromkeys(("plain", "flash", "energy"), STAGES), 2.0, 0.0, 0)


def rows_of(memory_kb: Callable[[float], float], count: int, seconds: float, process: str = "rig") -> list[SoakRow]:
    held = {"descriptors": 24, "threads": 7, "children": 2, "files": 7}
    times = [seconds * number / count for number in range(1, count + 1)]
    return [
        SoakRow(time, process, BOARD, round(memory_kb(time)), trials=trial, **held)
        for trial, time in enumerate(times, start=1)
    ]


noisy = {
    "level": st.integers(30_000, 400_000),
    "noise": st.floats(0.0, 0.02),
    "count": st.integers(60, 900),
    "seed": st.integers(0, 2**32),
}


@settings(deadline=None, max_examples=60)
@given(**noisy, spikes=st.floats(0.0, 0.1))
def test_a_noisy_series_that_does_not_grow_is_flat(
    level: int, noise: float, count: int, seed: int, spikes: float
) -> None:
    rng = random.Random(seed)

    def memory(time: float) -> float:
        return level * (1 + rng.uniform(-noise, noise) + (rng.random() < spikes) * rng.uniform(0, 1))

    rows = rows_of(memory, count, HOUR_S)
    assert not_flat(rows, 0.1 * HOUR_S) == []


@settings(deadline=None, max_examples=60)
@given(**noisy, slope=st.floats(1.5, 50.0))
def test_memory_that_grows_by_more_than_the_bound_is_named(
    level: int, noise: float, count: int, seed: int, slope: float
) -> None:
    """Noise of up to 5 MB: in an hour the slope of 120 rows is then sure to a quarter of the bound."""
    rng = random.Random(seed)
    wide = min(noise * level, 5 * 1024)
    rows = rows_of(
        lambda time: level + slope * HOUR_KB * time / HOUR_S + rng.uniform(-wide, wide), max(count, 120), HOUR_S
    )
    (found,) = not_flat(rows, 0.1 * HOUR_S)
    assert found.startswith(f"rig of {BOARD}: memory: +") and "MB an hour" in found and "MB more" in found


@settings(deadline=None, max_examples=60)
@given(**noisy, step=st.floats(1.5, 4.0), late=st.floats(0.4, 0.7))
def test_memory_that_jumps_once_is_named(
    level: int, noise: float, count: int, seed: int, step: float, late: float
) -> None:
    rng = random.Random(seed)
    higher = step * (max(RISE * level, RISE_KB) + 2 * noise * level)
    rows = rows_of(
        lambda time: level + higher * (time > late * HOUR_S) + rng.uniform(-noise, noise) * level, count, HOUR_S
    )
    assert len(not_flat(rows, 0.1 * HOUR_S)) == 1


@settings(deadline=None)
@given(figure=st.sampled_from(COUNTS), after=st.integers(20, 99), more=st.integers(1, 50))
def test_a_count_above_that_of_the_warm_up_is_named_with_by_how_much(figure: str, after: int, more: int) -> None:
    rows = rows_of(lambda time: 100_000, 100, 1000.0)
    assert not_flat(rows, 100.0) == []
    rows[after] = SoakRow(**vars(rows[after]) | {figure: getattr(rows[after], figure) + more})
    (found,) = not_flat(rows, 100.0)
    assert found.startswith(f"rig of {BOARD}: {figure}: ") and found.endswith(f": {more} too many.")


@pytest.mark.parametrize(("most_kb", "flat"), [(13 << 10, True), (40 << 10, False)])
def test_a_bench_may_fill_what_it_keeps_of_its_sleeps_and_no_more(most_kb: int, flat: bool) -> None:
    rows = rows_of(lambda time: 110_000 + min(most_kb, time * 10), 300, 2 * HOUR_S, "bench")
    assert (not_flat(rows, 0.1 * HOUR_S) == []) == flat


def test_what_is_there_less_often_or_in_the_warm_up_only_is_flat() -> None:
    rows = rows_of(lambda time: 150_000 - time, 100, 1000.0)
    rows[3] = SoakRow(**vars(rows[3]) | {"descriptors": 90})
    rows[50] = SoakRow(**vars(rows[50]) | {"descriptors": 3, "threads": 1})
    assert not_flat(rows, 100.0) == []


def test_the_warm_up_is_a_tenth_and_a_round_of_faults() -> None:
    rows = rows_of(lambda time: 1, 1000, HOUR_S)
    assert warm_up_of(rows, [BOARD], HOUR_S) == HOUR_S / 10
    few = rows_of(lambda time: 1, 2 * ROUND + 10, HOUR_S)
    assert warm_up_of(few, [BOARD], HOUR_S) == pytest.approx(few[ROUND - 1].seconds)
    assert warm_up_of(few[:10], [BOARD], few[9].seconds) == few[4].seconds
    assert warm_up_of(few[:4], [BOARD], few[3].seconds) == few[len(FIRST) - 1].seconds


def test_faults_are_decided_by_the_seed_and_a_round_has_every_kind() -> None:
    course = [fault_of(1, 0, number, MEASURED) for number in range(3 * ROUND)]
    assert course == [fault_of(1, 0, number, MEASURED) for number in range(3 * ROUND)]
    assert course[ROUND:] != [fault_of(2, 0, number, MEASURED) for number in range(ROUND, 3 * ROUND)]
    assert course[ROUND:] != [fault_of(1, 1, number, MEASURED) for number in range(ROUND, 3 * ROUND)]
    assert course[: len(FIRST)] == list(FIRST)
    assert [fault.kind for fault in course[:ROUND] if fault.kind != "nothing"] == list(NAMES)
    assert set(NAMES) <= set(EXPECTED)
    assert sum(fault.kind == "nothing" for fault in course) >= len(course) / 2


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="processes are looked at in /proc")
def test_a_sample_counts_what_a_process_takes(tmp_path: Path) -> None:
    code = """
import os, subprocess, sys, threading
held = []
for what in sys.stdin:
    match what.strip():
        case "descriptors": held.append(os.open(os.devnull, os.O_RDONLY))
        case "threads": threading.Thread(target=threading.Event().wait, daemon=True).start()
        case "children": held.append(subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL))
        case "rss_kb": held.append(bytearray(os.urandom(32 << 20)))
        case "files": open(str(len(os.listdir())), "w").close()
        case "end": [one.kill() for one in held if isinstance(one, subprocess.Popen)]; break
    print("done", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(what: str) -> dict[str, int]:
            print(what, file=process.stdin, flush=True)
            assert process.stdout is not None and process.stdout.readline() == "done\n"
            held = sample(process.pid)
            assert held is not None
            return held | {"files": files_in(tmp_path)}

        before = ask("nothing")
        for what in ("descriptors", "threads", "children", "files"):
            after = ask(what)
            kept = {name: value for name, value in after.items() if name != "rss_kb"}
            assert kept == {name: before[name] for name in kept} | {what: before[what] + 1}
            before = after
        known: dict[str, int] = {}
        first = settled(process.pid, known)
        ask("threads")
        assert settled(process.pid, known | {"threads": 99}) == sample(process.pid)
        stays = settled(process.pid, known, 0.2)
        assert first is not None and stays is not None and stays["threads"] == first["threads"] + 1 == known["threads"]
        before = ask("nothing")
        assert 32 << 10 <= ask("rss_kb")["rss_kb"] - before["rss_kb"] < 34 << 10
        print("end", file=process.stdin, flush=True)
    assert sample(process.pid) is None


def soak(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    if not Path("/proc/self/status").is_file():
        pytest.skip("the processes are looked at in /proc")
    command = [sys.executable, "-m", "tests.faults.soak", "--seed", "7", "--out", str(out), *options]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False
    )
    print(done.stdout)
    return done


@pytest.mark.parametrize(
    "options",
    [pytest.param(["--trials", "4"], marks=NIGHTLY), pytest.param(["--minutes", "60"], marks=NIGHTLY)],
    ids=["short", "hour"],
)
def test_a_soak_is_flat_and_every_trial_ends_rightly(options: list[str], tmp_path: Path) -> None:
    out = tmp_path / "soak"
    done = soak(out, *options)
    if "wrong: " in done.stdout:  # the other tests make the rig meet its own deadlines
        out = tmp_path / "again"
        done = soak(out, *options)
    assert done.returncode == 0, done.stdout
    found = read_soak(out)
    assert found is not None and found.wrong == [] and found.not_flat == []
    assert {(row.process, row.board) for row in found.rows} == {
        (process, board) for process in ("rig", "bench", "probe") for board in ("stm32h7b3", "rp2040")
    }
    assert set(found.kinds) - {"nothing"}, "no fault was met"
    assert sum(found.counts.values()) == sum(
        max(row.trials for row in found.rows if row.board == board) for board in found.boards
    )
    assert {test.verdict for test in read_run(out).tests} == {"pass"}
    page = (out / "index.html").read_text()
    assert 'id="plot-soak"' in page and "minutes since the soak began" in page


def test_what_is_asked_wrongly_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / FILE).write_text(json.dumps({}))
    for out, options, sentence in (
        (tmp_path / "full", [], "is not empty"),
        (tmp_path / "a", ["--boards", BOARD, BOARD], "names a board twice"),
        (tmp_path / "b", ["--boards", "nobody"], "nobody"),
    ):
        done = soak(out, *options)
        assert done.returncode == 2 and sentence in done.stdout


@NIGHTLY
def test_a_rig_that_leaks_on_purpose_is_found(tmp_path: Path) -> None:
    done = soak(tmp_path / "check", "--self-check")
    assert done.returncode == 0 and done.stdout.count("found ") == 4, done.stdout
