"""Comparison of a device with a reference: step by step, under a tolerance; drift over the steps; whether it learns.

It needs NumPy only, no board and no pytest:

    run = compare(MyReference(), rtol=1e-5)
    for step, batch in enumerate(batches):
        run.step(step, {"fc1": weights_of_the_device, "loss": loss_of_the_device})
    print(run.check().sentence)
"""

from hil.comparison.comparison import Comparison, compare
from hil.comparison.drift import Drift
from hil.comparison.learning import Learning, NotLearning, expect_learning
from hil.comparison.measure import ulp_distance
from hil.comparison.recordings import Recorded, Recorder, golden, recorded
from hil.comparison.result import ComparedTensor, Difference, FormDifference, Summary, ValueDifference
from hil.comparison.tensors import Reference
from hil.comparison.tolerance import Tolerance, atol, exact, max_abs, mean_abs, rtol, ulp

__all__ = [
    "ComparedTensor",
    "Comparison",
    "Difference",
    "Drift",
    "FormDifference",
    "Learning",
    "NotLearning",
    "Recorded",
    "Recorder",
    "Reference",
    "Summary",
    "Tolerance",
    "ValueDifference",
    "atol",
    "compare",
    "exact",
    "expect_learning",
    "golden",
    "max_abs",
    "mean_abs",
    "recorded",
    "rtol",
    "ulp",
    "ulp_distance",
]
