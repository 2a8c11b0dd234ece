"""Cycles that are booked to another layer differ from those of the layer's calls; true ones never do."""

from __future__ import annotations

import pytest

from hil import boards
from hil.images import image_of
from hil.training.methods.elasticzo_int8 import ElasticZoInt8
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build
from hil.training.trial.second_sources.counter import ROUND, TICKS
from hil.training.trial.second_sources.figures import PROBE, Figures
from hil.training.trial.second_sources.layer_stops import FORWARD, compare, layer_functions

METHOD = ElasticZoInt8(build("lenet5", 1), ElasticZoSettings.of_variant("cls1", 5, batch=2, seed=1))
CALLS = {0: [162_000, 161_900], 1: [7_100, 7_100], 2: [8_800, 8_900], 3: [452_000, 452_100], 6: [121_200, 121_300]}
BOOKED = [324_400, 14_400, 17_900, 904_400, 9_800, 7_700, 242_700, 730, 28_800, 620, 5_900]
TENTH = BOOKED[0] // 10


def wrong(reported: list[int], exact: bool = True, wrap: int = ROUND) -> str:
    figures = Figures()
    compare(figures, METHOD.plan.layers, exact, reported, CALLS, wrap)
    assert figures.sources == {FORWARD: [PROBE]}
    return figures.wrong.get(FORWARD, "")


def moved(cycles: int, to: int | None) -> list[int]:
    """Return what is reported if cycles of conv1 are booked to another layer; None: to another phase."""
    booked = list(BOOKED)
    booked[0] -= cycles
    if to is not None:
        booked[to] += cycles
    return booked


@pytest.mark.parametrize("exact", [True, False])  # of bfp8, and of all other formats
def test_what_a_layer_takes_beside_its_calls_is_allowed(exact: bool) -> None:
    assert wrong(BOOKED, exact) == ""
    assert wrong([*BOOKED[:-1], 10 * BOOKED[-1]], exact) == ""  # the loss is booked to the last layer


@pytest.mark.parametrize("to", [1, 3, 4, None])
@pytest.mark.parametrize("exact", [True, False])  # of bfp8, and of all other formats
def test_a_tenth_of_a_layer_that_is_booked_elsewhere_is_named(exact: bool, to: int | None) -> None:
    sentence = wrong(moved(TENTH, to), exact)
    assert f"{BOOKED[0] - TENTH:,} for conv1, of which the probe saw 323,900" in sentence
    assert ("relu1" in sentence) == (to == 1 and exact)


def test_a_counter_of_24_bits_wraps_in_a_sum_of_calls() -> None:
    """What is seen of a call is known modulo 2^24."""
    booked = [cycles + (TICKS if index == 3 else 0) for index, cycles in enumerate(BOOKED)]
    assert wrong(booked, wrap=TICKS) == ""
    assert "conv2" in wrong(booked)


@pytest.mark.parametrize("name", boards.names())
def test_every_image_has_the_functions_that_run_layers(name: str) -> None:
    image = image_of(name)
    found = {
        image.local_function(f"{format}.c", "run") for format in ("bfp8", "tflite8", "float32", "w16a8", "affine8")
    }
    assert None not in found and len(found) == 5
    assert {image.function_at(address) for address in found if address is not None} == {"run+0x0"}
    assert layer_functions(image, METHOD.network) == (image.local_function("bfp8.c", "run"),)


def test_the_function_of_a_format_is_the_one_of_its_source_file() -> None:
    image = image_of("stm32h7b3")
    address = image.local_function("bfp8.c", "run")
    assert address is not None and (image.lines.at(address) or "").startswith("formats/bfp8.c:")
    assert image.local_function("bfp8.c", "runs") is image.local_function("bfp9.c", "run") is None
