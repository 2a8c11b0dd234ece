"""`hil methods`: every method with its variants, settings and networks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from hil.errors import RigError
from hil.images import prebuilt_boards
from hil.training.commands.listing import list_entries
from hil.training.matrix.cells import METHOD_NAMES, cells
from hil.training.methods import METHODS, Method
from hil.training.methods.default_rates import MeasuredRate, measured, row_of, rows
from hil.training.methods.settings import MethodSetting, meaning
from hil.training.trial.choose import method_on_network

NOT_CHOSEN = ("batch", "seed", "partition", "method")  # of the trial itself, or following from method and variant


@dataclass(frozen=True)
class ListedSetting:
    """One setting of a method.

    Attributes:
        name: in `TrialSpec.settings`.
        default: of the method in its default variant, on the format of its bundled networks; a variant may have
            another, and so may a row of `ListedMethod.defaults`.
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
class ListedDefault:
    """What a method takes, under a condition, for settings that a trial leaves open.

    Attributes:
        where: the condition, in words; the first row that applies counts.
        settings: by name.
        reason: why nothing is learnt in the steps of the search; empty: it is.
        measured: the searches of `hil tune` behind it: right held-out images, before training and after it.
    """

    where: str
    settings: Mapping[str, float]
    reason: str
    measured: tuple[MeasuredRate, ...]


@dataclass(frozen=True)
class ListedMethod:
    """One method.

    Attributes:
        name: in `TrialSpec.method`.
        docs: the page that defines it.
        variants: of the method, the default first.
        settings: of the method.
        numbered_variant: a variant with any number in its name, and what the number is; empty: there is none.
        defaults: of settings that depend on variant, format or other settings, such as the learning rate.
    """

    name: str
    docs: str
    variants: tuple[Variant, ...]
    settings: tuple[ListedSetting, ...]
    numbered_variant: str = ""
    defaults: tuple[ListedDefault, ...] = ()


def methods(names: Iterable[str] = METHOD_NAMES) -> list[ListedMethod]:
    """Return the named methods."""
    return [_method(name) for name in names]


def _method(name: str) -> ListedMethod:
    known = METHODS[name]
    chosen = (field.name for field in fields(known.kind) if field.name not in NOT_CHOSEN)
    of_row = row_of(known, known.default_variant, known.format.name.lower())
    its = {} if of_row is None else of_row.settings
    settings = tuple(_setting(known.kind.table[one], its.get(one)) for one in chosen)
    variants = _variants(name, known.variants)
    return ListedMethod(name, known.docs, variants, settings, known.numbered_variant, _defaults(known))


def _defaults(known: type[Method]) -> tuple[ListedDefault, ...]:
    """Return the rows of a method, each with the searches of the variants and networks to which it applies."""
    return tuple(
        ListedDefault(
            row.where, row.settings, row.reason,
            tuple(one for one in measured() if one.method == known.name and one.row(known) is row),
        )
        for row in rows(known.name)
    )  # fmt: skip


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


def _setting(known: MethodSetting, of_row: float | None) -> ListedSetting:
    """Return a setting with the bounds by which it is checked, and with the default of a row if it has one."""
    name, default = known.name, known.default if of_row is None else of_row
    needs = tuple(meaning(need) for need in known.acts_with)
    if known.words:
        return ListedSetting(name, default, " | ".join(known.words), known.words, acts_with=needs)
    if known.limits is not None:
        least, most = known.limits
        return ListedSetting(name, default, f"{least}..{most}", (), least, most, needs)
    return ListedSetting(name, default, known.range, acts_with=needs)


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
        if method.defaults:
            print("  defaults, and right held-out images before and after the steps of `hil tune`")
        for default in method.defaults:
            print(f"    {_words(default.settings)} where {default.where or 'no other row applies'}{_reached(default)}")
    for settings in dict.fromkeys(map(_of_all, chosen)):
        print("\nsettings of " + ", ".join(method.name for method in chosen if _of_all(method) == settings))
        for setting in settings:
            acts = f"; acts where {' and '.join(setting.acts_with)}" if setting.acts_with else ""
            print(f"  {setting.name:13} {setting.default!s:13} {setting.values}{acts}")


def _words(settings: Mapping[str, float]) -> str:
    return " ".join(f"{name}={value:g}" for name, value in settings.items())


def _reached(default: ListedDefault) -> str:
    """Return what a default has reached, or why it reaches nothing."""
    found = [
        f"\n      {one.before} -> {one.after} of {one.images}: {one.variant} on {one.network}, {one.data}, "
        f"{one.steps} steps of {one.batch}, {one.seeds} seeds"
        for one in default.measured
    ]
    return "".join([f": {default.reason}" if default.reason else "", *found])


def _of_all(method: ListedMethod) -> tuple[ListedSetting, ...]:
    """Return the settings of a method, without the defaults that it has for itself."""
    own = {name for default in method.defaults for name in default.settings}
    return tuple(replace(one, default="above") if one.name in own else one for one in method.settings)
