"""Figures that a test gives of its device, each with its budgets and what may be said of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hil.errors import DeviceFault, RigError, shown
from hil.gates import FigureGate, Judgement, NoMedian, is_accuracy, judge, never_negative
from hil.quantity import COUNTED, PREFIXES, Provenance, Quantity, with_micro_sign

PHYSICAL = re.compile(r"[munµkMG]?(s|J|W|A|V|Hz|C)|cycles?")  # units of what only silicon has
BASE = {name: (unit, size) for unit, names in PREFIXES.items() for name, size in names.items()}
# Units that a figure may have: those of SI with their prefixes, some others, and what programs count; also products,
# quotients and powers of them, such as `J/step`, `1/s` or `V*A`.
SI = "[fpnuµmkMGT]?(?:s|J|W|A|V|Hz|C|K|g|m|F|H|T|N|Pa|Ohm|Ω|Wh|Ah|eV|bit|B|b)"
UNIT = rf"(?:1|%|{SI}|[KMG]iB|min|h|d|°C|dB|dBm|rad|deg|ppm|baud|px|LSB|ulp|[kMGT]?(?:{COUNTED})(?:e?s)?)"
UNITS = re.compile(rf"{UNIT}(?:\^-?\d)?(?:[*/·]{UNIT}(?:\^-?\d)?)*")
SURE = 3  # standard uncertainties by which what was measured near 0 may be below it
MOST_ACCURATE = 100  # of a test that gives per cent without their unit
SILICON = (Provenance.MEASURED, Provenance.COUNTED)


@dataclass(frozen=True)
class GivenFigure:
    """A figure as it is recorded.

    Attributes:
        name: of the figure.
        quantity: in its base unit, with the provenance that the rig can stand for.
        source: `hil_figure` or `record_property`.
        judgements: one for each budget.
    """

    name: str
    quantity: Quantity
    source: str
    judgements: tuple[Judgement, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the record."""
        budgets = [
            {
                "source": each.gate.source, "limit": each.limit, "relative": each.gate.relative,
                "upper": each.gate.figure.upper, "verdict": each.verdict, "sentence": each.sentence,
            }
            for each in self.judgements
        ]  # fmt: skip
        return {"name": self.name} | self.quantity.to_json() | {"source": self.source, "budgets": budgets}


def quantity_of(
    name: str, value: Any, unit: str, provenance: str | None, uncertainty: float | None, reality: str | None
) -> Quantity:
    """Return a figure of a test in its base unit, such as seconds for `ms`.

    Times, energies and other physical quantities of a stand-in are modelled, whatever the test says. Of a test without
    a device, nothing is measured or counted on one: its figures are declared.

    Args:
        name: of the figure, for messages.
        value: a number; or a Quantity, which has unit, provenance and uncertainty already.
        unit, provenance, uncertainty: of a number.
        reality: what the device is; None without one.

    Raises:
        DeviceFault: the value is NaN or infinite, or below 0 where its unit or name allows no such value, by more than
            its uncertainty explains.
        RigError: it is no number, or the unit, the provenance or the uncertainty is none.
    """
    if not isinstance(name, str) or not name.strip():
        raise RigError(f'a figure has the name {shown(name)}: give it one, as in hil_figure("step_time", 0.07, "s").')
    note = ""
    if isinstance(value, Quantity):
        if provenance is not None or uncertainty is not None:
            raise RigError(
                f"the figure {name} is a quantity, which has unit, provenance and uncertainty: give only it."
            )
        value, unit, provenance, uncertainty, note = (
            value.value, value.unit, value.provenance.value, value.uncertainty, value.note
        )  # fmt: skip
    number = _number(name, value)
    unit = with_micro_sign(unit) if isinstance(unit, str) else unit
    _check_unit(name, unit)
    base, size = BASE.get(unit, (unit, 1))
    number = number * size if size != 1 else number
    spread = 0.0
    if uncertainty is not None:
        spread = _number(f"{name} (uncertainty)", uncertainty)
        if spread < 0:
            raise RigError(f"the figure {name} has the uncertainty {spread:g}: a standard uncertainty is at least 0.")
        uncertainty = spread * size
    _check_range(name, number, unit, base, spread * size)
    given = Quantity(number, base, provenance or Provenance.DECLARED, uncertainty, note)  # type: ignore[arg-type]
    kept, why = given.provenance, ""
    if given.provenance in SILICON and reality is None:
        kept, why = Provenance.DECLARED, f"the test says {given.provenance.value}, but used no device"
    elif (
        given.provenance in SILICON
        and reality != "hardware"
        and (PHYSICAL.fullmatch(base) or given.provenance is Provenance.MEASURED)
    ):
        kept = Provenance.MODELLED
        why = f"the test says {given.provenance.value}, but the device is a stand-in ({reality})"
    return Quantity(number, base, kept, uncertainty, "; ".join(each for each in (note, why) if each))


def _check_range(name: str, number: float, unit: str, base: str, uncertainty: float) -> None:
    """Raise an error of a figure that is outside what it can be: DeviceFault below 0, RigError of another scale."""
    if name == "accuracy" and base == "1" and not 0 <= number <= 1:
        raise RigError(f"the accuracy is {number:g}: give a share of 1, such as 0.91.")
    if is_accuracy(name) and base == "1" and number > (1 if unit == "%" else MOST_ACCURATE):
        raise RigError(f"the figure {name} is {number:g}, above all accuracies: give a share of 1, or the unit %.")
    if never_negative(name, base) and number + SURE * uncertainty < 0:
        raise DeviceFault(
            f"the figure {name} is {number:g}{'' if base == '1' else f' {base}'}, and it cannot be below 0."
        )


def noted(quantity: Quantity, sentence: str) -> Quantity:
    """Return a figure with one more note, if there is one."""
    return replace(quantity, note="; ".join(each for each in (quantity.note, sentence) if each))


def _check_unit(name: str, unit: Any) -> None:
    if not isinstance(unit, str) or not unit.strip():
        raise RigError(f"the figure {name} has the unit {shown(unit)}: give one such as s, B, J, cycle, or 1 for none.")
    if unit not in BASE and not UNITS.fullmatch(unit):
        raise RigError(
            f"the figure {name} has the unit {shown(unit)}, which is none: give one such as s, B, J, cycle or J/step; "
            "for a count of anything else give 1, and say in its name what is counted."
        )


def why_declared(name: str, quantity: Quantity) -> str:
    """Return why no budget judges a declared figure, and what to do, as the end of a sentence."""
    note = f" ({quantity.note})" if quantity.note else ""
    return (
        f"{name} is declared{note}, and a declared figure is judged by no budget: give hil_figure the provenance "
        '"counted" or "measured", in a test with a device, or leave the budget out.'
    )


def judged_figure(
    name: str, quantity: Quantity, gates: Iterable[FigureGate], median: Callable[[FigureGate], Quantity | NoMedian]
) -> GivenFigure:
    """Return a figure of `hil_figure` beside its budgets; `median` is of the last good nights, for relative ones."""
    judged = tuple(judge(gate, quantity, median=median(gate)) for gate in gates)
    return GivenFigure(name, quantity, "hil_figure", judged)


def declared_properties(properties: Sequence[tuple[str, object]], known: Iterable[str]) -> list[GivenFigure]:
    """Return the numbers of pytest's `record_property`, which the test declares and which have no unit."""
    taken, found = set(known), []
    for name, value in properties:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name and name not in taken and is_number and math.isfinite(value):  # type: ignore[arg-type]
            taken.add(name)
            quantity = Quantity(value, "1", Provenance.DECLARED)  # type: ignore[arg-type]
            found.append(GivenFigure(str(name), quantity, "record_property"))
    return found


def _number(name: str, value: Any) -> int | float:
    """Return a number of Python or NumPy as one of Python."""
    item = getattr(value, "item", None)
    try:
        number = item() if callable(item) else value
    except (TypeError, ValueError, RuntimeError):
        number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise RigError(f"the figure {name} is {shown(value)}: give one number.")
    try:
        finite = math.isfinite(number)
    except OverflowError:
        raise RigError(f"the figure {name} is an integer that no float can hold: give a smaller number.") from None
    if not finite:
        raise DeviceFault(f"the figure {name} is {number}.")
    return number


def marked_budgets(item: pytest.Item) -> dict[str, Any]:
    """Return the budgets of the test's marker `budget` by figure. Raises RigError if one names no figure."""
    marked: dict[str, Any] = {}
    for mark in item.iter_markers("budget"):  # the nearest first
        if mark.args:
            raise RigError(
                f'the marker budget has {shown(mark.args[0])}: name the figure, as in budget(sram="256 KiB").'
            )
        if not mark.kwargs:
            raise RigError('the marker budget is empty: name a figure, as in budget(sram="256 KiB").')
        marked = dict(mark.kwargs) | marked
    return marked
