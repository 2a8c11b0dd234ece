"""The drawn networks of the bench tests: the same in every run, small enough for every board, and full of corners."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hil import boards
from hil.suite.corners.networks import write_network
from hil.suite.corners.samples import WHITE, drawn_samples
from hil.suite.corners.trials import CORNERS, Corner
from hil.training.data import batches
from hil.training.graph.formats import POOLS, WINDOWED, Format, Op
from hil.training.graph.graph import Graph
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.trial import does_not_fit

BOARD = "stm32h7b3"
each_corner = pytest.mark.parametrize(
    "corner", [pytest.param(corner, id=corner.name, marks=pytest.mark.tier(corner.tier)) for corner in CORNERS]
)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> list[Graph]:
    """Return the network of every trial."""
    folder = tmp_path_factory.mktemp("networks")
    return [write_network(folder, corner.network, corner.seed)[1] for corner in CORNERS]


def test_every_trial_has_a_name_of_its_own() -> None:
    assert len({corner.name for corner in CORNERS}) == len(CORNERS)


def test_every_format_and_every_operation_is_drawn(graphs: list[Graph]) -> None:
    assert {layer.format for graph in graphs for layer in graph.layers} == set(Format)
    assert {layer.op for graph in graphs for layer in graph.layers} == set(Op)


def test_windows_have_every_stride_odd_sizes_and_padding_that_differs(graphs: list[Graph]) -> None:
    """In every format but `bfp8`, whose windows have one stride and one padding."""
    for format in set(Format) - {Format.BFP8}:
        layers = [layer for graph in graphs for layer in graph.layers if layer.format is format]
        windows = [layer for layer in layers if layer.op in WINDOWED and layer.op is not Op.POINTWISE]
        assert {stride for layer in windows for stride in layer.stride} >= {1, 2, 3}, format
        assert any(layer.pad[0] != layer.pad[1] for layer in windows), format
        assert any(layer.stride[0] != layer.stride[1] for layer in windows), format
        assert any(layer.taps % 4 for layer in layers if layer.own is not None), format


def test_pools_overlap_and_leave_the_image(graphs: list[Graph]) -> None:
    pools = [layer for graph in graphs for layer in graph.layers if layer.op in POOLS]
    assert any(max(layer.pad) > 0 for layer in pools)
    assert any(layer.stride[0] < layer.kernel[0] and layer.out_shape[0] > 1 for layer in pools)
    assert any((layer.out_shape[0] - 1) * layer.stride[0] + layer.kernel[0] < layer.in_shape[0] for layer in pools)


def test_values_of_the_tight_networks_end_where_their_buffers_do(graphs: list[Graph]) -> None:
    """A byte beyond a value's end is in another buffer: offsets are multiples of 8."""
    tight = [graph for corner, graph in zip(CORNERS, graphs, strict=True) if corner.network.startswith("tight")]
    assert {layer.format for graph in tight for layer in graph.layers} == set(Format)
    for graph in tight:
        sizes = [layer.out_size for layer in graph.layers if layer.out_shape[:2] != (1, 1)]
        assert sizes and all(size % 8 == 0 for size in sizes), graph.name


def test_scales_of_the_even_networks_are_powers_of_two(graphs: list[Graph]) -> None:
    """So a sum times its factor is often exactly half way between two outputs."""
    even = [graph for corner, graph in zip(CORNERS, graphs, strict=True) if "-even" in corner.network]
    assert {layer.format for graph in even for layer in graph.layers} == {Format.TFLITE8, Format.W16A8, Format.AFFINE8}
    for graph in even:
        scales = [graph.scale_of(value) for value in range(len(graph.layers) + 1)]
        scales += [float(scale) for own in graph.own.values() for scale in np.atleast_1d(own.scale)]
        assert {math.frexp(scale)[0] for scale in scales} == {0.5}, graph.name


def test_logits_of_float32_are_equal_in_pairs(graphs: list[Graph]) -> None:
    whole = [graph for graph in graphs if graph.formats == (Format.FLOAT32,)]
    assert whole
    for graph in whole:
        weights = graph.layers[-1].own.weights
        assert all((np.abs(weights - row).sum(axis=1) == 0).sum() > 1 for row in weights), graph.name


def test_strides_are_larger_than_kernels(graphs: list[Graph]) -> None:
    for format in (Format.TFLITE8, Format.AFFINE8, Format.FLOAT32):
        layers = [layer for graph in graphs for layer in graph.layers if layer.format is format]
        for op in (Op.CONV2D, Op.DEPTHWISE):
            assert any(layer.stride[0] > layer.kernel[0] for layer in layers if layer.op is op), (format, op)


def test_samples_have_both_ends_of_the_range_and_equal_pixels() -> None:
    found = drawn_samples(3, (6, 7, 2), 10)
    assert found.dtype == np.uint8 and found.shape == (10, 6, 7, 2)
    assert (found == 0).any() and (found == WHITE).any()
    assert any(np.bincount(image.ravel()).max() > image.size // 2 for image in found)


@pytest.mark.parametrize("board", boards.names())
def test_every_trial_fits_the_board(board: str, tmp_path: Path) -> None:
    for corner in CORNERS:
        assert does_not_fit(corner.spec(board, tmp_path)) is None, corner.name


@each_corner
def test_a_trial_is_the_same_in_every_run_and_moves_what_it_trains(corner: Corner, tmp_path: Path) -> None:
    one, other = (prepare(corner.spec(BOARD, tmp_path)) for _ in range(2))
    assert one.blob == other.blob and one.data.sha256 == other.data.sha256
    spec, reference = one.spec, reference_of(one.method)
    before, step = reference.digests(), spec.first_step
    settings = one.settings_at(step)
    reference.configure(settings, step)
    order = batches(one.data, spec.batch, spec.seed)
    for _ in range(step):
        next(order)
    for index in range(step, step + spec.steps):
        if one.settings_at(index) != settings:
            settings = one.settings_at(index)
            reference.follow(settings)
        chosen = next(order)
        reference.step(one.data.train_images[chosen], one.data.train_labels[chosen])
    assert sum(now != first for now, first in zip(reference.digests(), before, strict=True)) > 0
