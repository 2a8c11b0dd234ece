"""The page of what a figure of FQT costs: time, energy, speedups and memory as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from hil.training.experiments.cost_files import kilobytes, table_line
from hil.training.experiments.fqt import BATCH, SHARES
from hil.training.experiments.fqt_costs import IDLE_MA, RAM_KB, SPEEDUP, STEPS, Cost, Figure, speedups

CASE = ("board", "data", "network", "trained")
TIMES = ("share", "steps", "forward, ms", "backward, ms", "update, ms", "backward, cycles")
ENERGY = ("energy, mJ", "idle, W")
PLACES = {None: "–", True: "flash", False: "RAM"}


def as_markdown(figure: Figure, costs: Sequence[Cost]) -> str:
    """Return the tables of time, energy and memory."""
    lines = [f"# {figure.title}", "", f"Of a sample; the paper has {STEPS:,} consecutive steps.", ""]
    lines += _head(*TIMES, *(ENERGY if figure.energy else ()), "reality")
    for cost in costs:
        times = (_ms(cost, phase) for phase in ("forward", "backward", "update"))
        cycles = f"{cost.cycles['backward'][0]:,.0f}" if cost.cycles else "–"
        entries = [*_named(cost), f"{cost.case.share:g}", str(cost.steps or "–"), *times, cycles]
        entries += [_joules(cost), f"{cost.energy['idle_watts']:.3f}" if cost.energy else "–"] if figure.energy else []
        lines.append(table_line(*entries, f"{cost.reality}, {cost.provenance}" if cost.cycles else cost.verdict))
    lines += _speedup_lines(speedups(costs))
    what = f"by segment (analytic, the network file in flash), arena by plan, watermarks with 1 and {BATCH} samples"
    lines += ["", f"Memory in KB: {what}; RAM of the paper's board.", ""]
    parts = list(costs[0].memory) if costs else []
    lines += _head(*parts, "arena", "1 sample", f"{BATCH} samples", "RAM", "file in")
    for cost in costs:
        of_parts = (kilobytes(cost.memory[part]) for part in parts)
        marks = (kilobytes(cost.watermarks.get(batch)) for batch in (1, BATCH))
        ram = str(RAM_KB.get(cost.case.board, "–"))
        lines.append(table_line(*_named(cost), *of_parts, kilobytes(cost.planned), *marks, ram, PLACES[cost.in_flash]))
    if figure.energy:
        currents = "; ".join(f"{board} {current} mA" for board, current in IDLE_MA.items())
        lines += ["", f"Energy is above idle. Currents of the idle boards in the paper's table II: {currents}."]
    lines += ["", "What differs from the paper:", "", *(f"- {sentence}" for sentence in figure.differences)]
    if reasons := [cost for cost in costs if cost.reason]:
        lines += ["", "Without figures of the board:", ""]
        lines += [f"- {one.verdict}: {one.case.name}: {one.reason}" for one in reasons]
    return "\n".join(lines) + "\n"


def _head(*titles: str) -> list[str]:
    """Return the head of a table that begins with the case; the last column has words."""
    whole = (*CASE, *titles)
    return [table_line(*whole), "|" + "---|" * len(CASE) + "---:|" * (len(titles) - 1) + "---|"]


def _speedup_lines(found: Mapping[str, Mapping[float, float]]) -> list[str]:
    if not found:
        return []
    lines = ["", "Backward pass with all channels divided by that with a share of them, in cycles:", ""]
    lines += [
        f"- {network}: " + ", ".join(f"{share:g}: {ratio:.2f}" for share, ratio in its.items())
        for network, its in found.items()
    ]
    least = [its[SHARES[-1]] for its in found.values() if SHARES[-1] in its]
    if least:
        lines.append(
            f"- mean at {SHARES[-1]:g}: {fmean(least):.2f}; the paper's mean over seven data sets is {SPEEDUP}"
        )
    return lines


def _named(cost: Cost) -> tuple[str, ...]:
    return cost.case.board, cost.case.data, cost.case.network, cost.case.layers


def _ms(cost: Cost, phase: str) -> str:
    found = cost.ms(phase)
    return "–" if found is None else f"{found[0]:.3f} ± {found[1]:.3f}"


def _joules(cost: Cost) -> str:
    return f"{1e3 * cost.energy['joules']:.4g} ± {1e3 * cost.energy['uncertainty']:.2g}" if cost.energy else "–"
