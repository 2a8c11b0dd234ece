"""What a method trains, and where it lies: the first of the three interfaces of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.training.graph.file import encode, places_in_file
from hil.training.graph.graph import Graph
from hil.training.graph.node import WithBias
from hil.training.graph.plan import Plan


@dataclass(frozen=True)
class PlannedTensor:
    """A trained tensor: its name, and its type and number of elements."""

    name: str
    dtype: str
    elements: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.elements * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class MethodPlan(ABC):
    """What is trained, and where it lies on a board; attributes as of `Method`.

    `chosen` says whether the settings choose what is trained; else every tensor of the network file is.
    """

    chosen: ClassVar[bool] = True

    network: Graph
    settings: Any
    in_flash: bool = False

    @property
    @abstractmethod
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """Of each trained tensor its layer, and whether it has the biases of the layer; input to output."""

    @abstractmethod
    def memory(self, slots: int) -> Plan:
        """Return the memory plan of a board that holds so many samples."""

    @abstractmethod
    def slots(self) -> tuple[str, ...]:
        """Return the names of the time slots of the memory plan."""

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of all layers."""
        return tuple(layer.name for layer in self.network.layers)

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of every trained tensor, input to output."""
        own, biased = self.network.own, self.network.own_of(WithBias)
        return tuple(
            (f"{self.layers[layer]}.bias", biased[layer].bias) if is_bias else (self.layers[layer], own[layer].weights)
            for layer, is_bias in self.parts
        )

    @cached_property
    def tensors(self) -> tuple[PlannedTensor, ...]:
        """What is trained, input to output."""
        return tuple(PlannedTensor(name, array.dtype.name, array.size) for name, array in self.arrays)

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other trained tensors, in the order of `arrays` and in any shape."""
        changes: dict[int, dict[str, np.ndarray]] = {}
        for (layer, is_bias), (_, old), new in zip(self.parts, self.arrays, arrays, strict=True):
            its = np.asarray(new, old.dtype).reshape(old.shape)
            changes.setdefault(layer, {})["bias" if is_bias else "weights"] = its
        return self.network.changed(changes)

    def file(self, arrays: Sequence[np.ndarray] | None = None) -> bytes:
        """Return the network file, with other trained tensors if some are given (docs/network.md)."""
        return encode(self.network if arrays is None else self.with_arrays(arrays))

    def beside_file(self) -> tuple[np.ndarray, ...]:
        """Return the first values of all trained tensors where the board has to be told them: the file has others.

        Most methods train what the file has, or begin with what `configure` sets: nothing.
        """
        return ()

    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where each trained tensor lies, as an offset in the arena.

        It is a buffer of its own where the file is in flash; else the file is at the start of the arena, behind samples
        that stay there.
        """
        if self.in_flash:
            return tuple(plan.offset(f"{'beta' if is_bias else 'theta'}[{layer}]") for layer, is_bias in self.parts)
        lie = places_in_file(self.network)
        return tuple(plan.front + lie[layer][is_bias] for layer, is_bias in self.parts)
