"""`hil network import`: a .tflite as a network file, with a summary of what it is and where it fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hil import boards
from hil.atomic_write import atomic_file, write_atomic
from hil.boards import Board
from hil.errors import RigError
from hil.images import image_of, prebuilt_boards
from hil.training.graph.file import encode
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph, inference_peak
from hil.training.tflite.importing import Imported, network_of
from hil.training.tflite.origin import FileOf, Origin, beside
from hil.training.tflite.read import read_model


@dataclass(frozen=True)
class Need:
    """Bytes that a network needs: its file, and its values while it runs."""

    file: int
    values: int

    def place_on(self, board: Board) -> str:
        """Return where the file may lie on a board, `RAM` or `flash`; empty if the network does not fit."""
        arena, room = image_of(board.name).arena_size, board.room_for_data
        if self.file + self.values <= arena:
            return "RAM"
        return "flash" if room is not None and self.file <= room.size and self.values <= arena else ""


def import_model(path: Path, out: Path, runtime: str, block_map: str) -> str:
    """Write the network file of a model and what is kept beside it; return the summary.

    Raises:
        RigError: the model cannot be read or run, fits no board, or `out` has another suffix.
        OSError: the files cannot be written.
    """
    if out.suffix.lower() != ".hnet":
        raise RigError(f"{out} is no name of a network file: end it with .hnet.")
    data, model = read_model(path)
    imported = network_of(model, path.name, runtime, block_map)
    blob = encode(imported.graph)
    need = Need(len(blob), inference_peak(imported.graph))
    places = {name: need.place_on(boards.load(name)) for name in prebuilt_boards()}
    if not any(places.values()):
        raise RigError(_too_large(path, need))
    origin = Origin.of(FileOf.of(out, blob), FileOf.of(path, data), runtime, imported)
    with atomic_file(out) as partial:
        partial.write_bytes(blob)
    write_atomic(beside(out), origin.text())
    return "\n".join(_summary(imported, out, need, places, runtime, block_map))


def _too_large(path: Path, need: Need) -> str:
    arenas = {name: image_of(name).arena_size for name in prebuilt_boards()}
    rooms = {name: room.size for name in prebuilt_boards() if (room := boards.load(name).room_for_data) is not None}
    most_arena, most_room = max(arenas, key=lambda name: arenas[name]), max(rooms, key=lambda name: rooms[name])
    return (
        f"{path.name} is too large for every board: its network file has {need.file:,} bytes and its values need "
        f"{need.values:,} bytes of RAM, where {most_room} has {rooms[most_room]:,} bytes of flash for a file and "
        f"{most_arena} an arena of {arenas[most_arena]:,} for both: use a smaller input or fewer channels."
    )


def _summary(
    imported: Imported, out: Path, need: Need, places: dict[str, str], runtime: str, block_map: str
) -> Iterator[str]:
    graph = imported.graph
    size = "x".join(map(str, graph.in_shape))
    weights = sum(layer.weight_count for layer in graph.layers)
    biases = sum(layer.channels for layer in graph.layers)
    yield (
        f"{out}: {len(graph.layers)} layers, input {size} of scale {graph.scale:.6g} and zero point {graph.zero}, "
        f"{graph.classes} outputs"
    )
    yield f"{weights:,} weights, {biases:,} biases, {graph.macs:,} multiply-accumulates"
    yield f"the file has {need.file:,} bytes; inference needs {need.values:,} bytes of RAM for values (analytic)"
    fitting = {name: place for name, place in places.items() if place}
    yield f"inference fits {', '.join(f'{name} (file in {place})' for name, place in fitting.items())}"
    left = [name for name, place in places.items() if not place]
    if left:
        yield f"it does not fit {', '.join(left)}"
    yield f"rounding of {runtime}: {_roundings(graph)}"
    yield f"blocks {'of the map' if block_map else 'by equal shares of multiply-accumulates'}:"
    for block in (1, 2, 3, 4):
        names = [layer.name for layer in graph.layers if layer.block == block]
        macs = sum(layer.macs for layer in graph.layers if layer.block == block)
        yield f"  {block}: {' '.join(names) or 'none'} ({macs:,})"
    yield from imported.notes
    at_limit = sum(int((abs(own.weights.astype(int)) == 127).sum()) for own in graph.own.values())
    if at_limit:
        yield f"{at_limit:,} weights are +-127: the first step of training makes them +-126 where they are trained."


def _roundings(graph: Graph) -> str:
    rescaling = [layer for layer in graph.layers if layer.own is not None or layer.op in (Op.ADD, Op.MEAN)]
    kinds: dict[str, list[str]] = {}
    for layer in rescaling:
        names = kinds.setdefault(layer.rounding, [])
        if layer.op.name.lower() not in names:
            names.append(layer.op.name.lower())
    return "; ".join(f"{rounding} in {', '.join(names)}" for rounding, names in kinds.items())
