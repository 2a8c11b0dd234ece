"""The first family: networks with an exponent a tensor, trained by ElasticZO-INT8 (docs/arithmetic.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.graph.file import encode, places_in_file
from hil.graph.ir import Graph
from hil.link.messages import description
from hil.network.analytic import training_bytes
from hil.network.plan import Plan, plan
from hil.network.settings import WORDS, Settings
from hil.reference.methods import method
from hil.trial.confirm.least import LeastCycles, least_forward, least_moves
from hil.trial.latency_figures import bookings_by_layer, bookings_by_phase
from hil.trial.subject.subject import Configuration, Planned, Tensor

if TYPE_CHECKING:
    from hil.reference.methods import Method
    from hil.trial.device import Device


class ExponentSubject:
    """A network and settings of the first family.

    Args:
        name: of the method.
        network: graph and first weights.
        settings: before the first change of the schedule.
    """

    in_flash, chosen = False, False

    def __init__(self, name: str, network: Graph, settings: Settings) -> None:
        self._method = method(name)
        self.network, self.settings = network, settings
        self.in_shape = network.in_shape
        self.layers = tuple(layer.name for layer in network.layers)
        self.tensors = tuple(Tensor(layer.name, "int8", layer.weight_count) for layer in network.trained)

    def file(self, weights: Sequence[np.ndarray] | None = None) -> bytes:
        """Return the network file (docs/network.md)."""
        return encode(self.network if weights is None else self.network.with_weights(weights))

    def reference(self) -> Method:
        """Return the method in NumPy."""
        return self._method(self.network, self.settings)

    def plan(self, slots: int) -> Plan:
        """Return the plan of docs/memory.md."""
        return plan(self.network, self.settings, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer forward, the loss, every layer backward, and what lies between passes."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers)), "perturb, update")

    def configuration(self, settings: Settings, slots: int, first_step: int) -> Configuration:
        """Return the request `configure`."""
        enums = description().enums
        words = {word: enums[word][getattr(settings, word)] for word in WORDS}
        numbers = {
            name: getattr(settings, name)
            for name in ("partition", "b_zo", "b_bp", "p_zero", "r_max", "loss_fraction", "batch", "seed")
        }
        return Configuration("configure", words | numbers | {"slots": slots, "first_step": first_step})

    def give(self, device: Device, weights: Sequence[np.ndarray], configuration: Configuration) -> None:
        """Load the network anew, with these weights."""
        device.load(self.file(weights))
        device.configure(configuration)

    def passes(self) -> int:
        """Plus and minus; one where nothing is perturbed."""
        return 2 if self.settings.partition else 1

    def streams(self) -> bool:
        """A batch whose samples share their exponents must be there as a whole."""
        return self.settings.scope == "sample"

    def traced(self, reference: Method, before: Sequence[np.ndarray], step: int) -> Iterator[Sequence[np.ndarray]]:
        """Yield the weights of every pass."""
        return reference.passes(before, step)

    def shows(self, stage: int) -> bool:
        """All of them."""
        return True

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Of back-propagated tensors the deepest goes wrong first, of perturbed ones the first."""
        perturbed = [index for index in tensors if index < self.settings.partition]
        by_bp = [index for index in tensors if index >= self.settings.partition]
        return by_bp[-1] if by_bp and (losses_agree or not perturbed) else perturbed[0]

    def places(self, plan: Planned) -> tuple[int, ...]:
        """The file lies at the start of the arena and its weights are used in place."""
        return tuple(weights for weights, _ in places_in_file(self.network).values())

    def analytic(self) -> dict[str, Any]:
        """Return what ElasticZO's equations give: (13) for C = 0, (14) for C = L, (15) between."""
        partition, sizes = self.settings.partition, [tensor.elements for tensor in self.tensors]
        equation = "(13)" if partition == 0 else "(14)" if partition == len(sizes) else "(15)"
        return {
            "equation": equation,
            "bytes": training_bytes(self.network, partition, self.settings.batch),
            "macs_forward": self.network.macs,
            "weights": sum(sizes),
            "weights_by_zo": sum(sizes[:partition]),
        }

    def bookings(self) -> tuple[dict[str, int], tuple[list[int], list[int]]]:
        """Return the counts of docs/latency.md."""
        return bookings_by_phase(self.network, self.settings), bookings_by_layer(self.network, self.settings)

    def work(self) -> None:
        """The board does not count its passes."""
        return

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer; zeroth order moves its weights twice a step, and once more to update them."""
        runs, partition = self.passes() * self.settings.batch, self.settings.partition
        forward = tuple(least_forward(layer, runs) for layer in self.network.layers)
        moved = sum(tensor.elements for tensor in self.tensors[:partition])
        return LeastCycles(
            forward,
            {
                "perturb": least_moves(moved, 2) if partition else 0,
                "forward": sum(forward),
                "backward": int(partition < len(self.tensors)),
                "update": least_moves(moved),
            },
        )

    def integers_only(self) -> bool:
        """Whether signs come from integers alone (INT8*)."""
        return self.settings.loss == "integer" and self.settings.partition > 0

    def step_macs(self) -> int:
        """Forward passes, and twice as much for a backward pass."""
        return self.settings.batch * self.network.macs * (self.passes() + 2)

    def smaller(self) -> str:
        """A smaller batch, or less of back-propagation."""
        return "a smaller batch or a variant that trains less by back-propagation"

    def budget_scope(self) -> str:
        """Return the setting `scope`."""
        return self.settings.scope
