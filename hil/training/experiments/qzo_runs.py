"""A run of QZO-FF's experiments: a pre-trained network that forward gradients or back-propagation adapt.

All systems start from one pre-trained network in `tflite8`: `fp32` and `bp` from its real numbers in `float32`,
`16w8a` and `8w8a` from its conversion to `w16a8`. A new head is made in floats and converted for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hil.training.data import load
from hil.training.data.dataset import DataSet
from hil.training.experiments.run import BaseRun, Given, Schedule, Tensors, longest_segment
from hil.training.graph.graph import Graph
from hil.training.graph.node import WithBias
from hil.training.methods import qzo_ff_refusals
from hil.training.methods.default_rates import closed
from hil.training.methods.qzo_ff import QzoFf as Method
from hil.training.methods.qzo_ff_plan import QzoFfPlan
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import trained_tensors
from hil.training.networks import build, find_network
from hil.training.networks.convert_w16a8 import W8, W16, from_tflite8, with_head
from hil.training.networks.float32 import floats_of, in_float32, in_floats
from hil.training.networks.floating import FloatGraph
from hil.training.networks.heads import Head, drawn_head, prototype_head, with_float_head
from hil.training.reference.methods import MethodReference, StepOutcome
from hil.training.reference.methods.float_back_propagation import FloatBackPropagation
from hil.training.reference.methods.qzo_ff import QzoFfReference
from hil.training.reference.native.float32 import fastest
from hil.training.reference.native.float32 import fastest_network as fastest_float32
from hil.training.reference.native.w16a8 import fastest_network as fastest_w16a8
from hil.training.trial import TrialSpec

BP, FP32 = "bp", "fp32"
LARGEST = {"16w8a": W16, "8w8a": W8}
NAMED = {  # networks of a trial by backbone and system
    ("lenet5-tflite", "16w8a"): "lenet5-w16a8",
    ("lenet5-tflite", "8w8a"): "lenet5-8w8a",
    ("resnet-tiny", "16w8a"): "resnet-tiny-w16a8",
}
OWN_HEAD, DRAWN_HEAD = "own", "drawn"  # or a few-shot classifier
ROOM = 4.0  # how far the weights and logits of a new head may grow
CALIBRATION = 100  # images from which the logits of a drawn head get their scale


@dataclass(frozen=True)
class QzoRun(BaseRun):
    """Everything that decides the bits of a run.

    Attributes:
        data: the data set; with `tasks` the set from which tasks are drawn.
        column, variant: of the table.
        seed: of the order of samples, the directions, a drawn head; also of which tasks.
        epochs: rows of the curve after the first.
        batch: samples in a step.
        backbone: the pre-trained network in `tflite8`.
        system: `bp`, `fp32` (both `float32`, host only), `16w8a` or `8w8a`.
        head: `own` (the network's), `drawn`, `protonet` or `simpleshot`.
        given: settings of QZO-FF besides eta, batch and seed that differ from the defaults.
        eta: the learning rate; None: the best of a search.
        rate_from: stem of that search.
        tasks: few-shot tasks that are trained, each by itself; 0: none, the data set is.
        split: of the tasks, `val` or `test`.
        ways, shots: of the tasks.
        tag: distinguishes runs of the same cell.
    """

    data: str
    column: str
    variant: str
    seed: int
    epochs: int
    batch: int
    backbone: str
    system: str
    head: str = OWN_HEAD
    given: Given = ()
    eta: float | None = None
    rate_from: str = ""
    tasks: int = 0
    split: str = "test"
    ways: int = 5
    shots: int = 5
    tag: str = ""
    largest_eta: ClassVar[float] = 1.0

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether momentum, moments or a mask go on from step to step."""
        settings = self.settings(0, ())
        return settings.optimizer == "adamw" or settings.guide > 0 or settings.sparse != "off"

    @property
    def on_board(self) -> bool:  # type: ignore[override]
        """Whether a trial can name the network and the method."""
        return self.head == OWN_HEAD and (self.backbone, self.system) in NAMED

    def task_names(self) -> tuple[str, ...]:
        """Return the data sets of the tasks."""
        first = (self.seed - 1) * self.tasks
        kind = f"{self.data}@{self.ways}-way-{self.shots}-shot-{self.split}"
        return tuple(f"{kind}-{number}" for number in range(first, first + self.tasks))

    def settings(self, step: int, schedule: Schedule) -> QzoFfSettings:
        """Return the settings; a rate below the smallest one of the schedule stays as it is."""
        given: dict[str, Any] = dict(self.given)
        if self.eta is not None:
            given["eta"] = self.eta
            if "eta_min" in given:
                given["eta_min"] = min(float(given["eta_min"]), self.eta)
        QzoFfSettings.check_names(given)
        return QzoFfSettings(**given, batch=self.batch, seed=self.seed)

    def learner(self, weights: Tensors | None, schedule: Schedule) -> MethodReference:
        """Return the method on the network that is adapted to `data`."""
        return self.learner_on(load(self.data), weights)

    def learner_on(self, data: DataSet, weights: Tensors | None = None) -> MethodReference:
        """Return the method on the network with the head for a data set, with other trained tensors if some are given.

        Raises:
            RigError: a setting that rounds to nothing, except for weights of 8 bits, and rates: a search finds those.
        """
        settings, graph = self.settings(0, ()), self.network_for(data)
        if weights is not None:
            graph = QzoFfPlan(graph, settings).with_arrays(weights)
        if self.system == BP:
            return FloatBackPropagation(graph, settings, fastest_float32)
        acting = replace(settings, eta=1.0)
        qzo_ff_refusals.check(graph, acting, trained_tensors(graph, acting))
        return QzoFfReference(graph, settings, fastest_float32 if self.system == FP32 else fastest_w16a8)

    def network_for(self, data: DataSet) -> Graph:
        """Return the pre-trained network in the format of the system, with the head for a data set."""
        floats, largest = _in_floats(self.backbone, self.seed), LARGEST.get(self.system)
        if self.head == OWN_HEAD:
            return floats if largest is None else _in_integers(self.backbone, largest)
        images, labels = data.train_images[:CALIBRATION], data.train_labels[:CALIBRATION]
        features = features_of(floats, images)
        weights, bias = self._head(features, labels, int(data.train_labels.max()) + 1)
        if largest is None:
            return with_float_head(floats, weights, bias)
        return with_head(_in_integers(self.backbone, largest), weights, bias, features, ROOM)

    def _head(self, features: np.ndarray, labels: np.ndarray, classes: int) -> Head:
        if self.head == DRAWN_HEAD:
            return drawn_head(classes, features.shape[1], self.seed)
        return prototype_head(self.head, features, labels)

    def losses(self, outcome: StepOutcome, samples: int) -> float:
        """Return the mean over all passes but those of sharpness."""
        passes = 1 if self.system == BP else dict(self.given).get("directions", QzoFfSettings.directions)
        return (outcome.float_loss_plus + outcome.float_loss_minus) / (2 * int(passes) * samples)

    def trial(self, board: str) -> TrialSpec:
        """Return the trial of the same settings."""
        settings = self.settings(0, ())
        method = Method(_in_integers(self.backbone, LARGEST[self.system]), settings)
        given = {name: getattr(settings, name) for name in dict(self.given)} | closed(method)
        return self._trial(board, "full", NAMED[self.backbone, self.system], Method.name, given)

    def longest_segment(self) -> int:
        """Return the number of steps that a stand-in trains in about half a minute."""
        graph = _in_integers(self.backbone, LARGEST[self.system])
        return longest_segment(Method(graph, self.settings(0, ())).figures.step_macs())


@lru_cache(maxsize=4)
def _in_floats(backbone: str, seed: int) -> Graph:
    graph, shape = build(backbone, seed), find_network(backbone).shape(backbone, seed)
    return in_floats(shape, graph) if isinstance(shape, FloatGraph) else in_float32(floats_of(graph))


@lru_cache(maxsize=4)
def _in_integers(backbone: str, largest: int) -> Graph:
    return from_tflite8(build(backbone, 1), largest)


def features_of(graph: Graph, images: np.ndarray) -> np.ndarray:
    """Return what the last layer of a graph in `float32` reads, float32 [n, features], of uint8 images."""
    own = {index: (its.weights, its.bias) for index, its in graph.own_of(WithBias).items()}
    return fastest(graph).value(images, own, graph.layers[-1].reads[0])
