"""The rows of fixtures/golden: which there are, and the file of each method and network (fixtures/golden/README.md says what a field is).

A row's identity and all that is recorded of it are words of the documents: method, variant, network and settings by name, tensors and
stages by the names of layers. No path, class or function of the code is among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil import boards
from hil.training.matrix.cells import cells
from hil.trial import TrialSpec

from .settings import settings_of

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "golden"
NETWORKS = (
    "lenet5",
    "lenet5-tflite",
    "resnet-tiny",
    "lenet5-float32",
    "resnet-tiny-float32",
    "lenet5-w16a8",
    "resnet-tiny-w16a8",
    "fqt-cnn-uint8",
    "fqt-cnn-mixed",
    "mbednet-uint8",
    "mbednet-mixed",
)  # README.md says why not the others
DATA, STEPS = TrialSpec.data, 3
EVALUATED = (0, 1, 2, 3)  # test images


@dataclass(frozen=True)
class Row:
    """A method in a variant on a network, with one of two settings.

    Attributes:
        method, variant, network, setting: names.
        recorded: what the golden file has of it; empty for a row that is yet to be made.
    """

    method: str
    variant: str
    network: str
    setting: str
    recorded: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The row in words, for messages."""
        return f"{self.method} {self.variant}, {self.network}, {self.setting}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What no other row has."""
        return self.method, self.variant, self.network, self.setting


def wanted() -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield every row that there should be, with the settings in which it differs from its variant."""
    for cell in cells(boards.names()[:1], NETWORKS):
        for setting, settings in settings_of(cell.method, cell.variant).items():
            yield Row(cell.method, cell.variant, cell.network, setting, {}), settings


def committed() -> list[Row]:
    """Return every row of the golden files."""
    rows = []
    for path in sorted(FOLDER.glob("*/*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        shared = {name: value for name, value in held.items() if name != "rows"}
        for one in held["rows"]:
            rows.append(Row(held["method"], one["variant"], held["network"], one["setting"], shared | one))
    return rows


def path_of(method: str, network: str) -> Path:
    """Return the golden file of a method on a network."""
    return FOLDER / method / f"{network}.json"


def text_of(value: Any) -> str:
    """Return JSON with every list of numbers or digests on a line of its own, so that a change shows which step it is in."""
    text = json.dumps(value, indent=1)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\s*\n\s*", " ", found[1]) + "]", text) + "\n"
