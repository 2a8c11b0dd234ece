"""Memory of FQT by the segments of the paper's figure 4, from the plan of the board (analytic)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hil.training.experiments.fqt_published import CONFIGURATIONS
from hil.training.experiments.table import MemoryRow
from hil.training.methods.fqt import Fqt
from hil.training.networks import build

PARTS = (
    "RAM: feature maps, and trainable weights with gradient buffers; flash: the network file, "
    "of which the paper counts the weights that are not trained"
)


def memory_rows(networks: Mapping[str, str], settings: Mapping[str, Any]) -> tuple[MemoryRow, ...]:
    """Return the memory of every configuration of networks by data set, with the network file in flash."""
    found = []
    for data, network in networks.items():
        for configuration in CONFIGURATIONS:
            parts = segments(f"{network}-{configuration}", configuration, settings)
            found.append(MemoryRow(f"{network}, {data}", configuration, parts))
    return tuple(found)


def segments(network: str, configuration: str, settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of the three segments."""
    facts = Fqt.on(build(network, 1), configuration, **settings).analytic()
    return {
        "feature maps": facts["feature_maps"],
        "weights and gradients": facts["trainable"],
        "flash": facts["static"],
    }
