"""What two nights of a device test are compared in: its figures, and steps, tensors and tolerances compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hil.record.device_test import Compared, DeviceTest

FIGURES, DRIFT, TOLERANCE, STEPS = "figures.", "drift.", "tolerance.", "steps_compared"  # what names begin with
CLOSE = "close"  # kind of a tolerance that has two numbers, rtol and atol
SCOPE = ("figure", "tensor", "tolerance")  # what a test may have, and another night of it not

Texts = dict[str, dict[str, str]]  # by one of SCOPE: what a test has, in words, by its name


class DeviceQuantity(NamedTuple):
    """A number of a device test by its name in the history; a tolerance is one, or several, of its tensor."""

    name: str
    unit: str
    provenance: str
    value: float
    uncertainty: float | None


def device_quantities(record: DeviceTest) -> Iterator[DeviceQuantity]:
    """Yield the figures that the test gave, and the largest errors and the tolerance of each tensor."""
    for each in record.figures:
        yield DeviceQuantity(
            f"{FIGURES}{each['name']}", each["unit"], each["provenance"], each["value"], each["uncertainty"]
        )
    for compared in record.comparisons:
        yield from _of_comparison(compared)
    if record.comparisons:
        yield DeviceQuantity(STEPS, "1", "counted", record.steps_compared, None)


def _of_comparison(compared: Compared) -> Iterator[DeviceQuantity]:
    place = f"{compared['name']}." if compared["name"] else ""
    for worst in compared["worst"]:
        for name, value in (("max_ulp", worst["max_ulp"]), ("max_relative", worst["max_relative"])):
            if value is not None:
                yield DeviceQuantity(f"{DRIFT}{place}{worst['tensor']}.{name}", "1", "counted", value, None)
    for tensor in compared["tensors"]:
        fields = dict(tensor["tolerance_fields"])
        kind = str(fields.pop("kind", "tolerance"))
        numbers = {name: value for name, value in fields.items() if isinstance(value, int | float) and value}
        named = numbers if kind == CLOSE else {kind: max(numbers.values(), default=0)}
        for name, value in (named or {kind: 0}).items():
            yield DeviceQuantity(f"{TOLERANCE}{place}{tensor['tensor']}.{name}", "1", "declared", value, None)


def scope_of(quantities: Iterable[DeviceQuantity]) -> Texts:
    """Return what a test has been held to, in words: `size (kB, counted)`, `loss`, `loss: rtol=1e-06`."""
    found: Texts = {what: {} for what in SCOPE}
    for each in quantities:
        if each.name.startswith(FIGURES):
            name = each.name.removeprefix(FIGURES)
            unit = "" if each.unit == "1" else f"{each.unit}, "
            found["figure"][name] = f"{name} ({unit}{each.provenance})"
        elif each.name.startswith(TOLERANCE):
            tensor, _, kind = each.name.removeprefix(TOLERANCE).rpartition(".")
            words = f"{kind}={each.value:g}" if each.value else kind
            before = found["tolerance"].get(tensor)
            found["tolerance"][tensor] = f"{before}, {words}" if before else f"{tensor}: {words}"
            found["tensor"][tensor] = tensor
    return found


def changed_scope(before: Iterable[DeviceQuantity], after: Iterable[DeviceQuantity]) -> list[tuple[str, str, str]]:
    """Return what only one of two nights of a test has, or has otherwise: one of `SCOPE`, its words before and after.

    A night in the history of an older version has steps that were compared, and no tolerance: it says nothing of
    tensors.
    """
    nights = [list(before), list(after)]
    there, here = map(scope_of, nights)
    known = all(_knows_tensors(night) for night in nights)
    found = []
    for what in SCOPE if known else SCOPE[:1]:
        names = [name for name in there[what] if what != "tolerance" or name in here[what]]
        names += [name for name in here[what] if what != "tolerance" and name not in there[what]]
        pairs = [(there[what].get(name, ""), here[what].get(name, "")) for name in names]
        found += [(what, *pair) for pair in pairs if pair[0] != pair[1]]
    return found


def _knows_tensors(night: list[DeviceQuantity]) -> bool:
    names = {each.name for each in night}
    return STEPS not in names or any(name.startswith(TOLERANCE) for name in names)


def is_compared(name: str) -> bool:
    """Return whether a quantity is compared with that of another night, beside the figures that the test gave."""
    return name == STEPS or (name.startswith(DRIFT) and name.endswith(".max_ulp"))


def values_of(record: DeviceTest) -> Mapping[str, float]:
    """Return the numbers of a device test by their names in the history."""
    return {each.name: each.value for each in device_quantities(record)}
