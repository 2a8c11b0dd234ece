"""The heat maps of the gradients of a sample on the page of its trial."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hil.errors import RigError
from hil.record import schema
from hil.report import render, render_single
from hil.report.gradients import COLOURS, PALETTE, layer_maps

from .conftest import GRADIENTS, list_again, make_steps, make_trial
from .rendered import body, trial_of

Record = Callable[..., Path]


def section_of(record: Record, found: dict[str, Any]) -> str:
    page = trial_of(record((make_trial(sample_gradients=found), make_steps(5))))
    return re.search(r'<section aria-labelledby="gradients">.*?</section>', page, re.S)[0]


def pixels_of(picture: str) -> list[list[int]]:
    """Return the places in the palette of a picture, whose palette, sizes and checksums are checked."""
    data = base64.b64decode(picture.removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        chunks[kind] = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + chunks[kind])
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"]
    width, height, *others = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert others == [8, 3, 0, 0, 0] and chunks[b"tRNS"] == b"\0"
    assert chunks[b"PLTE"] == b"".join(map(bytes, PALETTE))
    lines = zlib.decompress(chunks[b"IDAT"])
    assert len(lines) == height * (width + 1)
    rows = [lines[row * (width + 1) : (row + 1) * (width + 1)] for row in range(height)]
    assert all(row[0] == 0 for row in rows)
    return [list(row[1:]) for row in rows]


def test_the_made_up_maps_are_some_that_the_schema_takes() -> None:
    jsonschema.validate(GRADIENTS, {"$ref": "#/$defs/SampleGradients", "$defs": schema()["$defs"]})


def test_the_section_says_what_is_shown_and_where_it_comes_from(record: Record) -> None:
    section = section_of(record, GRADIENTS)
    words = " ".join(re.sub(r"<.*?>", " ", section).split())
    for said in (
        "Gradients of one sample",
        "last 2 trained layers, the last layer first",
        "the first one of step 0, in both columns",
        "before step 199, the last one of the trial",
        "computed by the NumPy reference, not read from the board",
        "agree with the board's bit for bit",
        "Down: output channels. Across: the weights of each.",
        "fc2: 2 channels × 3 weights",
        "conv1: 4 channels × 5 weights",
        "1.5, linear, the same scale for both columns. A cell is one weight.",
        "Step 0: largest value 2; 4 of 4 channels kept (100.0 %)",
        "Step 199: largest value 0.5; 1 of 4 channels kept (25.0 %)",
        "2, linear, the same scale for both columns. A cell is a block of 2 × 3 weights and shows the largest value",
        "A hatched row is empty: the dynamic sparse update skips all channels of the row",
    ):
        assert said in words
    assert section.index("<h3>fc2:") < section.index("<h3>conv1:")
    assert section.count("<img") == 4 and all(alt for alt in re.findall(r'alt="([^"]*)"', section))
    assert "<script" not in section and "http" not in section
    assert re.findall(r'src="(.{22})', section) == ["data:image/png;base64,"] * 4


def test_pixels_follow_one_scale_a_layer(record: Record) -> None:
    """Of conv1 step 199 has 0.5 at most, a quarter of the 2.0 of step 0."""
    conv1 = layer_maps(make_trial(sample_gradients=GRADIENTS))[1]
    first, last = (pixels_of(one.picture) for one in conv1.maps)
    assert conv1.top == 2.0
    assert first == [[1 + round(254 * 16 / 255), 255], [1, 1 + round(254 * 128 / 255)]]
    assert last == [[0, 0], [1 + round(254 / 4), 1 + round(254 * 128 / 255 / 4)]]
    assert (conv1.maps[0].width, conv1.maps[0].height) == (32, 32)


def test_colours_of_a_scale_become_lighter() -> None:
    light = [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in PALETTE[1:]]
    assert len(light) == COLOURS and all(a <= b for a, b in pairwise(light))
    assert light[-1] > 5 * light[0]


def test_gradients_of_nothing_but_zeros_have_the_colour_of_zero() -> None:
    zeros = {"largest": 0.0, "kept": None, "rows": ["0000", "0000"]}
    layer = {"layer": "fc1", "channels": 2, "weights": 2, "down": 1, "across": 1, "maps": [zeros]}
    (found,) = layer_maps(make_trial(sample_gradients={"left_out": "", "steps": [0], "layers": [layer]}))
    assert pixels_of(found.maps[0].picture) == [[1, 1], [1, 1]]


def test_a_dense_trial_of_one_step(record: Record) -> None:
    layer = GRADIENTS["layers"][0] | {"maps": [GRADIENTS["layers"][0]["maps"][0] | {"kept": None}]}
    section = section_of(record, {"left_out": "", "steps": [3], "layers": [layer]})
    assert "the only step of the trial" in section and "only trained layer" in section and "columns" not in section
    assert "kept" not in section and "hatched" not in section and section.count("<img") == 1


def test_the_page_says_why_maps_are_left_out(record: Record) -> None:
    section = section_of(record, {"left_out": "board and reference differ.", "steps": [], "layers": []})
    assert "The maps are left out: board and reference differ. They are shown only if" in section
    assert "<img" not in section


def test_an_old_record_has_no_section(record: Record) -> None:
    trial = make_trial(method="fqt")
    assert trial.sample_gradients is None
    folder = record((trial, make_steps(5)))
    for path in (folder / "results.json", *folder.glob("*/trial.json")):
        old = re.sub(r' *"sample_gradients": null,\n', "", path.read_text(encoding="utf-8"))
        assert "sample_gradients" not in old
        path.write_text(old, encoding="utf-8")
    list_again(folder)
    assert "gradients" not in trial_of(folder).lower()


def test_maps_are_on_the_single_page_too(record: Record) -> None:
    folder = record((make_trial(sample_gradients=GRADIENTS), make_steps(5)))
    page = body(render_single(folder))
    assert 'id="t1-gradients"' in page and 'href="#t1-gradients"' in page and page.count("data:image/png") == 4


@pytest.mark.parametrize(
    "change",
    [
        {"channels": 9},
        {"weights": 9},
        {"weights": 10**18, "across": 1},
        {"maps": GRADIENTS["layers"][0]["maps"][:1]},
        {"maps": [one | {"rows": ["00", "0000"]} for one in GRADIENTS["layers"][0]["maps"]]},
    ],
)
def test_a_map_of_another_size_is_damage(record: Record, change: dict[str, Any]) -> None:
    wrong = GRADIENTS | {"layers": [GRADIENTS["layers"][0] | change]}
    folder = record((make_trial(sample_gradients=wrong), make_steps(5)))
    with pytest.raises(RigError, match="its record is damaged, run the trials again"):
        render(folder)
