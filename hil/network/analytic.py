"""The memory that the paper's formulas give: ElasticZO, equations (13), (14) and (15), which are one formula with three values of C."""

from __future__ import annotations

from hil.network.graph import Network, Op
from hil.network.plan import weight_count


def training_bytes(network: Network, partition: int, batch: int) -> int:
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
        weights = weight_count(layer)
        total += weights + batch * layer.out_size  # theta int8, a int8
        if weights:
            total += 4 * batch * layer.out_size  # a int32
        if index >= first_bp:
            total += batch * layer.out_size  # e int8
            total += 5 * weights  # g int8, g int32
            if weights and index > first_bp:
                total += 4 * batch * layer.in_size  # e int32 of the layer before
    return total


def forward_macs(network: Network) -> int:
    """Return the multiply-accumulates of one sample's forward pass; products with padding count, as the papers count them."""
    macs = 0
    for layer in network.layers:
        if layer.op is Op.CONV2D:
            macs += layer.out_shape[0] * layer.out_shape[1] * weight_count(layer)
        elif layer.op is Op.FULLY_CONNECTED:
            macs += weight_count(layer)
    return macs
