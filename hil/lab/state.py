"""What a labgrid coordinator says of its places and of the resources that exporters offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Resource:
    """A resource of an exporter.

    Attributes:
        path: names of exporter, group, class and resource.
        params: what its class is built from, such as `host` and `port`.
        extra: what the exporter adds, such as the `path` of a device.
        acquired: name of the place that uses it; empty if none does.
        avail: whether the exporter can reach it.
        named: its name in a place that gave it one; else that of the exporter.
    """

    path: tuple[str, str, str, str]
    params: Mapping[str, Any]
    extra: Mapping[str, Any]
    acquired: str = ""
    avail: bool = True
    named: str = ""

    @property
    def cls(self) -> str:
        """Class of the resource, such as `NetworkSerialPort`."""
        return self.path[2]

    @property
    def exporter(self) -> str:
        """Name of its exporter."""
        return self.path[0]

    @property
    def name(self) -> str:
        """Name in the place, for people."""
        return self.named or self.path[3]


@dataclass(frozen=True)
class Place:
    """A place.

    Attributes:
        holder: `host/user` that has acquired it; empty if it is free.
        reservation: token of the reservation that it is kept for; empty if none.
        match: whether the place has a resource with this path, and the name that it gives it (None: it has it not).
        missing: the first pattern of the place that none of these paths fits, None if each has a resource.
    """

    name: str
    aliases: frozenset[str]
    tags: Mapping[str, str]
    holder: str
    reservation: str
    match: Callable[[tuple[str, str, str, str]], str | None] = field(repr=False)
    missing: Callable[[list[tuple[str, str, str, str]]], str | None] = field(repr=False)


@dataclass(frozen=True)
class Waiting:
    """A reservation that waits: who made it, and the tags that its place must have."""

    owner: str
    tags: Mapping[str, str]

    def suits(self, place: Place) -> bool:
        """Return whether a place will do; labgrid gives each place a tag with its name."""
        return self.tags.items() <= {**place.tags, "name": place.name}.items()


@dataclass(frozen=True)
class Snapshot:
    """The places and resources of a coordinator at one moment.

    Attributes:
        places: by name.
        resources: of all exporters.
    """

    places: Mapping[str, Place] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()

    def find(self, name: str) -> Place | None:
        """Return the place with a name or an alias; an alias of several places names none."""
        if name in self.places:
            return self.places[name]
        found = [place for place in self.places.values() if name in place.aliases]
        return found[0] if len(found) == 1 else None

    def tagged(self, key: str, value: str) -> list[Place]:
        """Return the places with a tag, by name."""
        return [place for _, place in sorted(self.places.items()) if place.tags.get(key) == value]

    def of(self, place: Place) -> list[Resource]:
        """Return the resources of a place, under the names that it gives them."""
        return list(_matched(place, self.resources))

    def missing(self, place: Place) -> str | None:
        """Return a pattern of the place for which no exporter offers a resource, None if there is none."""
        return place.missing([each.path for each in self.resources])


def _matched(place: Place, resources: Iterable[Resource]) -> Iterable[Resource]:
    for each in sorted(resources, key=lambda resource: resource.path):
        name = place.match(each.path)
        if name is not None:
            yield Resource(each.path, each.params, each.extra, each.acquired, each.avail, name)
