"""From the words of a trial to what is trained."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from hil.boards import Board
from hil.errors import Blocked, RigError, close_matches, shown
from hil.graph.file import file_size
from hil.graph.ir import Graph, Op
from hil.network import BUILDERS, build
from hil.network.npz import read_npz
from hil.network.settings import Settings
from hil.network.tflite.methods import METHODS, graph_settings
from hil.network.tflite.networks import NETWORKS, build_graph
from hil.network.tflite.settings import GraphSettings
from hil.trial.spec import TrialSpec
from hil.trial.subject.exponents import ExponentSubject
from hil.trial.subject.graphs import GraphSubject, resident
from hil.trial.subject.subject import Subject

MOST_COORDINATES = 1 << 17  # of DeepZero, which makes a forward pass for each: LeNet-5 has 107,786
EXPONENT_METHOD = "elasticzo-int8"  # the method of the first family
PLACES = {
    "auto": (False, True),
    "ram": (False,),
    "flash": (True,),
}  # of the network file: whether in flash, in the order in which they are tried


def subject_of(spec: TrialSpec, board: Board, arena: int, in_flash: bool | None = None) -> Subject:
    """Look network and method of a trial up, with its settings.

    Args:
        spec: the trial.
        board: its catalogue entry.
        arena: bytes of the board's arena.
        in_flash: whether the network lies in flash, where that has been decided.

    Raises:
        RigError: an unknown name, a setting out of range, a checkpoint of another network.
    """
    networks = {EXPONENT_METHOD: tuple(BUILDERS)} | dict.fromkeys(METHODS, tuple(NETWORKS))
    if spec.method not in networks:
        raise RigError(f"there is no method {spec.method!r}: {close_matches(spec.method, networks)}")
    mine = networks[spec.method]
    if spec.network not in mine:
        others = sorted(name for name, theirs in networks.items() if spec.network in theirs)
        known = (
            f"it is one of {', '.join(others)}; {spec.method} trains {', '.join(mine)}."
            if others
            else close_matches(spec.network, mine)
        )
        raise RigError(f"the method {spec.method} trains no network {spec.network!r}: {known}")
    return _graph(spec, board, arena, in_flash) if spec.method in METHODS else _exponents(spec)


def _exponents(spec: TrialSpec) -> ExponentSubject:
    if spec.network_in != "auto":
        raise RigError(
            f"network_in is {spec.network_in!r} with {spec.method}, whose networks lie in RAM: leave it out."
        )
    _check_settings(spec)
    network = build(spec.network, spec.seed)
    settings = Settings.of_variant(
        spec.variant, len(network.trained), batch=spec.batch, seed=spec.seed, **spec.settings
    )
    if spec.checkpoint is not None:
        network = network.with_weights(_checkpoint(Path(spec.checkpoint), network))
    return ExponentSubject(spec.method, network, settings)


def _check_settings(spec: TrialSpec) -> None:
    """Refuse a setting that is a field of the trial itself: two places for one number would disagree."""
    for name in ("batch", "seed", "method"):
        if name in spec.settings:
            raise RigError(
                f"TrialSpec: settings has {name!r}: it is a field of the trial itself, write {name}={shown(spec.settings[name])} there."
            )


def graph_of(spec: TrialSpec) -> tuple[Graph, GraphSettings]:
    """Return network and settings of a trial of the second family, whatever board it is for.

    Raises:
        RigError: an unknown name, a setting out of range.
        Blocked: the variant trains nothing of this network, or more than it can.
    """
    _check_settings(spec)
    settings = graph_settings(spec.method, spec.variant, **{"batch": spec.batch, "seed": spec.seed, **spec.settings})
    graph = build_graph(spec.network, spec.seed)
    settings, trained, coordinates = _chosen(graph, settings)
    if not trained:
        raise Blocked(
            "plan", f"{spec.variant} trains no layer of {spec.network}: choose another variant, or another network."
        )
    if settings.method == "deepzero" and coordinates > MOST_COORDINATES:
        raise Blocked(
            "plan",
            f"{spec.method} {spec.variant} makes a forward pass for each coordinate, of which {spec.network} has {coordinates:,}, more than "
            f"{MOST_COORDINATES:,}: choose last-sparse, or a smaller network.",
        )
    return graph, settings


@lru_cache(maxsize=16)  # the same for every board
def _chosen(graph: Graph, settings: GraphSettings) -> tuple[GraphSettings, int, int]:
    """Return the settings as they hold for a network, how many layers they train, and how many coordinates these have."""
    if settings.train == "pointwise" and all(layer.op is not Op.POINTWISE for layer in graph.layers):
        settings = replace(settings, train="all")  # a block of a network without pointwise layers is all of its layers
    trained = settings.trained(graph)
    return settings, len(trained), sum(settings.coordinates(graph.layers[index]) for index in trained)


def _graph(spec: TrialSpec, board: Board, arena: int, in_flash: bool | None) -> GraphSubject:
    if spec.network_in not in PLACES:
        raise RigError(f"the network cannot lie in {spec.network_in!r}: {close_matches(spec.network_in, PLACES)}")
    graph, settings = graph_of(spec)
    room = board.room_for_data
    if spec.checkpoint is not None:
        graph = settings.with_trained(graph, _tensors(Path(spec.checkpoint), settings, graph))
    fits_flash = room is not None and file_size(graph) <= room.size
    places = PLACES[spec.network_in] if in_flash is None else (in_flash,)
    if not fits_flash and places == (True,):
        raise Blocked(
            "plan",
            f"{spec.board} has no flash for the {file_size(graph):,} bytes of {spec.network}: let it lie in RAM.",
        )
    return resident(graph, settings, arena, places if fits_flash else (False,))


def _tensors(path: Path, settings: GraphSettings, graph: Graph) -> list[np.ndarray]:
    """Read a checkpoint of a graph; every tensor must have type and shape of what it replaces."""
    parts = [
        (layer.name, part)
        for layer in (graph.layers[index] for index in settings.trained(graph))
        if layer.own is not None
        for part in [layer.own.weights] * settings.trains_weights + [layer.own.bias] * settings.train_bias
    ]
    tensors = _arrays(path, len(parts))
    for (name, part), tensor in zip(parts, tensors, strict=True):
        if (tensor.dtype, tensor.shape) != (part.dtype, part.shape):
            raise RigError(
                f"the checkpoint {path} holds {tensor.dtype}{list(tensor.shape)} for {name}: it is of another network or variant."
            )
    return tensors


def _arrays(path: Path, count: int) -> list[np.ndarray]:
    cure = "give an .npz with the arrays w0, w1, ... of the trained tensors"
    try:
        arrays = read_npz(path, cure)
    except RigError as error:
        raise RigError(f"the checkpoint {error}") from error
    for name in (f"w{index}" for index in range(count)):
        if name not in arrays:
            raise RigError(f"the checkpoint {path} holds no array {name}: {cure}.")
    return [arrays[f"w{index}"] for index in range(count)]


def _checkpoint(path: Path, network: Graph) -> list[np.ndarray]:
    """Read a checkpoint; every tensor must have the shape that the network has."""
    weights = _arrays(path, len(network.trained))
    for layer, array in zip(network.trained, weights, strict=True):
        if layer.weights is None or array.dtype != np.int8 or array.shape != layer.weights.shape:
            raise RigError(
                f"the checkpoint {path} holds {array.dtype}{list(array.shape)} for {layer.name}: it is of another network."
            )
    return weights
