"""One training step in loops over plain integers: docs/arithmetic.md, -zeroth-order.md and -backward.md read aloud, slow on purpose.

It shares no code with the vectorised reference, so that the two can be held against each other. Integers are Python's
own, without a width; only losses and learning rates use `numpy.float32` scalars, because their roundings are part of the specification.
"""

from tests.oracle.graph_backward import PlainBackPropagation
from tests.oracle.graph_method import PlainGraphMethod
from tests.oracle.method import PlainElasticZoInt8

__all__ = ["PlainBackPropagation", "PlainElasticZoInt8", "PlainGraphMethod"]
