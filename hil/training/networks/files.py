"""Networks of the user: a network file, or a .tflite that is imported with defaults, by path (docs/tflite.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hil.bounded_read import read_file
from hil.errors import RigError
from hil.training.graph.file import decode
from hil.training.graph.graph import Graph
from hil.training.tflite.importing import network_of
from hil.training.tflite.origin import FileOf, read_origin
from hil.training.tflite.read import read_model

LARGEST = 64 << 20  # bytes of a network file: the largest network has 2 MB
NETWORK, MODEL = ".hnet", ".tflite"
CURE = "give a network file (.hnet) or an int8 model (.tflite)"


@dataclass(frozen=True, eq=False)
class NetworkFile:
    """A network that was read from a file.

    Attributes:
        file: the file.
        model: the .tflite that it is, or that its network came from; None if nothing says so.
        graph: its network.
    """

    file: FileOf
    model: FileOf | None
    graph: Graph


def is_path(network: str) -> bool:
    """Return whether the network of a trial is a path, not a name."""
    return network.lower().endswith((NETWORK, MODEL))


def title_of(network: str) -> str:
    """Return what a record calls the network of a trial: a file without its folder."""
    return Path(network).name if is_path(network) else network


def read_network(network: str) -> NetworkFile:
    """Return the network of a path; a file that did not change is read once.

    Raises:
        RigError: the file is missing, damaged, or a model that cannot be run.
    """
    path = Path(network)
    try:
        now = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise RigError(f"the network {path.name!r} cannot be read ({reason}): {CURE}.") from error
    resolved = path.resolve()
    try:
        return _read(resolved, (now.st_mtime_ns, now.st_size, now.st_ino))
    except RigError as error:  # a record may have the message, and its folder is private
        raise RigError(str(error).replace(str(resolved), path.name)) from error


@lru_cache(maxsize=4)
def _read(path: Path, version: tuple[int, int, int]) -> NetworkFile:
    """Read the file of a path; its time, size and number belong to the key."""
    if path.suffix.lower() == MODEL:
        data, model = read_model(path)
        file = FileOf.of(path, data)
        return NetworkFile(file, file, network_of(model, path.name).graph)
    data = read_file(path, LARGEST, CURE)
    graph = decode(data, path.name)
    origin = read_origin(path, data)
    return NetworkFile(FileOf.of(path, data), origin.model if origin is not None else None, graph)
