"""One training step in loops over plain integers, slow on purpose.

They follow docs/arithmetic.md, arithmetic-zeroth-order.md, arithmetic-float32.md,
arithmetic-w16a8.md, arithmetic-qzo-ff.md, arithmetic-quzo.md, arithmetic-affine8.md, arithmetic-fqt.md and
arithmetic-tinytrain.md.

The loops share no code with the vectorised reference, so that both can be compared. Integers are Python's
own, without a width; losses, learning rates and the format `float32` use `numpy.float32` scalars, because their
roundings are part of the specification.
"""

from tests.oracle.elasticzo_fp32 import PlainElasticZoFp32
from tests.oracle.fqt import PlainFqt
from tests.oracle.graph_backward import PlainBackPropagation
from tests.oracle.graph_method import PlainGraphMethod
from tests.oracle.method import PlainElasticZoInt8
from tests.oracle.perturbed_scales import PlainPerturbedScales
from tests.oracle.quzo import PlainQuzo
from tests.oracle.qzo_ff import PlainQzoFf
from tests.oracle.tinytrain import PlainTinyTrain

__all__ = [
    "PlainBackPropagation",
    "PlainElasticZoFp32",
    "PlainElasticZoInt8",
    "PlainFqt",
    "PlainGraphMethod",
    "PlainPerturbedScales",
    "PlainQuzo",
    "PlainQzoFf",
    "PlainTinyTrain",
]
