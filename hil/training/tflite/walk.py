"""The walk through a model's operators: what each tensor is by now, and the layers made so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hil.errors import RigError
from hil.training.graph.formats import Op, Shape
from hil.training.graph.node import Tflite8Node
from hil.training.tflite.activations import activation_of, limits
from hil.training.tflite.model import ABSENT, Model, Operator, TfliteTensor
from hil.training.tflite.runtimes import rounding_of
from hil.training.tflite.values import CURE, Value, grid_of
from hil.training.tflite.weights import WeightSource


@dataclass
class Walk:
    """Layers in the order in which they run; operators that are folded away change only `values`.

    Attributes:
        model: what is imported.
        runtime: whose rounding the layers have.
        values: by tensor, what it is.
        nodes: the layers, without names and blocks.
        tensors: by layer, the tensor of the model that has its output.
        operators: by layer, the operator that it was.
        sources: by index of a layer with weights, where they come from.
        in_shape: of the network's input; None until a layer reads it as an image.
    """

    model: Model
    runtime: str
    values: dict[int, Value] = field(default_factory=dict)
    nodes: list[Tflite8Node] = field(default_factory=list)
    tensors: list[int] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    sources: dict[int, WeightSource] = field(default_factory=dict)
    in_shape: Shape | None = None

    def given(self, operator: Operator, place: int = 0) -> TfliteTensor:
        """Return a tensor that an operator reads.

        Raises:
            RigError: it is left out.
        """
        index = operator.inputs[place] if place < len(operator.inputs) else ABSENT
        if index == ABSENT:
            raise RigError(f"{operator} has no input {place}: {CURE}.")
        return self.model.tensors[index]

    def read(self, operator: Operator, place: int = 0, padded: bool = False) -> Value:
        """Return a value that an operator reads, which with `padded` may have zeros around it.

        Raises:
            RigError: it is a constant, comes behind the logits, or has zeros around it.
        """
        tensor = self.given(operator, place)
        value = self.values.get(tensor.index)
        if value is None:
            grid_of(tensor, operator)
            raise RigError(f"{operator} reads a constant as input {place}: only weights may be constants.")
        if value.ended:
            raise RigError(f"{operator} reads what is behind the logits: only the last operator may be a SOFTMAX.")
        if any(value.pad) and not padded:
            raise RigError(f"{operator} reads the output of a PAD: only convolutions may.")
        return value

    def image(self, operator: Operator, place: int = 0, padded: bool = False) -> Value:
        """Return a value that an operator reads as an image; the input of the network takes the shape of the first.

        Raises:
            RigError: as `read`, or a RESHAPE made another image of it.
        """
        value = self.read(operator, place, padded)
        if value.number == 0 and self.in_shape is None:
            self.in_shape = value.shape
        made = self.shape_of(value)
        if made != value.shape:
            raise RigError(f"{operator} reads {made} as {value.shape}, which no layer does: leave out the RESHAPE.")
        return value

    def shape_of(self, value: Value) -> Shape:
        """Return the shape in which a value was made."""
        if value.number:
            return self.nodes[value.number - 1].out_shape
        return self.in_shape or value.shape

    def out(self, operator: Operator) -> TfliteTensor:
        """Return the tensor that an operator makes."""
        return self.model.tensors[operator.outputs[0]]

    def fold(self, operator: Operator, value: Value) -> None:
        """Make the output of an operator a value that is there already."""
        self.values[operator.outputs[0]] = value

    def layer(self, operator: Operator, op: Op, values: tuple[Value, ...], shape: Shape) -> Tflite8Node:
        """Return a layer that reads values and has scale, zero point and limits of an operator's output.

        Raises:
            RigError: the output has no such scale, or its activation cannot be run.
        """
        scale, zero = grid_of(self.out(operator), operator)
        low, high = limits(operator, scale, zero, activation_of(operator))
        reads = tuple(value.number for value in values)
        rounding = rounding_of(self.runtime, operator.name)
        return Tflite8Node(
            "", op, reads, self.shape_of(values[0]), shape, act_min=low, act_max=high, scale=scale, zero=zero,
            rounding=rounding,
        )  # fmt: skip

    def append(self, operator: Operator, node: Tflite8Node) -> None:
        """Append a layer, whose output is that of an operator."""
        self.nodes.append(node)
        self.tensors.append(operator.outputs[0])
        self.operators.append(str(operator))
        self.fold(operator, Value(len(self.nodes), node.out_shape, node.scale, node.zero))

    def limit_last(self, operator: Operator, value: Value) -> bool:
        """Make a ReLU limits of the last layer if nothing else reads that; return whether it is done."""
        if value.number != len(self.nodes) or not self.nodes or self.nodes[-1].op is Op.TABLE:
            return False
        same = {index for index, other in self.values.items() if other.number == value.number}
        readers = [one for one in self.model.operators if not same.isdisjoint(one.inputs)]
        if len(readers) != 1 or not same.isdisjoint(self.model.outputs):
            return False
        low, high = limits(operator, value.scale, value.zero, operator.name)
        last = self.nodes[-1]
        self.nodes[-1] = replace(last, act_min=max(low, last.act_min), act_max=min(high, last.act_max))
        self.tensors[-1] = operator.outputs[0]
        self.fold(operator, value)
        return True
