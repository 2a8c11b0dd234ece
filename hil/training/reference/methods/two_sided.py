"""The base of the methods that move trained integers along directions, to either side, and come to rest again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from hil.training.reference.methods.network_reference import NetworkReference


class Movable(Protocol):
    """A trained tensor; `values` are those of the present pass, int32."""

    values: np.ndarray

    @property
    def stored(self) -> np.ndarray:
        """The values as they lie on the board."""

    def clip(self) -> None:
        """Bring the values to where they may rest."""


class TwoSidedReference(NetworkReference):
    """A method with two passes for each direction: the trained tensors moved by +u, and by -u."""

    settings: Any
    _tensors: Sequence[Movable]

    @abstractmethod
    def _moves(self, step: int) -> Iterator[list[np.ndarray]]:
        """Yield u of every tensor, int32 in the shape of its values, for each direction of a step."""

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the trained tensors in the passes of a step, from those before it."""
        kept = [tensor.values for tensor in self._tensors]
        for tensor, given in zip(self._tensors, weights, strict=True):
            tensor.values = given.reshape(tensor.values.shape).astype(np.int32)
        self._rest()
        try:
            for by in self._moves(step):
                for _ in self._moved(by):
                    yield self.weights
        finally:
            for tensor, values in zip(self._tensors, kept, strict=True):
                tensor.values = values

    def _rest(self) -> None:
        for tensor in self._tensors:
            tensor.clip()

    def _moved(self, by: list[np.ndarray]) -> Iterator[None]:
        """Move the tensors to the plus pass of a direction, to its minus pass, and back."""
        for times in (1, -2):
            self._move(by, times)
            yield
        self._move(by, 1)

    def _move(self, by: list[np.ndarray], times: int) -> None:
        for tensor, u in zip(self._tensors, by, strict=True):
            tensor.values = tensor.values + times * u
