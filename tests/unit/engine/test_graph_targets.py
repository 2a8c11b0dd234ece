"""The sizes that the methods on graphs are made for: MCUNet at 128 x 128 on two boards, arena, static memory and stack together (PMT, section 4.3)."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from engine.graph_engine import GraphEngine
from hil.training.graph.file import encode
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.networks.drawing import calibration_images
from hil.training.reference.methods import training_loop

PREBUILT = Path(__file__).resolve().parents[3] / "firmware" / "prebuilt"
SAVING = {"consumed": 1, "fused": 1}
TARGETS = [("stm32h7b3", 15, 668 * 1024), ("stm32f746", 4, 209 * 1024)]


def beside_the_arena(board: str) -> int:
    """Return the bytes of static memory and stack of a board's image."""
    with (PREBUILT / f"{board}.elf").open("rb") as file:
        sections = {section.name: section["sh_size"] for section in ELFFile(file).iter_sections()}
    return sum(sections.get(name, 0) for name in (".stack", ".data", ".bss", ".dma"))


@pytest.mark.parametrize(("board", "blocks", "most"), TARGETS)
def test_mcunet_trains_within_the_memory_of_the_paper(library: ctypes.CDLL, board: str, blocks: int, most: int) -> None:
    graph = build("mcunet-128", 1)
    chosen = GraphSettings(queries=2, eta=0.05, blocks=blocks, **SAVING)
    arena = most - beside_the_arena(board)
    engine = GraphEngine(library, encode(graph), arena=arena, flash=True)
    try:
        planned = engine.configure(chosen, 1)
        assert planned <= arena
        images, labels = calibration_images(graph.in_shape, 2, 1), np.array([3])
        engine.samples(images, labels.tolist())
        done = engine.step(0, 1)
        assert engine.arena_peak() <= planned
        assert done.digests == training_loop("poor-mans")(graph, chosen).step(images, labels).digests
    finally:
        engine.close()
