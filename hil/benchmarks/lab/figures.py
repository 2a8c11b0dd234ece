"""The figures of a simulated lab, each with how it was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hil.benchmarks.lab.checks import Little, Theory
from hil.benchmarks.lab.limits import Size, coordinator_load
from hil.benchmarks.lab.load import backlog, connections, trials_by_window
from hil.benchmarks.lab.meter import WINDOW_S
from hil.benchmarks.lab.model import kinds_of_board
from hil.benchmarks.lab.night import LabNight
from hil.benchmarks.lab.reading import Read, at, size_for
from hil.benchmarks.lab.store import Written
from hil.benchmarks.lab.wire import MeasuredWire
from hil.history.live import FINISH_S

NIGHTS_A_YEAR = 365
SIMULATED, MEASURED, EXTRAPOLATED, ANALYTIC = "simulated", "measured", "extrapolated", "analytic"
GIGA, KILO, MILLI = 1e9, 1e3, 1e-3


@dataclass(frozen=True)
class LabFigure:
    """One figure: `how` says whether it was simulated, measured here, extrapolated or computed from theory."""

    part: str
    name: str
    value: float
    unit: str
    how: str


def line_of(figure: LabFigure) -> str:
    """Return a figure as a line of text."""
    return f"{figure.part:12} {figure.name:54} {figure.value:>14,.4g} {figure.unit:12} {figure.how}"


def of_queues(night: LabNight) -> Iterator[LabFigure]:
    """Yield lengths of the queue and waiting times by kind of board, and how the boards were used."""
    span = night.ended
    for kind in night.lab.of or kinds_of_board():
        lengths = [each.get(kind, 0) for each in night.sampled]
        waits = [wait.got - wait.asked for wait in night.waits if wait.kind == kind]
        for name, values, unit in (("waiting workers", lengths, ""), ("wait for a place", waits, "s")):
            if values:
                for rank in (50, 95, 100):
                    word = "max" if rank == 100 else f"p{rank}"
                    yield LabFigure(
                        "queue", f"{kind}: {name}, {word}", float(np.percentile(values, rank)), unit, SIMULATED
                    )
    passed = [trial for trial in night.trials if trial.verdict == "pass"]
    runs = {run.number: run for run in night.runs}
    trained = sum(runs[trial.run].durations[trial.index] for trial in passed)
    held = sum(until - since for _, since, until in night.holds)
    yield LabFigure(
        "boards", "share of the time until the last trial that trains", trained / span / night.lab.boards, "", SIMULATED
    )
    yield LabFigure(
        "boards", "share of that time in which a worker holds them", held / span / night.lab.boards, "", SIMULATED
    )
    yield LabFigure("boards", "end of the last trial", span / 3600, "h", SIMULATED)
    yield LabFigure("trials", "passed", float(len(passed)), "", SIMULATED)
    yield LabFigure(
        "trials", "blocked, because a call came too late", float(len(night.trials) - len(passed)), "", SIMULATED
    )


def of_coordinator(night: LabNight, wire: MeasuredWire) -> Iterator[LabFigure]:
    """Yield what the coordinator did, and what each call took."""
    meter = night.meter
    for kind, seconds in sorted(meter.processor.items()):
        calls = meter.calls.get(kind) or meter.begun(kind)
        yield LabFigure("coordinator", f"{kind}: processor time of one", seconds / calls / MILLI, "ms", MEASURED)
    for kind, delays in sorted(meter.delays.items()):
        yield LabFigure("coordinator", f"{kind}: calls", float(len(delays)), "", SIMULATED)
        yield LabFigure(
            "coordinator", f"{kind}: time to the answer, p99", float(np.percentile(delays, 99)), "s", SIMULATED
        )
    yield LabFigure("coordinator", "gRPC: processor time of a poll, with its call", wire.call_s / MILLI, "ms", MEASURED)
    yield LabFigure("coordinator", "gRPC: of a message to one client", wire.message_s / MILLI, "ms", MEASURED)
    yield LabFigure("coordinator", f"gRPC: of a session, {wire.places} places", wire.session_s / MILLI, "ms", MEASURED)
    yield LabFigure("coordinator", "messages to clients", float(sum(meter.messages.values())), "", SIMULATED)
    yield LabFigure("coordinator", "sessions at once", float(meter.most_sessions), "", SIMULATED)
    yield LabFigure("coordinator", "lock held, busiest 5 min", max(meter.locked.values()) / WINDOW_S, "", SIMULATED)
    yield LabFigure(
        "coordinator", "processor, busiest 5 min", coordinator_load(night, wire), "cores", "measured x simulated"
    )


def of_database(night: LabNight, written: Written, rate: float) -> Iterator[LabFigure]:
    """Yield what the database took, and what the night asks of it."""
    arriving = trials_by_window(night)
    now, each_keeps_one = connections(night)
    bytes_each = written.bytes / written.trials
    yield LabFigure("database", "transactions a trial", written.transactions / written.trials, "", MEASURED)
    yield LabFigure(
        "database", "transactions/s that it takes", written.transactions / written.trials * rate, "1/s", MEASURED
    )
    yield LabFigure("database", "trials/s that it takes", rate, "1/s", MEASURED)
    yield LabFigure(
        "database", "trials/s that the night brings, mean", len(night.trials) / night.ended, "1/s", SIMULATED
    )
    yield LabFigure("database", "trials/s that it brings, busiest 5 min", arriving.max() / WINDOW_S, "1/s", SIMULATED)
    yield LabFigure(
        "database", "utilisation, busiest 5 min", arriving.max() / WINDOW_S / rate, "", "simulated / measured"
    )
    yield LabFigure(
        "database", "most trials that wait to be written", backlog(arriving, rate), "", "simulated / measured"
    )
    yield LabFigure("database", "connections at once", now, "", SIMULATED)
    yield LabFigure("database", "connections at once if each run kept its own", each_keeps_one, "", SIMULATED)
    yield LabFigure(
        "database", "share of looks at which a connection waited for a lock", written.lock_waits, "", MEASURED
    )
    yield LabFigure("database", "bytes of a trial", bytes_each / KILO, "kB", MEASURED)
    yield LabFigure("database", "size after this night", written.bytes / GIGA, "GB", MEASURED)
    year = bytes_each * len(night.trials) * NIGHTS_A_YEAR / GIGA
    yield LabFigure("database", "size after a year of such nights", year, "GB", EXTRAPOLATED)


def of_readers(small: Read, large: Read, trials: int) -> Iterator[LabFigure]:
    """Yield what the readers took at two sizes, and where they end; `trials` is the number of a night."""
    for name, unit, scale in (
        ("run_end_s", "s", 1),
        ("budgets_s", "s", 1),
        ("list_s", "s", 1),
        ("list_bytes", "GB", GIGA),
    ):
        what = {
            "run_end_s": "end of a run", "budgets_s": "relative budgets", "list_s": "`hil history`",
            "list_bytes": "`hil history`, memory",
        }[name]  # fmt: skip
        points = [(each.trials, getattr(each, name) / scale) for each in (small, large)]
        for count, value in points:
            yield LabFigure("readers", f"{what}, {count:,} trials", value, unit, MEASURED)
        year = at(trials * NIGHTS_A_YEAR, points[0], points[1])
        yield LabFigure("readers", f"{what}, a year", year, unit, EXTRAPOLATED)
        if name == "run_end_s":
            nights = size_for(FINISH_S, points[0], points[1]) / trials
            text = f"nights until the end of a run takes {FINISH_S:g} s"
            yield LabFigure("readers", text, nights, "nights", EXTRAPOLATED)


def of_checks(little: Little, theory: Theory, problems: list[str]) -> Iterator[LabFigure]:
    """Yield the two sides of each check."""
    yield LabFigure("checks", "conservation: things lost or doubled", len(problems), "", SIMULATED)
    yield LabFigure("checks", "Little's law: mean queue, sampled", little.sampled, "", SIMULATED)
    yield LabFigure("checks", "Little's law: arrival rate times mean wait", little.predicted, "", SIMULATED)
    yield LabFigure("checks", "M/M/c: mean wait", theory.simulated, "s", SIMULATED)
    yield LabFigure("checks", "M/M/c: its standard error", theory.error, "s", SIMULATED)
    yield LabFigure("checks", "M/M/c: mean wait by Erlang C", theory.analytic, "s", ANALYTIC)


def of_sizes(sizes: list[Size]) -> Iterator[LabFigure]:
    """Yield how far each size of the lab used each thing, as a share of what there is."""
    for size in sizes:
        for limit in size.limits:
            name = f"{size.lab.boards:,} boards: {limit.name}"
            yield LabFigure("growth", name, limit.share, "of the limit", limit.how)


def verdict(sizes: list[Size]) -> str:
    """Return in one sentence what breaks first."""
    broken = next((size for size in sizes if size.broken), None)
    if broken is None:
        return f"Nothing breaks up to {sizes[-1].lab.boards:,} boards."
    worst = broken.broken[0]
    others = "".join(f"; also {each.name} ({each.share:.2g} of its limit)" for each in broken.broken[1:])
    return (
        f"With {broken.lab.boards:,} boards and {broken.lab.trials:,} trials a night breaks first: {worst.name}, "
        f"{worst.used:,.3g} of {worst.most:,.3g} {worst.unit}".rstrip()
        + f" ({worst.how}){others}."
    )
