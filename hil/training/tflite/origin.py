"""What is kept beside an imported network: the model, and the tensors of its layers (docs/tflite.md)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from hil.bounded_read import SMALL_TEXT, read_json
from hil.dataclass_json import rebuilt
from hil.training.tflite.importing import Imported

SUFFIX = ".json"
CURE = "import the model again, or delete the file"


@dataclass(frozen=True)
class FileOf:
    """A file by its name, without its folder, and its SHA-256."""

    file: str
    sha256: str

    @classmethod
    def of(cls, path: Path, data: bytes) -> FileOf:
        """Return that of a file's bytes."""
        return cls(path.name, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class LayerOf:
    """A layer with weights, its operator, and the indexes of its tensors in the model; -1 where it has no biases."""

    layer: str
    operator: str
    block: int
    rounding: str
    weights: int
    bias: int


@dataclass(frozen=True)
class Origin:
    """Where a network came from.

    Attributes:
        network: the network file.
        model: the .tflite.
        runtime: whose rounding its layers have.
        layers: those with weights.
        notes: what is not as the model says.
    """

    network: FileOf
    model: FileOf
    runtime: str
    layers: tuple[LayerOf, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, network: FileOf, model: FileOf, runtime: str, imported: Imported) -> Origin:
        """Return that of an imported network."""
        layers = tuple(
            LayerOf(
                node.name, imported.operators[index], node.block, node.rounding,
                imported.sources[index].weights, imported.sources[index].bias,
            )
            for index, node in enumerate(imported.graph.layers) if index in imported.sources
        )  # fmt: skip
        return cls(network, model, runtime, layers, imported.notes)

    def text(self) -> str:
        """Return the text of its file."""
        return json.dumps(asdict(self), indent=1) + "\n"


def beside(network: Path) -> Path:
    """Return the path of the file beside a network file."""
    return network.with_name(network.name + SUFFIX)


def read_origin(network: Path, data: bytes) -> Origin | None:
    """Return where the network of a file came from; None if nothing beside it says so, or it is that of other bytes.

    Raises:
        RigError: the file beside it is damaged.
    """
    path = beside(network)
    if not path.is_file():
        return None
    origin = rebuilt(Origin, read_json(path, SMALL_TEXT, CURE), str(path), CURE)
    return origin if origin.network.sha256 == FileOf.of(network, data).sha256 else None
