"""The settings that a trial takes where it leaves them open: `[defaults]` of methods.toml, and what they have reached.

No table of settings can have one learning rate for all of its methods, variants and formats. Each row of `[defaults]`
has what `hil tune` chose for some of them; default_rates.json has its grids (tools/keep_rates.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hil.bounded_read import SMALL_TEXT, read_json
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.node import W16A8Parameters
from hil.training.methods.acting import Need
from hil.training.methods.method import Method
from hil.training.methods.settings import defaults

MEASURED = Path(__file__).with_name("default_rates.json")
BITS = {127: "8w8a"}  # by w_max: what papers call `w16a8` with weights of 8 bits
VARIANT, FORMAT = "variant", "format"  # what a row may need besides settings


@dataclass(frozen=True)
class DefaultSettings:
    """A row: what is taken for settings that are left open.

    Attributes:
        needs: where it is taken: all of them; the first row that has what it needs counts.
        settings: by name.
        reason: why nothing is learnt in the steps of `hil tune`; empty: it is.
    """

    needs: tuple[Need, ...]
    settings: Mapping[str, float]
    reason: str = ""

    @property
    def where(self) -> str:
        """Where it is taken, in words."""
        return ", ".join(map(str, self.needs))


@dataclass(frozen=True)
class MeasuredRate:
    """A search of `hil tune`, as default_rates.json has it.

    Attributes:
        method, variant, network, data: what was trained, and on which part of the training images.
        format: of the network (`format_of`).
        settings: other settings that differ from those of the variant.
        command: that repeats it: its grid begins at the default rate.
        steps, batch, seeds: of each rate.
        images: held-out images, times seeds.
        before, after: of them, right before training, and at the chosen rate.
        chosen: the rate.
        inside: whether it lies inside its grid.
        rates: the grid: rate, right images, held-out loss in nats, share of the trained numbers that moved.
    """

    method: str
    variant: str
    network: str
    data: str
    format: str
    settings: Mapping[str, float | str]
    command: str
    steps: int
    batch: int
    seeds: int
    images: int
    before: int
    after: int
    chosen: float
    inside: bool
    rates: tuple[tuple[float, int, float, float], ...]

    def row(self, kind: type[Method]) -> DefaultSettings | None:
        """Return the row that applies to what was trained; `kind` is its method."""
        return row_of(kind, self.variant, self.format, self.settings)


@cache
def rows(method: str) -> tuple[DefaultSettings, ...]:
    """Return the rows of a method of this package; none of another."""
    return tuple(
        DefaultSettings(
            tuple(Need.of(name, condition) for name, condition in row["when"].items()), row["settings"],
            row.get("reason", ""),
        )
        for row in defaults(method)
    )  # fmt: skip


def by_format(method: str) -> tuple[str, ...]:
    """Return the names of the settings whose defaults the rows of a method have."""
    return tuple(dict.fromkeys(name for row in rows(method) for name in row.settings))


def closed(method: Method) -> dict[str, Any]:
    """Return what a trial gives so that it trains as a method does, whatever the rows say: settings that act."""
    settings, names = method.settings, by_format(method.name)
    return {name: getattr(settings, name) for name in names if settings.unmet(name, method.facts) is None}


def row_of(
    kind: type[Method], variant: str, format: str, given: Mapping[str, Any] | None = None
) -> DefaultSettings | None:
    """Return the row for a method in a variant, on networks of a format, with other settings; None if there is none.

    Raises:
        RigError: a setting that decides has no possible value.
    """
    table, its = kind.kind.table, {**kind.variants.get(variant, {}), **(given or {})}
    values = {name: setting.default for name, setting in table.items()} | its | {VARIANT: variant, FORMAT: format}
    for row in rows(kind.name):
        for need in row.needs:
            if need.name in table:
                table[need.name].check(values[need.name])
        if all(need.holds(values) for need in row.needs):
            return row
    return None


def default_settings(kind: type[Method], variant: str, network: Graph, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a method takes in a variant on a network for settings that neither it nor `given` has.

    Raises:
        RigError: a setting that decides has no possible value.
    """
    row = row_of(kind, variant, format_of(network), given)
    known = {**kind.variants.get(variant, {}), **given}
    return {name: value for name, value in row.settings.items() if name not in known} if row is not None else {}


def format_of(network: Graph) -> str:
    """Return the formats of a network in words; `tflite8` before others is frozen, and not named."""
    found = [format for format in network.formats if format is not Format.TFLITE8] or network.formats
    own = next(iter(network.own_of(W16A8Parameters).values()), None)
    named = BITS.get(own.largest) if own is not None else None
    return named or " and ".join(format.name.lower() for format in found)


@cache
def measured() -> tuple[MeasuredRate, ...]:
    """Return the searches behind the rows."""
    found = read_json(MEASURED, SMALL_TEXT, "install trainrig again")
    return tuple(MeasuredRate(**{**one, "rates": tuple(map(tuple, one["rates"]))}) for one in found)
