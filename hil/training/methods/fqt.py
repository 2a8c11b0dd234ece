"""FQT: fully quantized training, with dynamic sparse gradient updates (docs/arithmetic-fqt.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import check_passable
from hil.training.methods.fqt_figures import FqtFigures
from hil.training.methods.fqt_plan import FqtPlan
from hil.training.methods.fqt_settings import CONFIGURATIONS, FqtSettings, check, configuration_of
from hil.training.methods.method import Method
from hil.training.methods.request import MethodRequest


class FqtRequest(MethodRequest):
    """The request: each sample goes forward and backward before the next, and the sums go on over the parts."""

    def kept_state(self, settings: FqtSettings) -> tuple[str, str] | None:
        """Statistics, what an optimizer keeps, running ranges of errors, or the largest loss."""
        if settings.runs_statistics:
            return "the statistics of the gradients", "set standardise to batch or off"
        if settings.optimizer != "sgd":
            return f"what {settings.optimizer} keeps", "set optimizer to sgd"
        if settings.error_range == "running":
            return "the running ranges of errors", "set error_range to sample"
        if settings.is_sparse:
            return "the largest loss", "set lambda_min to 1"
        return None

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Errors come from the output, so that the deepest tensor went wrong first."""
        return tensors[-1]


@dataclass(frozen=True)
class Fqt(Method):
    """The method on the last layers of a network."""

    name = "fqt"
    docs = "docs/arithmetic-fqt.md"
    loop = "fqt"
    reference = "hil.training.reference.methods.fqt:FqtReference"
    format = Format.AFFINE8
    kind = FqtSettings
    plan_of = FqtPlan
    request_of = FqtRequest
    figures_of = FqtFigures
    default_variant = "uint8"
    variants: ClassVar[Mapping[str, Any]] = {
        "uint8": {},
        "mixed": {},
        "float32": {},
        "sparse": {"lambda_min": 0.1},
        "last-5": {"last_layers": 5},
    }
    learning_variants = ("uint8", "mixed", "float32")
    in_flash_too = True
    smaller = "last-5, which trains fewer layers, standardise off or batch, optimizer sgd, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: FqtSettings

    @classmethod
    def trains(cls, formats: Sequence[Format]) -> bool:
        """Return whether it trains layers of such networks."""
        return configuration_of(formats) is not None

    @classmethod
    def variants_on(cls, formats: Sequence[Format]) -> tuple[str, ...]:
        """Return the variant of the configuration, and those that go with every one."""
        found = configuration_of(formats)
        others = (variant for variant in cls.variants if variant not in CONFIGURATIONS)
        return () if found is None else (found, *others)

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> Fqt:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        cls.check_variant(variant)
        FqtSettings.check_names(settings)
        chosen = FqtSettings(**{**cls.variants[variant], **settings})
        check(network, variant, chosen)
        check_passable(network.layers[chosen.trained(network)[0] :])
        return cls(network, chosen)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The layers from the first trained one on: values and errors in `float32` have no ranges."""
        layers = self.network.layers[self.settings.trained(self.network)[0] :]
        formats = dict.fromkeys(layer.format.name.lower() for layer in layers)
        divided = self.settings.standardise != "off" or self.settings.optimizer == "adam"
        return {"layers_in": " and ".join(formats), "handed_on": len(layers) - 1, "divided": int(divided)}

    def last_layer(self, samples: int) -> Fqt:
        """Return the method on the last layer, which is fully connected, as a network of its own."""
        last = self.network.layers[-1]
        layer = replace(last, name="fc1", reads=(0,), in_shape=(1, 1, last.in_size))
        alone = Graph("last layer", (layer,), layer.in_shape, self.network.classes)
        if last.format is not Format.FLOAT32:
            value = last.reads[0]
            alone = replace(alone, scale=self.network.scale_of(value), zero=self.network.zero_of(value))
        return Fqt(alone, replace(self.settings, last_layers=1, batch=samples))
