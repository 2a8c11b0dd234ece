"""One registry for each kind of thing that plugins may add: the house's own and those of others, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from hil.entry_points import entry_points, normalized
from hil.errors import RigError, close_matches, message_of
from hil.plugins.folders import folders, offers_of
from hil.plugins.guarded import Guarded
from hil.plugins.offer import GROUP, HOUSE, NAME, PACKAGE, Offer, Source

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """The things of one kind by name. As a mapping, it has those that can be used.

    The house's list has the form of entry points, `module:attribute` by name, and its things are loaded and checked as
    those of others. A name of the house is found without a look at any plugin, another one without an import of any
    plugin but its own.

    Args:
        kind: the group of entry points, without `trainrig.`.
        missing: how the message about an unknown name begins, such as `there is no meter`.
        house: returns the house's list.
        accept: returns the thing of a name, given what is at `module:attribute`; raises RigError if it is none.
    """

    def __init__(
        self, kind: str, missing: str, house: Callable[[], Mapping[str, str]], accept: Callable[[str, Any], T]
    ) -> None:
        self.kind, self._missing = kind, missing
        self._house, self._accept = house, accept

    def house_names(self) -> list[str]:
        """Return the names of the house, in its order."""
        return list(self._house())

    def house(self) -> dict[str, T]:
        """Return the house's own things by name."""
        return {offer.name: self._load(offer) for offer in self._own()}

    def names(self) -> list[str]:
        """Return all names, those of the house first. Nothing is imported."""
        return list(dict.fromkeys(offer.name for offer in (*self._own(), *self._foreign()) if _is_name(offer)))

    def __contains__(self, name: object) -> bool:
        """Return whether something is offered under a name, be it broken or not."""
        return name in self._house() or name in self.names()

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise KeyError(name)
        return self.find(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._house()
        yield from (offer.name for offer, error in self.checked(house=False) if error is None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, name: str) -> T:
        """Return the thing of a name.

        Raises:
            RigError: there is none of this name.
            Blocked: its plugin is broken.
        """
        offer = self._offer(name)
        if offer is None:
            broken = "".join(f" ({message_of(error)})" for error in folder_errors()[:1])
            raise RigError(f"{self._missing} {name!r}{broken}: {close_matches(name, self.names())}")
        return self._load(offer)

    def plugin_of(self, name: str) -> str:
        """Return the package of a plugin that offers a name, with its version; empty for the house."""
        offer = self._offer(name)
        return "" if offer is None or offer.source == HOUSE else str(offer.source)

    def running(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Return a context in which code of the thing of a name is called, as `Offer.running`."""
        offer = self._offer(name)
        return offer.running() if offer is not None else contextlib.nullcontext()

    def guarded(self, name: str, thing: Any, /, *signals: type[Exception], **gives: Callable[[Any], str]) -> Any:
        """Return an object that the thing of a name has made, so that all errors of a plugin's code name the plugin.

        Objects of the house are returned as they are. `signals` and `gives` are those of `Guarded`.
        """
        offer = self._offer(name)
        if thing is None or offer is None or offer.source == HOUSE:
            return thing
        return Guarded(thing, offer, signals, gives)

    def left_out(self, name: str) -> list[RigError]:
        """Return the errors of those whose name is taken; for the house's names, plugins are not looked at."""
        if name in self._house():
            return []
        return [error for offer, error in self.checked(house=False) if offer.name == name and error is not None]

    def working(self) -> tuple[dict[str, T], list[RigError]]:
        """Return the things that can be used by name, and the errors of those that cannot."""
        found: dict[str, T] = {}
        errors = folder_errors()
        for offer, error in self.checked():
            if error is None:
                found[offer.name] = self._load(offer)
            else:
                errors.append(error)
        return found, errors

    def checked(self, house: bool = True) -> Iterator[tuple[Offer, RigError | None]]:
        """Yield everything that is offered, with the error of what cannot be used: it is loaded for this.

        Without `house`, the house's own are neither loaded nor yielded.
        """
        taken = {} if house else {offer.name: offer for offer in self._own()}
        for offer in [*(self._own() if house else ()), *self._foreign()]:
            try:
                if not _is_name(offer):
                    raise offer.broken("its name is not of lower-case letters, digits, dots and dashes", "rename it")
                if offer.name in taken:
                    raise offer.broken(f"{taken[offer.name].source} has this name already", "rename it")
                taken[offer.name] = offer
                self._load(offer)
            except RigError as error:
                yield offer, error
            else:
                yield offer, None

    def _offer(self, name: str) -> Offer | None:
        """Return the offer of a name, the house's first: others are looked for when it has none."""
        own = self._house().get(name)
        offers = self._foreign() if own is None else [Offer(self.kind, name, own, HOUSE)]
        return next((offer for offer in offers if offer.name == name and _is_name(offer)), None)

    def _own(self) -> list[Offer]:
        return [Offer(self.kind, name, value, HOUSE) for name, value in self._house().items()]

    def _foreign(self) -> list[Offer]:
        return [offer for offer in foreign_offers() if offer.kind == self.kind]

    def _load(self, offer: Offer) -> T:
        thing = offer.load()
        try:
            with offer.running():
                return self._accept(offer.name, thing)
        except RigError as error:
            if offer.source == HOUSE:
                raise
            raise offer.broken(str(error).rstrip(".?")) from error


def foreign_offers() -> list[Offer]:
    """Return what others offer: installed packages by name, then folders in the order of rig.toml.

    A package that is installed, and also a folder of rig.toml, counts as the folder.
    """
    by_folder = [offer for found in _each_folder() if isinstance(found, list) for offer in found]
    replaced = {normalized(offer.source.package) for offer in by_folder}
    left_out = {PACKAGE, *replaced}
    installed = [
        Offer(point.group.removeprefix(GROUP), point.name, point.value, Source(point.package, point.version))
        for point in entry_points()[0]
        if normalized(point.package) not in left_out
    ]
    return [*installed, *by_folder]


def folder_errors() -> list[RigError]:
    """Return the errors of folders and packages of which nothing can be said by name."""
    return [*map(RigError, entry_points()[1]), *(found for found in _each_folder() if isinstance(found, RigError))]


def _each_folder() -> Iterator[list[Offer] | RigError]:
    try:
        named = folders()
    except RigError as error:
        yield error
        return
    for folder in named:
        try:
            yield offers_of(folder)
        except RigError as error:
            yield error


def _is_name(offer: Offer) -> bool:
    return NAME.fullmatch(offer.name) is not None
