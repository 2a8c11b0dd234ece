"""Bytes of the values of a network: its input, and what each layer makes."""

from __future__ import annotations

from hil.training.graph.graph import Graph


def value_sizes(graph: Graph) -> list[int]:
    """Return the bytes of every value, the input first."""
    height, width, channels = graph.in_shape
    return [height * width * channels, *(layer.out_size for layer in graph.layers)]


def inference_peak(graph: Graph) -> int:
    """Return the most bytes of values that live at once while the layers run one after the other."""
    sizes = value_sizes(graph)
    last = [graph.last_use(value) for value in range(len(sizes))]
    return max(
        sum(size for value, size in enumerate(sizes) if value - 1 <= slot <= last[value])
        for slot in range(len(graph.layers))
    )
