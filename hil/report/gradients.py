"""Heat maps of the gradients of one sample (DT, figure 3), as pictures because a page shows them without a script."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hil.record import TrialRecord
from hil.record.sample_gradients import LEVELS, MOST_CELLS

# PNG, second edition (ISO/IEC 15948:2004).
SIGNATURE = b"\x89PNG\r\n\x1a\n"
DEPTH, INDEXED = 8, 3  # bits of a pixel, and the colour type in which a pixel is its place in the palette
# From 0 to the largest value of a scale; each is lighter than the one before, so that print in grey keeps the order.
ANCHORS = ((20, 16, 48), (92, 28, 108), (190, 52, 84), (242, 128, 52), (255, 232, 140))
COLOURS = 255  # place 0 of the palette is for channels that were skipped
WIDTH, HEIGHT, LARGEST_CELL = 540, 384, 16  # pixels of a map at most, and of a cell


@dataclass(frozen=True)
class HeatMap:
    """A map of a layer in one step: picture, its size in pixels, the largest value, and the number of kept channels."""

    step: int
    picture: str
    width: int
    height: int
    largest: float
    kept: int | None


@dataclass(frozen=True)
class LayerMaps:
    """The maps of a layer, which have one scale from 0 to `top`."""

    layer: str
    channels: int
    weights: int
    down: int
    across: int
    top: float
    maps: list[HeatMap]


def layer_maps(trial: TrialRecord) -> list[LayerMaps]:
    """Return the maps of a trial, from the last layer back; none if the record has none.

    Raises:
        ValueError: a map does not fit its layer.
    """
    found: Mapping[str, Any] = trial.sample_gradients or {"layers": []}
    return [_layer(layer, found["steps"]) for layer in reversed(found["layers"])]


def scale_bar() -> str:
    """Return the colours of a scale as a background in CSS."""
    return f"linear-gradient(to right, {', '.join(f'rgb{anchor}' for anchor in ANCHORS)})"


def _layer(layer: Mapping[str, Any], steps: list[int]) -> LayerMaps:
    top = max((each["largest"] for each in layer["maps"]), default=0.0)
    maps = [_heat_map(layer, each, step, top) for each, step in zip(layer["maps"], steps, strict=True)]
    return LayerMaps(
        layer["layer"], layer["channels"], layer["weights"], layer["down"], layer["across"], top, maps
    )  # fmt: skip


def _heat_map(layer: Mapping[str, Any], found: Mapping[str, Any], step: int, top: float) -> HeatMap:
    wanted, columns = (-(-layer[of] // layer[by]) for of, by in (("channels", "down"), ("weights", "across")))
    rows = [bytes.fromhex(row) for row in found["rows"]]
    if len(rows) != wanted or columns > MOST_CELLS or any(len(row) not in (0, columns) for row in rows):
        raise ValueError("a map of gradients has another size than its layer")
    unit = found["largest"] / top / LEVELS if top else 0.0
    pixels = [bytes(1 + round((COLOURS - 1) * level * unit) for level in row) or bytes(columns) for row in rows]
    cell = max(1, min(LARGEST_CELL, WIDTH // columns, HEIGHT // len(rows)))
    return HeatMap(
        step, data_uri(pixels, PALETTE), cell * columns, cell * len(rows), found["largest"], found["kept"]
    )  # fmt: skip


def _colour(share: float) -> tuple[int, int, int]:
    place = share * (len(ANCHORS) - 1)
    below = min(math.floor(place), len(ANCHORS) - 2)
    low, high = ANCHORS[below], ANCHORS[below + 1]
    red, green, blue = (round(a + (place - below) * (b - a)) for a, b in zip(low, high, strict=True))
    return red, green, blue


PALETTE = [(0, 0, 0), *(_colour(place / (COLOURS - 1)) for place in range(COLOURS))]


def data_uri(rows: Sequence[bytes], palette: Sequence[tuple[int, int, int]]) -> str:
    """Return rows of pixels of equal length as a picture; a pixel is its place in the palette, and 0 is transparent."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), DEPTH, INDEXED, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)  # each row unfiltered
    colours = b"".join(bytes(colour) for colour in palette)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"tRNS", b"\0"), (b"IDAT", pixels), (b"IEND", b""))
    data = SIGNATURE + b"".join(_chunk(kind, content) for kind, content in parts)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
