"""A network of `tflite8` whose channels have gains (docs/arithmetic-quzo.md, section 8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.training.graph.node import Tflite8Node
from hil.training.methods.perturbed_scales_tensors import scaled
from hil.training.reference.formats.int8_network import Int8Network
from hil.training.reference.formats.tflite8.fast import FastLayer, OwnWeights
from hil.training.reference.formats.tflite8.passes import Passes


class GainedNetwork(Int8Network):
    """A graph of whose last layers the gains are trained, int32 [out]; the weights stay."""

    def at(self, values: Sequence[np.ndarray]) -> tuple[Passes, list[OwnWeights | None]]:
        """Return the passes with these gains, and what all layers multiply by."""
        gained = {
            index: FastLayer(self.graph, scaled(self.graph.node(index, Tflite8Node), gain))
            for (index, _), gain in zip(self._parts, values, strict=True)
        }
        return self._passes.with_layers(gained), self._frozen
