"""r_max, the scale of the perturbation; the paper tunes it but does not print it (ElasticZO, section 5.1.1).

docs/elasticzo.md describes the search; it used no test image.
"""

from __future__ import annotations

from collections.abc import Mapping

# (data, column): r_max of full-zo, cls2, cls1; best mean accuracy of two seeds on 10,000 held-out training images
# (`hil experiment elasticzo-r-max --seeds=2`, record in fixtures/experiments/elasticzo-r-max)
SEARCHED: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("fashion-mnist", "int8"): {"full-zo": 3, "cls2": 3, "cls1": 15},
    ("fashion-mnist", "int8star"): {"full-zo": 31, "cls2": 7, "cls1": 7},
    ("mnist", "int8"): {"full-zo": 3, "cls2": 3, "cls1": 3},
    ("mnist", "int8star"): {"full-zo": 15, "cls2": 15, "cls1": 15},
}


def r_max(data: str, column: str, variant: str) -> int:
    """Return r_max of a run; rotated images use that of the plain set, and Full BP does not use it."""
    plain = "fashion-mnist" if "fashion-mnist" in data else "mnist"
    return SEARCHED[plain, column].get(variant, 15)
