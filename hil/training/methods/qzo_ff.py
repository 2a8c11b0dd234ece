"""QZO-FF: forward gradients by the signs of loss differences, in integers (docs/arithmetic-qzo-ff.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.errors import RigError, close_matches
from hil.training.graph.file import places_in_file
from hil.training.graph.graph import Format, Graph
from hil.training.graph.node import WithBias
from hil.training.graph.plan import Plan
from hil.training.graph.values import inference_peak
from hil.training.methods import qzo_ff_memory, qzo_ff_refusals
from hil.training.methods.least_cycles import LeastCycles, least_forward, least_moves
from hil.training.methods.method import Method
from hil.training.methods.qzo_ff_settings import Settings
from hil.training.methods.qzo_ff_tensors import TrainedTensor, trained_tensors
from hil.training.methods.step_work import Work


@dataclass(frozen=True)
class QzoFf(Method):
    """The method on the last layers of a network."""

    name = "qzo-ff"
    docs = "docs/arithmetic-qzo-ff.md"
    loop = "qzo-ff"
    reference = "hil.training.reference.methods.qzo_ff:QzoFf"
    format = Format.W16A8
    kind = Settings
    default_variant = "full"
    variants: ClassVar[Mapping[str, Any]] = {
        "full": {},
        "linear-probe": {"last_layers": 1},
        "last-3": {"last_layers": 3},
        "adamw": {"optimizer": "adamw"},
        "binomial": {"distribution": "binomial"},
        "guided": {"guide": 128},
        "sharpness": {"rho": 0.001},
        "sparse": {"sparse": "top"},
        "normalised": {"normalise": 1},
        "enhanced": {"guide": 128, "rho": 0.001, "sparse": "top", "normalise": 1},
    }
    chosen = True
    in_flash_too = True
    smaller = "linear-probe or last-3, which train fewer layers, no guide or adamw, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: Settings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> QzoFf:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        if variant not in cls.variants:
            raise RigError(f"the method {cls.name} has no variant {variant!r}: {close_matches(variant, cls.variants)}")
        Settings.check_names(settings)
        found = cls(network, Settings(**{**cls.variants[variant], **settings}))
        qzo_ff_refusals.check(network, found.settings, found.trained_tensors)
        return found

    @cached_property
    def trained_tensors(self) -> tuple[TrainedTensor, ...]:
        """The trained tensors with the value of their steps."""
        return trained_tensors(self.network, self.settings)

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of the trained tensors."""
        known = self.network.own_of(WithBias)
        pairs = ((tensor, known[tensor.layer]) for tensor in self.trained_tensors)
        return tuple((tensor.name, own.bias if tensor.is_bias else own.weights) for tensor, own in pairs)

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other trained tensors."""
        return self.settings.with_trained(self.network, arrays)

    def fault_of_weights(self, settings: Settings) -> str:
        """Name a threshold that selects no weight, or a normalised rate that rounds to nothing, with these weights."""
        return qzo_ff_refusals.fault_of_weights(self.network, settings, self.trained_tensors)

    def kept_state(self, settings: Settings) -> tuple[str, str] | None:
        """Momentum, moments, or a mask that depends on the first weights."""
        if settings.guide:
            return "the momentum of guided sampling", "set guide to 0"
        if settings.optimizer == "adamw":
            return "what adamw keeps", "set optimizer to plain"
        if settings.sparse in ("top", "threshold"):
            return "the mask of the first weights", "set sparse to off or random"
        return None

    def plan(self, slots: int) -> Plan:
        """Return the plan of docs/memory.md."""
        return qzo_ff_memory.plan(self.network, self.settings, self.in_flash, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and what is between passes."""
        return (*self.layers, "loss", "perturb, update")

    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where each trained tensor lies: in its own buffer where the file is in flash, else in the file."""
        lie = places_in_file(self.network)
        return tuple(
            plan.offset(f"{'beta' if tensor.is_bias else 'theta'}[{tensor.layer}]")
            if self.in_flash
            else lie[tensor.layer][tensor.is_bias]
            for tensor in self.trained_tensors
        )

    def passes(self) -> int:
        """Two for each direction, that of the sharpness-aware perturbation too."""
        return 2 * self.settings.draws

    def streams(self) -> bool:
        """Samples are independent of each other."""
        return True

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Tensors are updated from input to output."""
        return tensors[0]

    def work(self) -> Work:
        """Return the passes of a step: every layer of every sample in each."""
        return Work.of(self.network, [self.passes() * self.settings.batch] * len(self.layers))

    def step_macs(self) -> int:
        """Return the multiply-accumulates of all passes of a step."""
        return self.work().macs

    def analytic(self) -> dict[str, Any]:
        """Return the memory beyond the samples: the peak of inference, trained tensors, states and signs."""
        work = self.work()
        trained = sum(size for _, size in qzo_ff_memory.trained_bytes(self.network, self.settings))
        return {
            "equation": "QZO-FF, inference and trained weights",
            "bytes": inference_peak(self.network) + trained + qzo_ff_memory.DIRECTION_BYTES * self.settings.draws,
            "macs_forward": self.network.macs,
            "macs_step": work.macs,
            "layer_runs": work.layer_runs,
            "weights": sum(layer.weight_count for layer in self.network.layers),
            "weights_by_zo": sum(tensor.elements for tensor in self.tensors),
        }

    @cached_property
    def still(self) -> dict[str, list[str]]:
        """The names of the tensors in which a setting rounds to nothing, by setting."""
        return qzo_ff_refusals.still(self.network, self.settings, self.trained_tensors)

    def remarks(self) -> tuple[str, ...]:
        """Return a sentence for every setting that rounds to nothing in some tensors."""
        return tuple(
            f"setting {name} rounds to nothing in {', '.join(tensors)} (docs/arithmetic-qzo-ff.md, section 9)."
            for name, tensors in self.still.items()
        )

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer; each pass moves the weights, unless most of them are masked or still."""
        runs = self.passes() * self.settings.batch
        forward = tuple(least_forward(layer, runs) for layer in self.network.layers)
        moves = self.settings.sparse == "off" and "epsilon" not in self.still
        moved = sum(tensor.elements for tensor in self.tensors) if moves else 0
        phases: dict[str, int | None] = {
            "perturb": least_moves(moved, self.passes()),
            "forward": sum(forward),
            "backward": 0,
            "update": least_moves(moved),
        }
        return LeastCycles(forward, phases)
