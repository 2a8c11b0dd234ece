"""Figures of memory: SRAM in use, and the lifetime of each buffer of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hil.record import TrialRecord
from hil.report.style import (
    BOARD,
    GREY,
    LIMIT,
    REFERENCE,
    STACKED,
    THIRD,
    Figure,
    Trace,
    axis,
    styled,
    vertical_line,
)  # fmt: skip

ALWAYS = ("static", "arena_peak", "stack_peak")
USED = (  # the others are shown if they are not 0
    ("static", THIRD), ("arena_peak", BOARD), ("stack_peak", REFERENCE), ("sections", "#c9a66b"), ("unclaimed", LIMIT),
)  # fmt: skip
KINDS = {
    "blob": GREY, "samples": THIRD, "labels": THIRD, "plus_logits": THIRD, "plus_exponents": THIRD,
    "noise": "#7fc7a8", "act": BOARD, "acc": "#6aa9dd", "scratch": "#9dc4e6", "err": REFERENCE,
    "eacc": "#edb36a", "bscratch": "#f3cf9f", "grad": LIMIT, "file": GREY, "theta": LIMIT, "beta": LIMIT,
    "queries": "#7fc7a8", "value": BOARD, "input": BOARD, "work": "#9dc4e6", "node": REFERENCE, "sums": "#edb36a",
    "coordinates": "#edb36a", "error": REFERENCE, "back": "#edb36a", "velocity": "#b8a1d9",
    "directions": "#7fc7a8", "mask": "#c9a66b", "guide": "#b8a1d9", "moments": "#b8a1d9",
    "fisher": "#c9a66b", "selected": LIMIT,
    "observed": "#7fc7a8", "error_ranges": "#7fc7a8", "table": "#9dc4e6", "kept": "#c9a66b", "statistics": "#b8a1d9",
    "rank": "#edb36a", "gain": LIMIT,
}  # fmt: skip
WORDS = {
    "blob": "network file, weights in place", "samples": "samples and labels", "noise": "pool of noise",
    "act": "activations", "acc": "int32 sums", "scratch": "padded inputs", "err": "errors",
    "eacc": "int32 sums of errors", "bscratch": "padded inputs, backward", "grad": "gradients",
    "theta": "trained weights and biases", "queries": "deltas and seeds", "value": "values",
    "node": "perturbed nodes, errors", "sums": "gradients of a chunk", "back": "int32 sums of errors",
    "velocity": "momentum",
    "directions": "states and signs of directions",
    "mask": "mask of updated weights", "guide": "momentum of directions",
    "moments": "moments of AdamW",
    "fisher": "Fisher information of channels", "selected": "gradients and momentum of chosen layers",
    "observed": "ranges that were seen", "table": "tables of hard_swish", "kept": "channels that took part",
    "statistics": "mean and deviation of gradients", "rank": "norms of channels",
    "gain": "gains, and factors made from them",
}  # fmt: skip
GROUPS = {  # kinds that share the legend entry of another kind
    "labels": "samples", "plus_logits": "samples", "plus_exponents": "samples", "file": "blob", "beta": "theta",
    "work": "scratch", "coordinates": "sums", "error": "err", "input": "value",
    "error_ranges": "observed",
}  # fmt: skip


def memory_bars(trial: TrialRecord) -> Figure:
    """Draw the bytes in use by what uses them, next to plan, formula and budget."""
    sram: Mapping[str, Any] = trial.sram
    provenance: Mapping[str, Any] = trial.sram_provenance
    kib = {name: value / 1024 for name, value in sram.items() if name != "regions" and value is not None}
    bars = []
    for name, colour in USED:
        if name in ALWAYS or kib.get(name):
            label = f"in use<br>({provenance[name]})"
            bars.append(_bar(label, kib[name], colour) | {"name": name.replace("_", " ")})
    formula: str = trial.analytic["equation"] if trial.analytic else "the paper's formula"
    formula = f"equation {formula}" if formula.startswith("(") else formula
    for name, label in (("planned", "arena planned"), ("analytic", formula)):
        if name in kib:
            bars.append(_bar(f"{label}<br>({provenance[name]})", kib[name], GREY) | {"showlegend": False})
    budget: dict[str, Any] = {}
    if "budget" in kib:
        word = {"text": "budget", "font": {"color": LIMIT}, "showarrow": False}
        place = {"x": kib["budget"], "xref": "x", "xanchor": "left", "y": 1, "yref": "y domain", "yanchor": "top"}
        budget = {"shapes": [vertical_line(kib["budget"], LIMIT, "dash")], "annotations": [word | place]}
    return styled(bars, 240, "KiB", axis("", autorange="reversed"), **STACKED, **budget)


def _bar(label: str, kib: float, colour: str) -> Trace:
    return {"type": "bar", "y": [label], "x": [kib], "orientation": "h", "marker": {"color": colour}}


def lifetimes(plan: Mapping[str, Any]) -> Figure:
    """Draw every buffer of the plan as a rectangle over its time slots, at its offset in the arena."""
    rectangles: list[Trace] = []
    shown = set()
    for buffer in sorted(plan["buffers"], key=lambda buffer: list(KINDS).index(kind_of(buffer["name"]))):
        kind = kind_of(buffer["name"])
        group = GROUPS.get(kind, kind)
        left, right = buffer["first"] - 0.5, buffer["last"] + 0.5
        low, high = buffer["offset"] / 1024, (buffer["offset"] + buffer["size"]) / 1024
        rectangles.append({
            "type": "scatter", "x": [left, right, right, left, left], "y": [low, low, high, high, low],
            "fill": "toself", "mode": "lines", "line": {"color": "rgba(128,128,128,0.7)", "width": 0.5},
            "fillcolor": KINDS[kind], "name": WORDS[group], "legendgroup": group, "showlegend": group not in shown,
            "hoveron": "fills", "text": f"{buffer['name']}: {buffer['size']:,} B at {buffer['offset']:,}",
            "hoverinfo": "text",
        })  # fmt: skip
        shown.add(group)
    slots = list(plan["slots"])
    marks: dict[str, Any] = {"tickvals": list(range(len(slots))), "ticktext": slots, "tickangle": -60}
    return styled(rectangles, 440, axis("", range=[-0.6, len(slots) - 0.4], **marks), "KiB of the arena")


def kind_of(name: str) -> str:
    """Return the kind of a buffer: its name without the layer."""
    return name.partition("[")[0]
