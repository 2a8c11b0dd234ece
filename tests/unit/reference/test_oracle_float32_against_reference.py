"""ElasticZO on `float32` in the tree's reference against the oracle, bit for bit, on small random graphs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.reference.methods import training_loop
from reference.drawn_graphs import images
from reference.oracle_graphs import drawn_float32
from tests.oracle import PlainElasticZoFp32

STEPS = 2
EPSILON = st.sampled_from([2.0**-24, float(np.float32(0.001)), float(np.float32(0.03)), 1.0])
ETA = st.sampled_from([2.0**-40, float(np.float32(0.001)), float(np.float32(0.05)), 0.5, 16.0])


@settings(max_examples=60, deadline=None)
@given(
    share=st.floats(0, 1),
    epsilon=EPSILON,
    eta=ETA,
    g_clip=st.sampled_from([2.0**-20, 0.5, 5.0, 65536.0]),
    samples=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    first=st.sampled_from([0, 1, 2**32 - 2]),
)
def test_small_graphs(
    share: float, epsilon: float, eta: float, g_clip: float, samples: int, seed: int, first: int
) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_float32(rng)
    chosen = Fp32Settings(
        partition=round(share * len(graph.trained)), epsilon=epsilon, eta=eta, g_clip=g_clip, batch=samples, seed=seed
    )
    fast, slow = training_loop("elasticzo-fp32")(graph, chosen), PlainElasticZoFp32(graph, chosen)
    fast.configure(chosen, first)
    for step in range(first, first + STEPS):
        pictures, labels = images(graph, samples, rng)
        outcome = fast.step(pictures, labels.astype(np.uint8))
        plus, minus, sign = slow.step(step, pictures, labels.tolist())
        assert np.float32(outcome.loss_plus).tobytes() == plus.tobytes()
        assert np.float32(outcome.loss_minus).tobytes() == minus.tobytes()
        assert outcome.sign == sign
        for index, (got, expected) in enumerate(zip(fast.weights, slow.tensors, strict=True)):
            assert got.astype("<f4").tobytes() == np.array(expected, "<f4").tobytes(), f"tensor {index}"
