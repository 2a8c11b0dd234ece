"""`hil methods`: every method with its variants, settings and networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hil import boards
from hil.errors import RigError
from hil.matrix.cells import ELASTICZO, METHOD_NAMES, cells
from hil.matrix.listing import list_entries
from hil.network import settings as exponents
from hil.network.tflite import settings as graphs
from hil.network.tflite.lives import Lives
from hil.network.tflite.methods import METHODS
from hil.trial.spec import TrialSpec
from hil.trial.subject.choose import graph_of

DOCS = {
    ELASTICZO: "docs/arithmetic.md",
    "int8-bp": "docs/arithmetic-backward.md",
    "mcutrain": "docs/arithmetic-backward.md",
}
ZEROTH_ORDER = "docs/arithmetic-zeroth-order.md"
NO_SETTINGS = ("batch", "seed", "partition", "method")  # fields of the trial, or given by method and variant


@dataclass(frozen=True)
class Setting:
    """One setting of a method.

    Attributes:
        name: in `TrialSpec.settings`.
        default: of the method; a variant may have another.
        values: description of the valid values.
        choices: the valid values of a setting that is a word; else empty.
        least, most: inclusive bounds of a setting that is a whole number; else None.
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
        settings: those that differ from the defaults of the method.
        networks: those that it can train, on a large enough board.
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
        variants: of the method, the default first.
        settings: of the method.
    """

    name: str
    docs: str
    variants: tuple[Variant, ...]
    settings: tuple[Setting, ...]


def methods(names: Iterable[str] = METHOD_NAMES) -> list[Method]:
    """Return the named methods."""
    own: dict[str, Mapping[str, Mapping[str, Any]]] = {
        ELASTICZO: {name: {} for name in exponents.VARIANTS},
        **METHODS,
    }
    chosen = {False: _settings(exponents.Settings, exponents), True: _settings(graphs.GraphSettings, graphs)}
    return [
        Method(name, DOCS.get(name, ZEROTH_ORDER), _variants(name, own[name]), chosen[name in METHODS])
        for name in names
    ]


def _variants(method: str, known: Mapping[str, Mapping[str, Any]]) -> tuple[Variant, ...]:
    trained: dict[str, list[str]] = {name: [] for name in known}
    for cell in cells(boards.names()[:1], methods=[method]):
        if _trains(cell.spec()):
            trained[cell.variant].append(cell.network)
    return tuple(
        Variant(name, {key: value for key, value in changes.items() if key not in NO_SETTINGS}, tuple(trained[name]))
        for name, changes in known.items()
    )


def _trains(spec: TrialSpec) -> bool:
    """Return whether a variant can train any layer of a network, on some board."""
    if spec.method not in METHODS:
        return True
    try:
        Lives(*graph_of(spec))
    except RigError:
        return False
    return True


def _settings(kind: type, module: Any) -> tuple[Setting, ...]:
    """Return the settings that a trial may have, with the bounds that `module` checks."""
    return tuple(_setting(field.name, field.default, module) for field in fields(kind) if field.name not in NO_SETTINGS)


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
