"""How often a step reads the counter, as the host works it out, beside the engine on a counter that counts its readings."""

from __future__ import annotations

import ctypes

from hypothesis import given

from engine.test_host_engine import FAST, cases, engine_of, images_of
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_int8 import ElasticZoInt8
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.trial.latency_counts import LAP_PHASES


@FAST
@given(case=cases())
def test_the_bookings_of_a_step_are_those_of_the_engine(
    library: ctypes.CDLL, case: tuple[Graph, ElasticZoSettings, int]
) -> None:
    network, chosen, _ = case
    images, labels = images_of(network, chosen.batch)
    expected, (forward, backward) = ElasticZoInt8(network, chosen).figures.bookings()
    with engine_of(library, network) as engine:
        engine.configure(chosen, chosen.batch)
        engine.samples(images, labels)
        engine.run(0, 3, chosen.batch)
        assert engine.laps() == [tuple(expected[phase] for phase in LAP_PHASES)] * 3
        assert engine.profile() == [3 * count for count in forward + backward]
        assert expected["total"] == sum(engine.laps()[0])
