"""The memory that the paper's formulas give: ElasticZO, equations (13), (14) and (15), which are one formula with three values of C."""

from __future__ import annotations

from hil.graph.ir import Graph


def training_bytes(network: Graph, partition: int, batch: int) -> int:
    """Return the bytes of training memory by equation (15); C = 0 gives (13), C = L gives (14).

    Every layer has an activation, a relu too, those with weights also an int32 accumulator; everything stays allocated, as the paper
    assumes (section 4.4). With the relus counted, the ratios of section 5.3 (0.26, 4.1, 0.052, 1.4 %; 1.8, 1.6 x) come out.

    Args:
        network: the graph.
        partition: trained tensors by zeroth order (C).
        batch: samples a step; activations and errors are held for all of them.
    """
    first_bp = network.first_bp(partition)
    total = 0
    for index, layer in enumerate(network.layers):
        weights = layer.weight_count
        total += weights + batch * layer.out_size  # theta int8, a int8
        if weights:
            total += 4 * batch * layer.out_size  # a int32
        if index >= first_bp:
            total += batch * layer.out_size  # e int8
            total += 5 * weights  # g int8, g int32
            if weights and index > first_bp:
                total += 4 * batch * layer.in_size  # e int32 of the layer before
    return total
