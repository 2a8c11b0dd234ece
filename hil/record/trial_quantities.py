"""The figures of a trial as quantities, each with its unit and provenance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hil.quantity import Provenance, Quantity, share
from hil.record.trial_record import TrialRecord

LATENCY_FIGURES = ("mean", "median", "sd", "least", "most", "p5", "p95", "p99")
COUNTED = Provenance.COUNTED
SEGMENTS = {  # of the memory of FQT
    "trainable": "trainable weights and gradient buffers",
    "feature_maps": "feature maps: the rest of the arena",
    "static": "static weights: the network file, in flash",
}


def quantities(trial: TrialRecord) -> dict[str, Quantity]:
    """Return the figures of a trial by their path in results.json (`sram.total`, `cycles.forward`, ...).

    Figures that are null in the record are left out. Units: B (bytes), cycle (a step), s, and 1 for fractions and
    counts.
    """
    parts = (_accuracy, _sram, _time, _counts, _layers, _latency, _network)
    figures = {path: quantity for part in parts for path, quantity in part(trial).items()}
    return figures | dict(_with_units("energy", trial.energy or {}))


def _accuracy(trial: TrialRecord) -> dict[str, Quantity]:
    accuracy: Mapping[str, Any] = trial.accuracy
    found = {f"accuracy.{name}": accuracy[name] for name in ("before", "after", "reference_after")}
    n = accuracy["n"]
    return {path: share(p, n) for path, p in found.items() if p is not None and n}


def _sram(trial: TrialRecord) -> dict[str, Quantity]:
    sram: Mapping[str, Any] = trial.sram
    words: Mapping[str, Any] = trial.sram_provenance
    probed: Mapping[str, Any] = trial.sram_probe or {}
    found = {
        f"sram.{name}": Quantity(value, "B", Provenance(words[name]))
        for name, value in sram.items()
        if name != "regions" and value is not None
    }
    for name, value in probed.items():
        found[f"sram_probe.{name}"] = Quantity(value, "B", COUNTED, note="read through the probe")
    return found


def _time(trial: TrialRecord) -> dict[str, Quantity]:
    """Cycles and time of a step. The time is cycles over the clock: measured if the cycles are, else modelled."""
    provenance = Provenance(trial.cycles_provenance)
    found = {f"cycles.{phase}": Quantity(count, "cycle", provenance) for phase, count in trial.cycles.items()}
    if trial.step_time_s is not None:
        kept = provenance if provenance is Provenance.MEASURED else Provenance.MODELLED
        found["step_time_s"] = Quantity(trial.step_time_s, "s", kept, note="cycles over the clock")
    return found


def _counts(trial: TrialRecord) -> dict[str, Quantity]:
    found = {
        "steps_compared": Quantity(trial.steps_compared, "1", COUNTED),
        "probe_checks": Quantity(trial.probe_checks, "1", COUNTED),
        "probe_agreed": Quantity(trial.probe_agreed, "1", COUNTED),
        "wall_s": Quantity(trial.wall_s, "s", Provenance.MEASURED, note="by the host's clock"),
    }
    if trial.flash is not None and trial.flash["cycles"] is not None:
        found["flash.cycles"] = Quantity(trial.flash["cycles"], "1", COUNTED, note="by this computer")
    for name, value in trial.link.items():
        unit = "B" if name.startswith("bytes") else "1"
        found[f"link.{name}"] = Quantity(value, unit, COUNTED, note="on the host")
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
    """Cycles of autonomous steps; a mean has its standard error over n steps (GUM, JCGM 100:2008, 4.2.3)."""
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
        cost = (
            f"{group['subtracted']:,} cycles of reading the counter subtracted, at most {group['bound']:,} still in it"
        )
        note = f"n = {group['n']:,}; {cost}"
        for name in LATENCY_FIGURES:
            uncertainty = group["sd"] / math.sqrt(group["n"]) if name == "mean" else None
            found[f"{path}.{name}"] = Quantity(group[name], "cycle", provenance, uncertainty, note)
    p99_s = phases["total"]["p99"] / trial.latency["clock_hz"]
    return found | {"latency.p99_s": Quantity(p99_s, "s", provenance, note="latency.total.p99 over the clock")}


def _network(trial: TrialRecord) -> dict[str, Quantity]:
    """Counts of the network, the paper's formula, and the share of correct signs of INT8*."""
    found = {}
    analytic: Mapping[str, Any] | None = trial.analytic
    if analytic is not None:
        equation = analytic["equation"]
        equation = f"ElasticZO, equation {equation}" if equation.startswith("(") else equation
        found["analytic.bytes"] = Quantity(analytic["bytes"], "B", Provenance.ANALYTIC, note=equation)
        for name in SEGMENTS:
            if name in analytic:
                found[f"analytic.{name}"] = Quantity(analytic[name], "B", Provenance.ANALYTIC, note=SEGMENTS[name])
        for name in ("macs_forward", "weights", "weights_by_zo"):
            found[f"analytic.{name}"] = Quantity(analytic[name], "1", COUNTED)
        if "macs_step" in analytic:
            macs = analytic["macs_step"]
            found["analytic.macs_step"] = Quantity(macs, "1", Provenance.ANALYTIC, note="by the plan of a step")
    work: Mapping[str, Any] = trial.work or {}
    for name, value in work.items():
        found[f"work.{name}"] = Quantity(value, "1", COUNTED, note="by the board, in the first compared step")
    if trial.signs is not None and trial.signs["of"]:
        found["signs.right"] = share(trial.signs["right"] / trial.signs["of"], trial.signs["of"])
    return found


def _with_units(path: str, found: Any) -> Iterator[tuple[str, Quantity]]:
    """Yield every figure with a unit, at any depth (`energy.per.step.net`, `energy.to_accuracy.1.gross`)."""
    if isinstance(found, dict) and {"value", "unit", "provenance"} <= set(found):
        yield path, Quantity(found["value"], found["unit"], Provenance(found["provenance"]), found["uncertainty"])
        return
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for name, each in inner:
        yield from _with_units(f"{path}.{name}", each)
