"""The protocol between a trial and the two families of networks and methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from hil.network.tflite.analytic import Work
    from hil.reference.methods import Method
    from hil.trial.confirm.least import LeastCycles
    from hil.trial.device import Device


@dataclass(frozen=True)
class Tensor:
    """A trained tensor: its name, and its type and number of elements."""

    name: str
    dtype: str
    elements: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.elements * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Configuration:
    """The request that sets a method: its name on the link, and its fields."""

    request: str
    fields: dict[str, Any]


class Planned(Protocol):
    """A memory plan."""

    @property
    def total(self) -> int:
        """Bytes of arena."""
        ...

    @property
    def buffers(self) -> Sequence[Any]:
        """The placed buffers, each with name, size, offset, first and last slot."""
        ...


class Subject(Protocol):
    """A network, a method and its settings.

    Attributes:
        network: the graph with its first weights.
        settings: of the method, before the first change of the schedule.
        in_flash: whether the network file lies in the board's flash, and only what is trained in RAM.
        chosen: whether the settings choose what is trained; else every tensor of the file is.
        in_shape: height, width and channels of a sample.
        layers: names of all layers.
        tensors: what is trained, input to output.
    """

    network: Any
    settings: Any
    in_flash: bool
    chosen: bool
    in_shape: tuple[int, int, int]
    layers: tuple[str, ...]
    tensors: tuple[Tensor, ...]

    def file(self, weights: Sequence[np.ndarray] | None = None) -> bytes:
        """Return the network file, with other trained tensors if there are some."""
        ...

    def reference(self) -> Method:
        """Return the method in NumPy, at its first weights."""
        ...

    def plan(self, slots: int) -> Planned:
        """Return the memory plan of a board that holds so many samples."""
        ...

    def slots(self) -> tuple[str, ...]:
        """Return the names of the plan's time slots."""
        ...

    def configuration(self, settings: Any, slots: int, first_step: int) -> Configuration:
        """Return the request that sets the method."""
        ...

    def give(self, device: Device, weights: Sequence[np.ndarray], configuration: Configuration) -> None:
        """Configure the board with other weights than those it has."""
        ...

    def passes(self) -> int:
        """Return how often a batch that comes in parts goes through the board in a step."""
        ...

    def streams(self) -> bool:
        """Whether a batch may come in parts."""
        ...

    def traced(self, reference: Method, before: Sequence[np.ndarray], step: int) -> Iterator[Sequence[np.ndarray]]:
        """Yield the weights with which a wrong step is traced, one set a pass."""
        ...

    def shows(self, stage: int) -> bool:
        """Return whether the board can show a stage of a traced sample."""
        ...

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Return which of the tensors that differ went wrong first."""
        ...

    def places(self, plan: Planned) -> tuple[int, ...]:
        """Return where each trained tensor lies, as an offset in the arena."""
        ...

    def analytic(self) -> dict[str, Any]:
        """Return what the paper's formulas give."""
        ...

    def bookings(self) -> tuple[dict[str, int], tuple[list[int], list[int]]] | None:
        """Return how often a step books cycles by phase and by layer (docs/latency.md); None where the board counts them."""
        ...

    def work(self) -> Work | None:
        """Return the passes of a step by count; None where draws decide how many there are, or the board does not count them."""
        ...

    def least_cycles(self) -> LeastCycles:
        """Return what a step takes at least on any core, in cycles."""
        ...

    def integers_only(self) -> bool:
        """Whether the sign of a step comes from integers alone."""
        ...

    def step_macs(self) -> int:
        """Return the multiply-accumulates of a step."""
        ...

    def smaller(self) -> str:
        """Say what needs less memory."""
        ...

    def budget_scope(self) -> str:
        """Return the exponent scope whose budgets hold (the catalogue's `budget`)."""
        ...
