"""Back-propagation of the last layers in `float32`, the yardstick beside QZO-FF; it runs on the host only.

Gradients are those of docs/arithmetic-float32.md, section 5. Plain steps are Full BP's (section 7); AdamW and the
schedule are those of docs/arithmetic-qzo-ff.md, sections 6 and 10. So both train the same tensors in the same way, and
only where the gradient comes from differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import check_passable
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import QzoFfTensor, trained_tensors
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.forward import clamp
from hil.training.reference.formats.float32.network import Float32Network
from hil.training.reference.methods import StepOutcome
from hil.training.reference.methods.adam_moments import Decay, Moments
from hil.training.reference.methods.network_reference import NetworkReference
from hil.training.reference.methods.qzo_rates import SMALLEST_ROOT, rate

LARGEST_CHANGE = 2.0**20  # of a weight


class FloatBackPropagation(NetworkReference):
    """The method, with its weights, moments and step counter.

    Args:
        network: a graph in `float32` with the initial weights, which are copied.
        settings: of QZO-FF; what concerns directions does nothing here.
        kind: makes the network of graph and trained tensors; the one in NumPy where none is given.

    Raises:
        RigError: a pool that errors cannot be handed through.
    """

    value_type = "float32"
    settings: QzoFfSettings

    def __init__(
        self,
        network: Graph,
        settings: QzoFfSettings,
        kind: Callable[[Graph, Sequence[QzoFfTensor]], Float32Network] = Float32Network,
    ) -> None:
        self.graph = network
        self._network = kind(network, trained_tensors(network, settings))
        self.arithmetic = self._network.arithmetic
        check_passable(network.layers[self._network.first :])
        self._tensors = self._network.tensors
        self.configure(settings, 0)

    def configure(self, settings: QzoFfSettings, first_step: int) -> None:
        """As `MethodReference`; moments begin anew."""
        super().configure(settings, first_step)
        adamw = settings.optimizer == "adamw"
        self._moments = [Moments(tensor.values.size) for tensor in self._tensors] if adamw else []
        self._decay = Decay(settings.beta1, settings.beta2, SMALLEST_ROOT)

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        shapes = self._network.own_now()
        trained = {tensor.known.layer for tensor in self._tensors}
        sums = {layer: (np.zeros_like(shapes[layer][0]), np.zeros_like(shapes[layer][1])) for layer in trained}
        loss = float(self._network.add_gradients(images, labels, sums))
        eta, samples = rate(self.settings, step), F(len(images))
        self._decay.advance()
        for index, tensor in enumerate(self._tensors):
            total = sums[tensor.known.layer][tensor.known.is_bias].reshape(-1)
            if self._moments:
                tensor.lower_by(self._moments[index].step(total / samples, self._decay, eta, None))
            else:
                tensor.lower_by(clamp((eta / samples) * total, -LARGEST_CHANGE, LARGEST_CHANGE))
        return StepOutcome(step, loss, loss, loss, loss, 0, self.digests())

    def state(self) -> dict[str, np.ndarray]:
        """Return what decides later steps beside the weights: the moments of AdamW."""
        found = self._decay.state() if self._moments else {}
        for index, moments in enumerate(self._moments):
            found |= moments.state(index)
        return found

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned, after `configure`."""
        for index, moments in enumerate(self._moments):
            moments.restore(state, index)
        if self._moments:
            self._decay.restore(state)

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the one pass."""
        yield list(weights)
