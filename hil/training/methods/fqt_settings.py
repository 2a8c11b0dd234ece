"""The settings of FQT (docs/arithmetic-fqt.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.graph.graph import Format, Graph
from hil.training.methods.settings_fields import FqtFields


@dataclass(frozen=True)
class Settings(FqtFields):
    """Settings of FQT; methods.toml describes each."""

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""
        if np.float32(self.lambda_max) < np.float32(self.lambda_min):
            raise RigError(
                f"setting lambda_max is {self.lambda_max} with lambda_min = {self.lambda_min}: it is the largest "
                "share, choose at least lambda_min."
            )

    @property
    def is_sparse(self) -> bool:
        """Whether channels may be skipped."""
        return bool(np.float32(self.lambda_min) < 1)

    def trained(self, graph: Graph) -> tuple[int, ...]:
        """Return the indices of the trained layers, input to output; none if the network has nothing to train."""
        with_weights = [
            index
            for index, layer in enumerate(graph.layers)
            if layer.own is not None and layer.format in (Format.AFFINE8, Format.FLOAT32)
        ]
        return tuple(with_weights[-self.last_layers :])
