"""FQT: fully quantized training, with dynamic sparse gradient updates (docs/arithmetic-fqt.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.errors import RigError, close_matches
from hil.training.graph.file import file_size, parameters_in_file, places_in_file
from hil.training.graph.graph import Format, Graph, Node, Op
from hil.training.graph.plan import Plan
from hil.training.methods import fqt_memory, fqt_refusals
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.fqt_settings import Settings
from hil.training.methods.fqt_tensors import BIAS, RANGE, TrainedTensor, array_of, trained_tensors, with_arrays
from hil.training.methods.fqt_work import step_work
from hil.training.methods.least_cycles import LeastCycles, least_forward, least_moves
from hil.training.methods.method import Method
from hil.training.methods.step_work import Work

WORDS_A_CYCLE = 2  # that a core loads or stores at most


@dataclass(frozen=True)
class Fqt(Method):
    """The method on the last layers of a network."""

    name = "fqt"
    docs = "docs/arithmetic-fqt.md"
    loop = "fqt"
    reference = "hil.training.reference.methods.fqt:Fqt"
    format = Format.AFFINE8
    kind = Settings
    default_variant = "uint8"
    variants: ClassVar[Mapping[str, Any]] = {
        "uint8": {},
        "mixed": {},
        "float32": {},
        "sparse": {"lambda_min": 0.1},
        "last-5": {"last_layers": 5},
    }
    learning_variants = ("uint8", "mixed", "float32")
    chosen = True
    in_flash_too = True
    smaller = "last-5, which trains fewer layers, standardise off or batch, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: Settings

    @classmethod
    def trains(cls, formats: Sequence[Format]) -> bool:
        """Return whether it trains layers of such networks."""
        return fqt_refusals.configuration_of(formats) is not None

    @classmethod
    def variants_on(cls, formats: Sequence[Format]) -> tuple[str, ...]:
        """Return the variant of the configuration, and those that go with every one."""
        found = fqt_refusals.configuration_of(formats)
        others = (variant for variant in cls.variants if variant not in fqt_refusals.CONFIGURATIONS)
        return () if found is None else (found, *others)

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> Fqt:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        if variant not in cls.variants:
            raise RigError(f"the method {cls.name} has no variant {variant!r}: {close_matches(variant, cls.variants)}")
        Settings.check_names(settings)
        found = cls(network, Settings(**{**cls.variants[variant], **settings}))
        fqt_refusals.check(network, variant, found.settings)
        assert found.backward  # its pools are checked
        return found

    @cached_property
    def backward(self) -> BackwardPass:
        """Which layers errors reach, and when.

        Raises:
            RigError: a pool that errors cannot be handed through.
        """
        return BackwardPass(self.network, self.settings.trained(self.network), True)

    @cached_property
    def trained_tensors(self) -> tuple[TrainedTensor, ...]:
        """The trained tensors, input to output."""
        settings = self.settings
        return trained_tensors(self.network, settings.trained(self.network), bool(settings.train_bias))

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of the trained tensors."""
        layers = self.network.layers
        return tuple((one.name, array_of(layers[one.layer], one.part)) for one in self.trained_tensors)

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other trained tensors."""
        return with_arrays(self.network, self.trained_tensors, arrays)

    def kept_state(self, settings: Settings) -> tuple[str, str] | None:
        """Statistics, running ranges of errors, or the largest loss."""
        if settings.standardise == "running":
            return "the statistics of the gradients", "set standardise to batch or off"
        if settings.error_range == "running":
            return "the running ranges of errors", "set error_range to sample"
        if settings.is_sparse:
            return "the largest loss", "set lambda_min to 1"
        return None

    def plan(self, slots: int) -> Plan:
        """Return the plan of docs/arithmetic-fqt.md, section 10."""
        of = (self.network, self.settings, self.backward, self.trained_tensors)
        return fqt_memory.plan(*of, self.in_flash, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the layers backward."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers[self.backward.first :])))

    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where each trained tensor lies: in its own buffer where the file is in flash, else in the file."""
        if self.in_flash:
            return tuple(
                plan.offset(f"{'beta' if tensor.part == BIAS else 'theta'}[{tensor.layer}]")
                for tensor in self.trained_tensors
            )
        own, parameters = places_in_file(self.network), parameters_in_file(self.network)
        return tuple(
            parameters[tensor.layer] if tensor.part == RANGE else own[tensor.layer][tensor.part == BIAS]
            for tensor in self.trained_tensors
        )

    def passes(self) -> int:
        """Each sample goes forward and backward before the next."""
        return 1

    def streams(self) -> bool:
        """The sums of a step continue over its parts."""
        return True

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Errors come from the output, so that the deepest tensor went wrong first."""
        return tensors[-1]

    def work(self) -> Work | None:
        """Return the passes of a step; None where the losses decide how many channels take part."""
        return None if self.settings.is_sparse else self._full_work()

    def _full_work(self) -> Work:
        return step_work(self.network, self.backward, self.settings.batch)

    def step_macs(self) -> int:
        """Return the multiply-accumulates of a step in which all channels take part."""
        return self._full_work().macs

    def analytic(self) -> dict[str, Any]:
        """Return the memory of one sample by the segments of DT, figure 4, with the network file in flash."""
        work, planned = self._full_work(), replace(self, in_flash=True).plan(1)
        trainable, feature_maps = fqt_memory.segments(planned)
        return {
            "equation": "FQT, segments of figure 4",
            "bytes": planned.total,
            "trainable": trainable,
            "feature_maps": feature_maps,
            "static": file_size(self.network),
            "macs_forward": self.network.macs,
            "macs_step": work.macs,
            "layer_runs": work.layer_runs,
            "weights": sum(layer.weight_count for layer in self.network.layers),
            "weights_by_zo": 0,
        }

    def least_cycles(self) -> LeastCycles:
        """Every layer runs once a sample; every trained weight is stored in an update."""
        forward = tuple(_least_forward(layer, self.settings.batch) for layer in self.network.layers)
        phases: dict[str, int | None] = {
            "perturb": 0,
            "forward": sum(forward),
            "backward": 1,
            "update": least_moves(sum(tensor.elements for tensor in self.tensors)),
        }
        return LeastCycles(forward, phases)

    def last_layer(self, samples: int) -> Fqt:
        """Return the method on the last layer as a network of its own."""
        last = self.network.layers[-1]
        assert last.op is Op.FULLY_CONNECTED  # check 8 of a network file
        layer = replace(last, name="fc1", reads=(0,), in_shape=(1, 1, last.in_size))
        of_input = {} if last.format is Format.FLOAT32 else self._scale_of(last.reads[0])
        alone = Graph("last layer", (layer,), layer.in_shape, self.network.classes, **of_input)
        return Fqt(alone, replace(self.settings, last_layers=1, batch=samples))

    def _scale_of(self, value: int) -> dict[str, Any]:
        return {"scale": self.network.scale_of(value), "zero": self.network.zero_of(value)}


def _least_forward(layer: Node, runs: int) -> int:
    """Return the least cycles of `runs` passes of a layer; in floats products with a factor 0 may be left out."""
    if layer.format is Format.FLOAT32:
        return max(1, runs * (layer.in_size + layer.out_size) // WORDS_A_CYCLE)
    return least_forward(layer, runs)
