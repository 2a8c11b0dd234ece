"""One training step in loops over plain integers, slow on purpose.

They follow docs/arithmetic.md, arithmetic-zeroth-order.md and arithmetic-backward.md.

The loops share no code with the vectorised reference, so that both can be compared. Integers are Python's
own, without a width; only losses and learning rates use `numpy.float32` scalars, because their roundings are part of
the specification.
"""

from tests.oracle.graph_backward import PlainBackPropagation
from tests.oracle.graph_method import PlainGraphMethod
from tests.oracle.method import PlainElasticZoInt8

__all__ = ["PlainBackPropagation", "PlainElasticZoInt8", "PlainGraphMethod"]
