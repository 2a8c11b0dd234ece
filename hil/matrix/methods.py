"""`hil methods`: every method with its variants, its settings and the networks that it trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hil import boards
from hil.errors import RigError
from hil.matrix.cells import FIRST_FAMILY, METHOD_NAMES, cells
from hil.matrix.listing import list_entries
from hil.network import settings as exponents
from hil.network.tflite import settings as graphs
from hil.network.tflite.lives import Lives
from hil.network.tflite.methods import METHODS
from hil.trial.spec import TrialSpec
from hil.trial.subject.choose import graph_of

DOCS = {
    FIRST_FAMILY: "docs/arithmetic.md",
    "int8-bp": "docs/arithmetic-backward.md",
    "mcutrain": "docs/arithmetic-backward.md",
}
OF_GRAPHS = "docs/arithmetic-zeroth-order.md"
NOT_CHOSEN = ("batch", "seed", "partition", "method")  # of the trial itself, or following from method and variant


@dataclass(frozen=True)
class Setting:
    """One setting of a method.

    Attributes:
        name: in `TrialSpec.settings`.
        default: of the method; a variant may have another.
        values: what may be chosen, in words.
        choices: the same as a list, where it is one of some words; else empty.
        least, most: bounds of a whole number, both included; else None.
    """

    name: str
    default: float | str
    values: str
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Variant:
    """One variant of a method.

    Attributes:
        name: in `TrialSpec.variant`.
        settings: in which it differs from the defaults of the method.
        networks: that it trains, on a board that is large enough.
    """

    name: str
    settings: Mapping[str, Any]
    networks: tuple[str, ...]


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: in `TrialSpec.method`.
        docs: the page that defines it.
        variants: the first is its own.
        settings: what may be set.
    """

    name: str
    docs: str
    variants: tuple[Variant, ...]
    settings: tuple[Setting, ...]


def methods(names: Iterable[str] = METHOD_NAMES) -> list[Method]:
    """Return methods by name."""
    own: dict[str, Mapping[str, Mapping[str, Any]]] = {
        FIRST_FAMILY: {name: {} for name in exponents.VARIANTS},
        **METHODS,
    }
    chosen = {False: _settings(exponents.Settings, exponents), True: _settings(graphs.GraphSettings, graphs)}
    return [
        Method(name, DOCS.get(name, OF_GRAPHS), _variants(name, own[name]), chosen[name in METHODS]) for name in names
    ]


def _variants(method: str, known: Mapping[str, Mapping[str, Any]]) -> tuple[Variant, ...]:
    trained: dict[str, list[str]] = {name: [] for name in known}
    for cell in cells(boards.names()[:1], methods=[method]):
        if _trains(cell.spec()):
            trained[cell.variant].append(cell.network)
    return tuple(
        Variant(name, {key: value for key, value in changes.items() if key not in NOT_CHOSEN}, tuple(trained[name]))
        for name, changes in known.items()
    )


def _trains(spec: TrialSpec) -> bool:
    """Whether a variant trains anything of a network, and can, whatever the board."""
    if spec.method not in METHODS:
        return True
    try:
        Lives(*graph_of(spec))
    except RigError:
        return False
    return True


def _settings(kind: type, module: Any) -> tuple[Setting, ...]:
    """Return the settings that a trial may choose, with the bounds that their module checks them by."""
    return tuple(_setting(field.name, field.default, module) for field in fields(kind) if field.name not in NOT_CHOSEN)


def _setting(name: str, default: Any, module: Any) -> Setting:
    if name in module.WORDS:
        return Setting(name, default, " | ".join(module.WORDS[name]), module.WORDS[name])
    if name in module.LIMITS:
        least, most = module.LIMITS[name]
        return Setting(name, default, f"{least}..{most}", (), least, most)
    return Setting(name, default, module.RANGES[name])


def main(argv: list[str]) -> int:
    """List the methods."""
    description = "Every method with its variants, the networks that they train, and its settings."
    return list_entries(argv, "method", description, METHOD_NAMES, lambda name: methods([name])[0], _show)


def _show(chosen: list[Method]) -> None:
    for method in chosen:
        trained = list(dict.fromkeys(network for variant in method.variants for network in variant.networks))
        print(f"{method.name}  ({method.docs})\n  trains {', '.join(trained)}")
        for variant in method.variants:
            words = [f"{name}={value}" for name, value in variant.settings.items()]
            words += [f"not {network}" for network in trained if network not in variant.networks]
            print(f"    {variant.name:13} {', '.join(words)}".rstrip())
    for settings in dict.fromkeys(method.settings for method in chosen):
        print("\nsettings of " + ", ".join(method.name for method in chosen if method.settings == settings))
        for setting in settings:
            print(f"  {setting.name:13} {setting.default!s:13} {setting.values}")
