"""A training that is cut goes on from its trained tensors alone, as the whole one does."""

from __future__ import annotations

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods import Method
from hil.training.reference.methods import reference_of
from reference.drawn_graphs import labelled


def check_nothing_else_is_kept(method: Method, graph: Graph) -> None:
    """Train two steps, and two more both at once and from the tensors of the first two: all digests are equal."""
    batches = [labelled(graph, np.random.default_rng(number)) for number in range(4)]
    whole = reference_of(method)
    for batch in batches[:2]:
        whole.step(*batch)
    cut = reference_of(method.given(whole.weights))
    cut.configure(method.settings, 2)
    assert whole.state() == {}
    for batch in batches[2:]:
        whole.step(*batch)
        cut.step(*batch)
        assert whole.digests() == cut.digests()
