"""`partition-C`: the variant of ElasticZO that names how much zeroth order trains."""

from __future__ import annotations

import re

import pytest

from hil.errors import RigError
from hil.training.methods import METHODS, Method
from hil.training.networks import build

NETWORKS = {"elasticzo-int8": "lenet5", "elasticzo-fp32": "lenet5-float32"}


def on(method: str, variant: str, **settings: object) -> Method:
    return METHODS[method].on(build(NETWORKS[method], 1), variant, **settings)


@pytest.mark.parametrize("method", NETWORKS)
def test_every_partition_can_be_chosen(method: str) -> None:
    for partition in range(6):
        assert on(method, f"partition-{partition}").settings.partition == partition
    named = {"full-bp": 0, "cls1": 3, "cls2": 4, "full-zo": 5}
    assert all(on(method, name).settings == on(method, f"partition-{part}").settings for name, part in named.items())


@pytest.mark.parametrize("method", NETWORKS)
@pytest.mark.parametrize(
    ("variant", "settings", "said"),
    [
        ("partition-6", {}, "the variant partition-6 trains more than the network has: choose a C in 0..5"),
        ("partition-02", {}, "the method has no variant 'partition-02'"),
        ("partition--1", {}, "the method has no variant 'partition--1'"),
        ("nothing", {}, "partition-C"),
        ("cls1", {"partition": 2}, "leave it out, and choose the variant 'partition-C' with any C in 0..5"),
        ("partition-2", {"partition": 2}, "leave it out, and choose the variant 'partition-C'"),
    ],
)
def test_other_words_are_refused(method: str, variant: str, settings: dict[str, int], said: str) -> None:
    with pytest.raises(RigError, match=re.escape(said)):
        on(method, variant, **settings)
