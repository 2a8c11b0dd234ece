"""The tables of a trial against its record: steps.parquet, latency.parquet, power.parquet, and the trained network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hil.record.checks.entries import close, different
from hil.record.checks.recorded import LATENCY, POWER, STEPS, RecordedRun, RecordedTrial
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.parquet import read_columns
from hil.record.sums import sha256_of
from hil.record.trial_writer import NETWORK, TRAINED

QUANTILES = {"p5": 0.05, "median": 0.5, "p95": 0.95, "p99": 0.99}
ROUNDED = 0.5 + 1e-6  # of a mean that was rounded to a whole number


def check_steps(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """steps.parquet has a row for each compared step, in order; digests, matches, signs and cycles are the record's."""
    record, table, file = trial.record, trial.steps, trial.source
    place = f"{trial.name}/{STEPS}"
    if not run.has_tables(trial):
        return
    rows = len(next(iter(table.values()), ())) if table is not None else NOTHING
    if rows != record.steps_compared and (table is not None or record.steps_compared):
        yield differ(file, "steps_compared", record.steps_compared, f"{place} (rows)", rows, trial.name)
        return
    if not record.steps_compared or table is None:
        return
    for name in ("step", "match", "digest"):
        if name not in table:
            yield differ(
                place, f"the column {name}", NOTHING, file, f"{record.steps_compared} compared steps", trial.name
            )
            return
    yield from _order(trial, table, place, file)
    yield from _matches(trial, table, place, file)
    last = f"{int(table['digest'][-1]):08x}"
    if record.final_digest != last:
        yield differ(file, "final_digest", record.final_digest, f"{place} (last digest)", last, trial.name)
    yield from _signs(trial, table, place, file)
    yield from _cycles(trial, table, place, file)


def _signs(trial: RecordedTrial, table: Mapping[str, np.ndarray], place: str, file: str) -> Iterator[Contradiction]:
    record = trial.record
    if record.signs is not None and "right_sign" in table:
        signs = table["right_sign"]
        for name, count in (("right", int(signs.sum())), ("of", len(signs))):
            if record.signs[name] != count:  # type: ignore[literal-required]
                yield differ(file, f"signs.{name}", record.signs[name], f"{place} (right_sign)", count, trial.name)  # type: ignore[literal-required]


def _cycles(trial: RecordedTrial, table: Mapping[str, np.ndarray], place: str, file: str) -> Iterator[Contradiction]:
    for phase, mean in trial.record.cycles.items():
        column = table.get(f"cycles_{phase}")
        if column is None or abs(float(column.mean()) - mean) > ROUNDED:
            found = NOTHING if column is None else round(float(column.mean()))
            yield differ(file, f"cycles.{phase}", mean, f"{place} (mean of cycles_{phase})", found, trial.name)


def _order(trial: RecordedTrial, table: Mapping[str, np.ndarray], place: str, file: str) -> Iterator[Contradiction]:
    steps, curve = table["step"], trial.record.evaluations
    first = int(steps[0])
    if not np.array_equal(steps, np.arange(first, first + len(steps))):
        odd = int(np.flatnonzero(steps != np.arange(first, first + len(steps)))[0])
        yield differ(place, f"step in row {odd}", int(steps[odd]), place, first + odd, trial.name)
    ends = [point["step"] for point in curve]
    if ends and not all(first <= step <= first + len(steps) for step in ends):
        yield differ(
            file, "a step of evaluations", ends, place, f"steps {first} to {first + len(steps) - 1}", trial.name
        )


def _matches(trial: RecordedTrial, table: Mapping[str, np.ndarray], place: str, file: str) -> Iterator[Contradiction]:
    """A row matches if both sides have the same losses; steps after one that does not match are not made."""
    record, match = trial.record, table["match"].astype(bool)
    if record.bit_exact and not match.all():
        row = int(np.flatnonzero(~match)[0])
        yield differ(file, "bit_exact", True, f"{place} (match of step {int(table['step'][row])})", False, trial.name)
    if not match[:-1].all():
        row = int(np.flatnonzero(~match)[0])
        said = f"{len(match) - row - 1} steps after it"
        yield differ(place, f"match of step {int(table['step'][row])}", False, place, said, trial.name)
    for term in ("loss_plus", "loss_minus"):
        board, reference = table.get(term), table.get(f"reference_{term}")
        if board is None or reference is None:
            continue
        bits = [np.asarray(column, np.float64).astype(np.float32).view(np.uint32) for column in (board, reference)]
        for row in np.flatnonzero(match & (bits[0] != bits[1]))[:1]:
            step = int(table["step"][row])
            yield differ(
                place, f"{term} of step {step}, which matches,", float(board[row]), place,
                f"reference_{term} {float(reference[row])!r}", trial.name,
            )  # fmt: skip
    names = ("sign", "right_sign", "reference_float_plus", "reference_float_minus")
    if all(name in table for name in names):
        sign, right, plus, minus = (table[name] for name in names)
        computed = sign == (plus > minus).astype(int) - (plus < minus)
        for row in np.flatnonzero(match & (computed != right.astype(bool)))[:1]:
            step = int(table["step"][row])
            yield differ(
                place, f"right_sign of step {step}", bool(right[row]), f"{place} (sign and float losses)",
                bool(computed[row]), trial.name,
            )  # fmt: skip


def check_latency(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The figures of latency follow from the raw cycles in latency.parquet (docs/latency.md)."""
    latency, file, place = trial.record.latency, trial.source, f"{trial.name}/{LATENCY}"
    if latency is None or not run.has_tables(trial):
        return
    path = trial.path(LATENCY)
    if path is None:
        return  # SHA256SUMS lists it: its removal is named there
    table, columns = read_columns(path), columns_of(latency)
    for field, (name, group) in columns.items():
        figures: dict[str, Any] = _figures(table[name], group["subtracted"]) if name in table else {"n": NOTHING}
        for key, value in figures.items():
            here: Any = group[key]
            if value is NOTHING or not close(here, value):
                yield differ(file, f"latency.{field}.{key}", here, f"{place} ({name})", value, trial.name)
    steps = columns["phases.total"][1]["n"]
    if latency["steps"] != steps:
        yield differ(file, "latency.steps", latency["steps"], file, f"total.n {steps}", trial.name)


def columns_of(latency: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return the column of latency.parquet and the figures of each phase and layer, by their place in the record."""
    groups: dict[str, Any] = dict(latency["phases"])
    groups.pop("digest", None)  # computed once a run, not once a step
    columns: dict[str, tuple[str, Any]] = {f"phases.{name}": (name, group) for name, group in groups.items()}
    layers: Mapping[str, Any] = latency["layers"] or {}
    for direction, of_layers in layers.items():
        columns |= {f"layers.{direction}.{name}": (f"{direction}.{name}", group) for name, group in of_layers.items()}
    return columns


def _figures(cycles: np.ndarray, subtracted: int) -> dict[str, Any]:
    net = cycles.astype(np.int64) - subtracted
    if not len(net):
        return {"n": 0}
    found: dict[str, Any] = {name: float(np.quantile(net, share)) for name, share in QUANTILES.items()}
    deviation = float(net.std(ddof=1)) if len(net) > 1 else 0.0
    return found | {
        "n": len(net), "mean": float(net.mean()), "sd": deviation, "least": int(net.min()), "most": int(net.max()),
    }  # fmt: skip


def check_power(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """power.parquet has the windows of the energy, each as long between its edges, measured by the same meter."""
    from hil.record.power_trace import read_facts  # late: pyarrow loads slowly, and few trials measure power

    energy, file, place = trial.record.energy, trial.source, f"{trial.name}/{POWER}"
    if energy is None or not run.has_tables(trial):
        return
    path = trial.path(POWER)
    if path is None:
        return  # SHA256SUMS lists it: its removal is named there
    meter, edges = read_facts(path)
    for where, here, there in different(energy["meter"], meter, "energy.meter"):
        yield differ(file, where, here, f"{place} (its metadata)", there, trial.name)
    numbers = sorted({window for _, window in edges})
    if len(numbers) != len(energy["windows"]):
        yield differ(file, "the number of energy.windows", len(energy["windows"]), place, len(numbers), trial.name)
        return
    for number, window in zip(numbers, energy["windows"], strict=True):
        times = [edge.t_s for edge, of in edges if of == number]
        here, there = window.get("duration"), times[-1] - times[0]
        if isinstance(here, (int, float)) and abs(here - there) > 1e-6 * max(abs(there), 1e-6):
            yield differ(file, f"energy.windows[{number}].duration", here, f"{place} (its edges)", there, trial.name)


def check_networks(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """network.hnet and trained.hnet are the files whose SHA-256 the record has."""
    record = trial.record
    if not run.has_tables(trial):
        return
    start = trial.path(NETWORK)
    if start is not None and sha256_of(start) != record.network_sha256:
        place = f"{trial.name}/{NETWORK}"
        yield differ(trial.source, "network_sha256", record.network_sha256, place, sha256_of(start), trial.name)
    path = trial.path(TRAINED)
    if record.network_file is None or (path is None and run.is_kept):
        if path is not None:
            place = f"{trial.name}/{TRAINED}"
            yield differ(place, "the file", "there", f"{trial.source} (network_file)", None, trial.name)
        return
    found = NOTHING if path is None else sha256_of(path)
    wanted = record.network_file["trained_sha256"] or NOTHING
    if found != wanted:
        field = "network_file.trained_sha256"
        yield differ(trial.source, field, wanted, f"{trial.name}/{TRAINED}", found, trial.name)
