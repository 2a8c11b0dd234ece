"""TinyTrain: rank layers and channels, choose within budgets, train what was chosen (docs/arithmetic-tinytrain.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.figures import StepWork
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.tinytrain_costs import Costs
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.backward import ErrorPass, Tflite8Errors
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods import StepOutcome
from hil.training.reference.methods.back_propagation import BackPropagation
from hil.training.reference.methods.trained import TrainedLayer

LEAST_POWER, LARGEST_POWER = -60, 0  # of v, so that v * v is normal or 0
MOST_NAMED = 16  # channels of a layer that a remark names one by one


class TinyTrainReference(BackPropagation):
    """Back-propagation in the layers and channels that the first steps choose.

    Attributes:
        costs: what may be chosen, and the budgets.
        information: D of each candidate's channels by the index of its layer, float32 [C].
        chosen: the kept channels of each chosen layer by its index, ascending int64; empty before the choice.

    Raises:
        RigError: no layer is trained, a pool that errors cannot be handed through, or budgets that no layer fits.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        super().__init__(graph, settings)
        self.costs.check()

    def configure(self, settings: GraphSettings, first_step: int) -> None:
        """As `Reference`; ranking and momentum begin anew."""
        super().configure(settings, first_step)
        self.costs = Costs(self.graph, settings)
        self.information = {index: np.zeros(one.channels, F) for index, one in self.costs.candidates.items()}
        self.chosen: dict[int, np.ndarray] = {}
        self._work: StepWork | None = None
        self._completed = 0

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """As `Reference`: rank, or train what was chosen; the last ranking step ends with the choice."""
        outcome = super().step(images, labels)
        self._work = self.costs.step_work(len(images), self.chosen or None)
        self._completed += 1
        if self._completed == self.settings.ranking:
            self._choose()
        return outcome

    def last_work(self) -> StepWork | None:
        """Return the passes of the last step: its samples decide how far the errors go."""
        return self._work

    def state(self) -> dict[str, np.ndarray]:
        """As `BackPropagation`, with the ranking and the choice: how many steps there were, D, and what is kept."""
        found = super().state() | {"completed": np.array(self._completed)}
        found |= {f"information{index}": its for index, its in self.information.items()}
        return found | {f"chosen{index}": its for index, its in self.chosen.items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned, after `configure`."""
        super().restore(state)
        self._completed = int(state["completed"])
        self.information = {index: state[f"information{index}"].astype(F) for index in self.information}
        kept = {index: state.get(f"chosen{index}") for index in self.information}
        self._train({index: its.astype(np.int64) for index, its in kept.items() if its is not None})

    def _choose(self) -> None:
        self._train({index: self._kept(index) for index in self.costs.choose(self.scores())})

    def _train(self, chosen: dict[int, np.ndarray]) -> None:
        """Train these layers and channels, input to output, from now on; none if the ranking goes on."""
        self.chosen = chosen
        if chosen:
            self._short = ErrorPass(self.graph, self.forward.layers, min(chosen))

    def scores(self) -> Mapping[int, np.float32]:
        """Return s of each candidate by its index (section 4)."""
        candidates, found = self.costs.candidates, {}
        numbers = F(max(one.numbers for one in candidates.values()))
        macs = F(max(one.macs for one in candidates.values()))
        for index, one in candidates.items():
            with np.errstate(over="ignore"):
                share = (F(one.numbers) / numbers) * (F(one.macs) / macs)
                found[index] = F(self.potential(index) / share)
        return found

    def potential(self, index: int) -> np.float32:
        """Return P of a candidate: the information of its channels, in the scale of the loss."""
        c = self.backward.chain.of_value[index + 1].c
        with np.errstate(over="ignore"):
            return F((c * c) * np.add.accumulate(self.information[index], dtype=F)[-1])

    def _kept(self, index: int) -> np.ndarray:
        """Return the channels with most information, of equal ones the first."""
        largest = np.argsort(-self.information[index], kind="stable")
        return np.sort(largest[: self.costs.candidates[index].kept])

    def _way(self) -> ErrorPass:
        return self._short if self.chosen else self.backward

    def _take(
        self, layer: TrainedLayer, errors: Tflite8Errors, values: Sequence[np.ndarray], gradient: Gradient
    ) -> None:
        if layer.index in self.chosen:
            super()._take(layer, errors, values, gradient)
        elif not self.chosen:
            self._add_information(layer.index, errors, values[layer.index + 1][:, 0])

    def _add_information(self, index: int, errors: Tflite8Errors, out: np.ndarray) -> None:
        """Add v * v of samples in their order (section 3), with outputs less their zero point [N, oh, ow, O]."""
        u = np.einsum("nhwo,nhwo->no", out, errors.values, dtype=np.float64).astype(np.int64)  # exact: below 2^31
        powers = np.clip(self.backward.chain.of_value[index + 1].j + errors.exponents, LEAST_POWER, LARGEST_POWER)
        v = np.ldexp(u.astype(F), powers[:, None])
        for square in v * v:  # one after the other: a sum in pairs has other bits
            self.information[index] = self.information[index] + square

    def _gradients(self, layer: TrainedLayer, errors: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return gradients that are 0 where a channel is not kept: such a number has no V, and keeps its bits."""
        kept = np.zeros(layer.layer.channels, bool)
        kept[self.chosen[layer.index]] = True
        found = super()._gradients(layer, errors, x)
        found[:, ~_by_coordinate(layer, kept)] = 0
        return found

    def remarks(self) -> tuple[str, ...]:
        """Return what was chosen."""
        if not self.chosen:
            return (
                f"all {self._completed} steps ranked, and none trained: train more steps than {self.settings.ranking}.",
            )
        return (f"the samples chose {', '.join(self._named(index) for index in self.chosen)}.",)

    def _named(self, index: int) -> str:
        its, one = self.chosen[index], self.costs.candidates[index]
        if len(its) == one.channels:
            return f"{one.name} (all {one.channels} channels)"
        listed = f": {' '.join(map(str, its))}" if len(its) <= MOST_NAMED else ""
        return f"{one.name} ({len(its)} of {one.channels} channels{listed})"


def _by_coordinate(layer: TrainedLayer, kept: np.ndarray) -> np.ndarray:
    """Return for each coordinate of a layer, in its order, what an array has for its channel."""
    parts = []
    if layer.trains_weights:
        taps = layer.weights.size // len(kept)
        parts.append(np.tile(kept, taps) if layer.layer.op is Op.DEPTHWISE else np.repeat(kept, taps))
    if layer.trains_bias:
        parts.append(kept)
    return np.concatenate(parts)
