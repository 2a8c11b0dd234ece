"""`hil methods`: every method with its variants, settings and networks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hil.errors import RigError
from hil.images import prebuilt_boards
from hil.training.commands.listing import list_entries
from hil.training.matrix.cells import METHOD_NAMES, cells
from hil.training.methods import METHODS
from hil.training.methods.settings import MethodSetting, meaning
from hil.training.trial.choose import method_on_network

NOT_CHOSEN = ("batch", "seed", "partition", "method")  # of the trial itself, or following from method and variant


@dataclass(frozen=True)
class ListedSetting:
    """One setting of a method.

    Attributes:
        name: in `TrialSpec.settings`.
        default: of the method; a variant may have another.
        values: description of the valid values.
        choices: the valid values of a setting that is a word; else empty.
        least, most: inclusive bounds of a setting that is a whole number; else None.
        acts_with: where it has an effect, all of it; a trial that gives it elsewhere is refused.
    """

    name: str
    default: float | str
    values: str
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    acts_with: tuple[str, ...] = ()


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
class ListedMethod:
    """One method.

    Attributes:
        name: in `TrialSpec.method`.
        docs: the page that defines it.
        variants: of the method, the default first.
        settings: of the method.
        numbered_variant: a variant with any number in its name, and what the number is; empty: there is none.
    """

    name: str
    docs: str
    variants: tuple[Variant, ...]
    settings: tuple[ListedSetting, ...]
    numbered_variant: str = ""


def methods(names: Iterable[str] = METHOD_NAMES) -> list[ListedMethod]:
    """Return the named methods."""
    return [_method(name) for name in names]


def _method(name: str) -> ListedMethod:
    known = METHODS[name]
    chosen = (field.name for field in fields(known.kind) if field.name not in NOT_CHOSEN)
    settings = tuple(_setting(name, known.kind.table[name]) for name in chosen)
    return ListedMethod(name, known.docs, _variants(name, known.variants), settings, known.numbered_variant)


def _variants(method: str, known: Mapping[str, Mapping[str, Any]]) -> tuple[Variant, ...]:
    trained: dict[str, list[str]] = {name: [] for name in known}
    for cell in cells(prebuilt_boards()[:1], methods=[method]):
        with contextlib.suppress(RigError):  # the variant can train no layer of the network, on any board
            method_on_network(cell.spec())
            trained[cell.variant].append(cell.network)
    return tuple(
        Variant(name, {key: value for key, value in changes.items() if key not in NOT_CHOSEN}, tuple(trained[name]))
        for name, changes in known.items()
    )


def _setting(name: str, known: MethodSetting) -> ListedSetting:
    """Return a setting with the bounds by which it is checked."""
    needs = tuple(meaning(need) for need in known.acts_with)
    if known.words:
        return ListedSetting(name, known.default, " | ".join(known.words), known.words, acts_with=needs)
    if known.limits is not None:
        least, most = known.limits
        return ListedSetting(name, known.default, f"{least}..{most}", (), least, most, needs)
    return ListedSetting(name, known.default, known.range, acts_with=needs)


def main(argv: list[str]) -> int:
    """List the methods."""
    description = "Every method with its variants, the networks that they train, and its settings."
    return list_entries(argv, "method", description, METHOD_NAMES, lambda name: methods([name])[0], _show)


def _show(chosen: list[ListedMethod]) -> None:
    for method in chosen:
        trained = list(dict.fromkeys(network for variant in method.variants for network in variant.networks))
        print(f"{method.name}  ({method.docs})\n  trains {', '.join(trained)}")
        for variant in method.variants:
            words = [f"{name}={value}" for name, value in variant.settings.items()]
            words += [f"not {network}" for network in trained if network not in variant.networks]
            print(f"    {variant.name:13} {', '.join(words)}".rstrip())
        if method.numbered_variant:
            print(f"    {method.numbered_variant}")
    for settings in dict.fromkeys(method.settings for method in chosen):
        print("\nsettings of " + ", ".join(method.name for method in chosen if method.settings == settings))
        for setting in settings:
            acts = f"; acts where {' and '.join(setting.acts_with)}" if setting.acts_with else ""
            print(f"  {setting.name:13} {setting.default!s:13} {setting.values}{acts}")
