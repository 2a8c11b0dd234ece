"""Back-propagation of 8-bit errors with straight-through rounding (docs/arithmetic-tflite.md).

PMT, section 4.3; scaling and momentum are MCUTrain's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.backward import ErrorPass, Tflite8Errors
from hil.training.reference.formats.tflite8.factors import slopes
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.trained import TrainedLayer
from hil.training.reference.methods.trained_graph import Samples, TrainedGraph
from hil.training.reference.methods.update import momentum_steps, steps

GRADIENT_ELEMENTS = 2**22  # of the gradients of all samples that are held at once


class BackPropagation(TrainedGraph):
    """SGD on the gradients of one backward pass a sample.

    Raises:
        RigError: no layer is trained, or a pool at or behind the first trained one has windows that overlap or leave
            the image.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        super().__init__(graph, settings)
        self.backward = ErrorPass(graph, self.forward.layers, self.trained[0].index)

    def configure(self, settings: GraphSettings, first_step: int) -> None:
        """As `Reference`; momentum begins anew."""
        super().configure(settings, first_step)
        self._velocity = {layer.index: [np.zeros(t.shape, F) for t in layer.tensors] for layer in self.trained}

    @property
    def _has_momentum(self) -> bool:
        return bool(F(self.settings.momentum) > 0)

    def state(self) -> dict[str, np.ndarray]:
        """Return what decides later steps beside the weights: the velocities, if there is momentum."""
        if not self._has_momentum:
            return {}
        each = ((index, place, v) for index, its in self._velocity.items() for place, v in enumerate(its))
        return {f"velocity{index}.{place}": v for index, place, v in each}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned, after `configure`."""
        for index, its in self._velocity.items() if self._has_momentum else ():
            its[:] = [state[f"velocity{index}.{place}"].astype(F) for place in range(len(its))]

    def estimate_samples(
        self, some: Samples, own: list[OwnWeights | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `TrainedGraph`, with no losses beside the clean ones."""
        values = self.forward.clean(some.images, own)
        clean = self._losses(values[-1][:, :, 0, 0], some.labels)
        places = {layer.index: place for place, layer in enumerate(self.trained)}
        for index, errors in self._way().run(values, own, some.labels):
            if index in places:
                self._take(self.trained[places[index]], errors, values, gradients[places[index]])
        return clean[:, 0], np.zeros(0, F)

    def _way(self) -> ErrorPass:
        """Return the way of the errors in this step."""
        return self.backward

    def _take(
        self, layer: TrainedLayer, errors: Tflite8Errors, values: Sequence[np.ndarray], gradient: Gradient
    ) -> None:
        """Add the gradients of samples from the errors behind a layer's gate and the values of their clean pass."""
        x, at_once = values[layer.layer.reads[0]], max(1, GRADIENT_ELEMENTS // layer.coordinates)
        for first in range(0, len(x), at_once):
            part = slice(first, first + at_once)
            gradient.add_all(self._gradients(layer, errors.values[part], x[part]), errors.exponents[part])

    def _gradients(self, layer: TrainedLayer, errors: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradients of a layer's coordinates; arguments as of `TrainedLayer.gradients`."""
        return layer.gradients(errors, x)

    def _group_size(self) -> int:
        return self.forward.rows(0, 1)

    def _update(self, layer: TrainedLayer, gradient: Gradient, samples: int) -> None:
        if not gradient.total.size:  # no error reaches it
            return
        output = self.backward.chain.of_value[layer.index + 1]
        with np.errstate(over="ignore", under="ignore"):
            factor = F(self.settings.eta) / F(samples) * (output.c * slopes(layer.parameters))
        factors = layer.factors(factor, bool(self.settings.qas))
        parts, exponent = layer.parts(gradient.total), gradient.exponent + output.j
        if not self._has_momentum:
            layer.lower([steps(part, exponent, its) for part, its in zip(parts, factors, strict=True)])
            return
        velocity = self._velocity[layer.index]
        found = [
            momentum_steps(v, self.settings.momentum, part, exponent, its)
            for v, part, its in zip(velocity, parts, factors, strict=True)
        ]
        self._velocity[layer.index] = [after for after, _ in found]
        layer.lower([by for _, by in found])
