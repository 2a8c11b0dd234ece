"""r_max, the perturbation's scale, which the paper tunes for each experiment (ElasticZO, section 5.1.1) and does not print.

How it was searched is in docs/experiments.md; no test image was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

# (data, column): r_max of full-zo, cls2, cls1; best mean accuracy of two seeds on the 10,000 training images that training leaves out
# (`hil experiment elasticzo-r-max --seeds=2`, record in fixtures/experiments/elasticzo-r-max)
SEARCHED: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("fashion-mnist", "int8"): {"full-zo": 3, "cls2": 3, "cls1": 15},
    ("fashion-mnist", "int8star"): {"full-zo": 31, "cls2": 7, "cls1": 7},
    ("mnist", "int8"): {"full-zo": 3, "cls2": 3, "cls1": 3},
    ("mnist", "int8star"): {"full-zo": 15, "cls2": 15, "cls1": 15},
}


def r_max(data: str, column: str, variant: str) -> int:
    """Return the scale for a run: that of the plain set for its rotated images; Full BP draws nothing, any value serves."""
    plain = "fashion-mnist" if "fashion-mnist" in data else "mnist"
    return SEARCHED[plain, column].get(variant, 15)
