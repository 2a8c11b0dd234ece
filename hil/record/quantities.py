"""The figures of a trial record as quantities: the one place that gives each its unit and its provenance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hil.quantity import Provenance, Quantity
from hil.record.trial_record import TrialRecord

LATENCY_FIGURES = ("mean", "median", "sd", "least", "most", "p5", "p95", "p99")


def quantities(trial: TrialRecord) -> dict[str, Quantity]:
    """Return every figure that the trial found, by its path in results.json (`sram.total`, `cycles.forward`, ...).

    Figures that are null in the record are left out. Units: B (bytes), cycle (a step), s, and 1 for fractions and counts.
    """
    return (
        _accuracy(trial)
        | _sram(trial)
        | _time(trial)
        | _counts(trial)
        | _layers(trial)
        | _latency(trial)
        | _network(trial)
        | _energy(trial)
    )


def _accuracy(trial: TrialRecord) -> dict[str, Quantity]:
    """Right answers are counted; the uncertainty is the binomial standard error over the n images."""
    accuracy: Mapping[str, Any] = trial.accuracy
    n, found = accuracy["n"], {}
    for name in ("before", "after", "reference_after"):
        p = accuracy[name]
        if p is not None and n:
            found[f"accuracy.{name}"] = Quantity(p, "1", Provenance.COUNTED, math.sqrt(p * (1 - p) / n), f"n = {n:,}")
    return found


def _sram(trial: TrialRecord) -> dict[str, Quantity]:
    sram: Mapping[str, Any] = trial.sram
    words: Mapping[str, Any] = trial.sram_provenance
    probed: Mapping[str, Any] = trial.sram_probe or {}
    found = {
        f"sram.{name}": Quantity(value, "B", Provenance(words[name]))
        for name, value in sram.items()
        if value is not None
    }
    for name, value in probed.items():
        found[f"sram_probe.{name}"] = Quantity(value, "B", Provenance.COUNTED, note="read through the probe")
    return found


def _time(trial: TrialRecord) -> dict[str, Quantity]:
    """A step's time is its cycles over the clock: from silicon's cycles it keeps their word, else it is modelled."""
    provenance = Provenance(trial.cycles_provenance)
    found = {f"cycles.{phase}": Quantity(count, "cycle", provenance) for phase, count in trial.cycles.items()}
    if trial.step_time_s is not None:
        kept = provenance if provenance is Provenance.MEASURED else Provenance.MODELLED
        found["step_time_s"] = Quantity(trial.step_time_s, "s", kept, note="cycles over the clock")
    return found


def _counts(trial: TrialRecord) -> dict[str, Quantity]:
    found = {
        "steps_compared": Quantity(trial.steps_compared, "1", Provenance.COUNTED),
        "probe_checks": Quantity(trial.probe_checks, "1", Provenance.COUNTED),
        "probe_agreed": Quantity(trial.probe_agreed, "1", Provenance.COUNTED),
        "wall_s": Quantity(trial.wall_s, "s", Provenance.MEASURED, note="by the host's clock"),
    }
    if trial.flash is not None and trial.flash["cycles"] is not None:
        found["flash.cycles"] = Quantity(trial.flash["cycles"], "1", Provenance.COUNTED, note="by this computer")
    for name, value in trial.link.items():
        unit = "B" if name.startswith("bytes") else "1"
        found[f"link.{name}"] = Quantity(value, unit, Provenance.COUNTED, note="on the host")
    return found


def _layers(trial: TrialRecord) -> dict[str, Quantity]:
    provenance = Provenance(trial.cycles_provenance)
    profile: Mapping[str, Any] = trial.profile or {}
    return {
        f"profile.{direction}.{layer}": Quantity(cycles, "cycle", provenance, note="first compared step")
        for direction, layers in profile.items()
        for layer, cycles in layers.items()
    }


def _latency(trial: TrialRecord) -> dict[str, Quantity]:
    """Cycles of autonomous steps; the uncertainty of a mean is that of its n steps (GUM, 4.2.3), the bound of the bookings stands beside."""
    if trial.latency is None:
        return {}
    provenance = Provenance(trial.latency["provenance"])
    phases: Mapping[str, Any] = trial.latency["phases"]
    of_layers: Mapping[str, Any] = trial.latency["layers"] or {}
    groups = {f"latency.{name}": phase for name, phase in phases.items()}
    for direction, layers in of_layers.items():
        groups |= {f"latency.{direction}.{name}": layer for name, layer in layers.items()}
    found = {}
    for path, group in groups.items():
        note = f"n = {group['n']:,}; {group['subtracted']:,} cycles of reading the counter subtracted, at most {group['bound']:,} still in it"
        for name in LATENCY_FIGURES:
            uncertainty = group["sd"] / math.sqrt(group["n"]) if name == "mean" else None
            found[f"{path}.{name}"] = Quantity(group[name], "cycle", provenance, uncertainty, note)
    return found


def _network(trial: TrialRecord) -> dict[str, Quantity]:
    """What the network and the paper's formula give, and the signs of INT8* that were right."""
    found = {}
    analytic: Mapping[str, Any] | None = trial.analytic
    if analytic is not None:
        equation = analytic["equation"]
        equation = f"ElasticZO, equation {equation}" if equation.startswith("(") else equation
        found["analytic.bytes"] = Quantity(analytic["bytes"], "B", Provenance.ANALYTIC, note=equation)
        for name in ("macs_forward", "weights", "weights_by_zo"):
            found[f"analytic.{name}"] = Quantity(analytic[name], "1", Provenance.COUNTED)
        if "macs_step" in analytic:
            found["analytic.macs_step"] = Quantity(
                analytic["macs_step"], "1", Provenance.ANALYTIC, note="by the plan of a step"
            )
    work: Mapping[str, Any] = trial.work or {}
    for name, value in work.items():
        found[f"work.{name}"] = Quantity(
            value, "1", Provenance.COUNTED, note="by the board, in the first compared step"
        )
    if trial.signs is not None and trial.signs["of"]:
        p, n = trial.signs["right"] / trial.signs["of"], trial.signs["of"]
        found["signs.right"] = Quantity(p, "1", Provenance.COUNTED, math.sqrt(p * (1 - p) / n), f"n = {n:,}")
    return found


def _energy(trial: TrialRecord) -> dict[str, Quantity]:
    """Every figure of the energy windows that has a unit, however deep (`energy.per.step.net`, `energy.to_accuracy.1.gross`)."""
    return dict(_with_units("energy", trial.energy or {}))


def _with_units(path: str, found: Any) -> Iterator[tuple[str, Quantity]]:
    if isinstance(found, dict) and {"value", "unit", "provenance"} <= set(found):
        yield path, Quantity(found["value"], found["unit"], Provenance(found["provenance"]), found["uncertainty"])
        return
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for name, each in inner:
        yield from _with_units(f"{path}.{name}", each)
