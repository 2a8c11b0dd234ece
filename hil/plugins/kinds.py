"""The registries of all kinds, and a look at everything that plugins offer."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from hil.clients import GROUPS, registered
from hil.clients import KINDS as OF_CLIENTS
from hil.errors import Blocked, RigError, close_matches
from hil.plugins.offer import GROUP, Offer
from hil.plugins.registry import Registry, folder_errors, foreign_offers

BENCH = {  # by name, because they are on the floors of what they register
    "boards": "hil.boards.catalogue:BOARDS",
    "flash_routes": "hil.targets.flash_route:ROUTES",
    "meters": "hil.energy.meter_kind:METERS",
    "stand_ins": "hil.standins.kinds:STAND_INS",
}


def registries() -> list[Registry[Any]]:
    """Return the registry of each kind: those of the bench, then those of its clients."""
    clients = [client.value for client in registered(OF_CLIENTS) if client.error is None]
    return [resolve_name(place) for kinds in (BENCH, *clients) for place in kinds.values()]


def examined() -> tuple[list[tuple[Offer, RigError | None]], list[RigError]]:
    """Load everything that plugins offer.

    Returns:
        Each offer with its error, None if it can be used; and the errors of folders and packages as a whole, and of
        offers of a kind that there is not.
    """
    known = registries()
    kinds = [registry.kind for registry in known]
    unknown = [
        RigError(
            f"{offer.source} offers {offer.name!r} in the group {GROUP}{offer.kind}, which trainrig does not have: "
            f"{close_matches(offer.kind, kinds)}"
        )
        for offer in foreign_offers()
        if offer.kind not in kinds and GROUP + offer.kind not in GROUPS
    ]
    return [found for registry in known for found in registry.checked(house=False)], [*folder_errors(), *unknown]


def sentence(error: RigError) -> str:
    """Return the sentence of an error of `examined`, without the stage."""
    return error.reason if isinstance(error, Blocked) else str(error)
