"""MLPerf Tiny's tasks with drawn models in `tflite8`: on the agent's code built for this computer, beside LiteRT."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from agent_client import INPUTS
from mlperf_expected import F32, MOST_PRINTED, Expected, printed_as, quantized
from mlperf_modes import accuracy, area_under_roc, median_throughput, performance
from mlperf_runner import parse
from mlperf_session import FEATURES, IMAGES, RECONSTRUCTION, fields_for, session, session_of

from hil.training.graph.file import encode
from tests.unit.tflite_models.made import CODED, Made, autoencoder, small, trainable

TOLERANCE = 0.0011  # the board rounds a binary32 number to three decimals, the oracle has binary64
SLOTS = {IMAGES: 2, FEATURES: 2, RECONSTRUCTION: 6}


def drawn(expected: Expected, rng: random.Random, reach: float = 140.0) -> bytes:
    """Return drawn binary32 inputs, some beyond what int8 has."""
    graph = expected.graph
    return np.array([graph.scale * (rng.uniform(-reach, reach) - graph.zero) for _ in range(CODED)], "<f4").tobytes()


@pytest.mark.parametrize(
    ("task", "made"),
    [(IMAGES, trainable()), (IMAGES, small(6)), (FEATURES, small(6)), (FEATURES, trainable(3))],
)
def test_the_probabilities_are_the_softmax_of_what_litert_computes(agent_program: Path, task: int, made: Made) -> None:
    expected, rng = Expected(made.bytes()), random.Random(7)
    oracle = expected.images if task == IMAGES else expected.features
    other = expected.features if task == IMAGES else expected.images
    seen, apart = set(), 0
    with session_of(agent_program, encode(expected.graph), task, SLOTS[task]) as one:
        assert one.answer == {}
        for _ in range(12):
            data = rng.randbytes(int(np.prod(expected.graph.in_shape)))
            one.runner.load(data)
            stamps, results = one.runner.infer(2, 1)
            assert results == pytest.approx(oracle(data), abs=TOLERANCE)
            assert parse(one.runner.command("results")[0]) == results and len(stamps) == 2
            seen.add(tuple(results))
            apart += oracle(data) != pytest.approx(other(data), abs=TOLERANCE)
    assert len(seen) > 9 and apart > 9, "samples and tasks must make a difference"


@pytest.mark.parametrize(("scale", "zero"), [(0.4, 89), (0.0123, -128), (3.5, 0), (1e-3, 127), (8.0, -7)])
def test_a_reconstruction_is_the_mean_squared_error_in_binary32(agent_program: Path, scale: float, zero: int) -> None:
    expected, rng, seen = Expected(autoencoder(scale, zero).bytes()), random.Random(zero), set()
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        for _ in range(20):
            data = drawn(expected, rng)
            one.runner.load(data)
            _, results = one.runner.infer(1, 0)
            assert printed_as(results, expected.reconstruction(data)), (results, expected.reconstruction(data))
            assert parse(one.runner.command("results")[0]) == results
            seen.add(tuple(results))
    assert len(seen) > 10


def test_the_squares_are_summed_from_the_first_to_the_last(agent_program: Path) -> None:
    """With large inputs the order shows in the decimals."""
    expected, rng, shows = Expected(autoencoder(60.0, -7).bytes()), random.Random(2), 0
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        for _ in range(40):
            data = drawn(expected, rng, 20.0)
            one.runner.load(data)
            results = one.runner.infer(1, 0)[1]
            assert printed_as(results, expected.reconstruction(data))
            x, outputs = np.frombuffer(data, "<f4"), _outputs(expected, data)
            squares = (F32(expected.graph.layers[-1].scale) * (outputs - F32(expected.graph.layers[-1].zero)) - x) ** 2
            backwards = F32(0)
            for square in squares[::-1]:
                backwards = F32(backwards + square)
            shows += not printed_as(results, F32(backwards / F32(CODED)))
    assert shows > 2


def _outputs(expected: Expected, data: bytes) -> np.ndarray:
    x = np.frombuffer(data, "<f4")
    return expected.outputs(quantized(x, expected.graph.scale, expected.graph.zero)).astype(np.float32)


@pytest.mark.parametrize("zero", [0, -3, 89])
def test_halves_go_away_from_zero_before_the_zero_point_is_added(agent_program: Path, zero: int) -> None:
    """As quantization_helpers.h of the benchmark has it; with a zero point of 0 there is only one reading."""
    expected = Expected(autoencoder(0.5, zero).bytes())
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        for quotients in (
            [0.5, 1.5, 2.5],
            [-0.5, -1.5, -2.5],
            [30.5, -30.5, 7.5],
            [0.49999997, -0.49999997, 8388607.5],
        ):
            x = np.array([0.5 * quotients[index % 3] for index in range(CODED)], "<f4")
            one.runner.load(x.tobytes())
            assert printed_as(one.runner.infer(1, 0)[1], expected.reconstruction(x.tobytes())), quotients


@pytest.mark.parametrize("value", [1e3, -1e3, 1e9, -1e9, 1e30, -3e38, float("inf"), float("-inf")])
@pytest.mark.parametrize("zero", [89, -128])
def test_what_is_beyond_int8_is_limited(agent_program: Path, value: float, zero: int) -> None:
    expected = Expected(autoencoder(0.4, zero).bytes())
    x = np.linspace(-20, 20, CODED).astype("<f4")
    x[5] = value
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        one.runner.load(x.tobytes())
        error, results = expected.reconstruction(x.tobytes()), one.runner.infer(1, 0)[1]
        assert printed_as(results, error)
        assert (results == [MOST_PRINTED]) == (abs(value) > 1e8)


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF])
def test_what_is_no_number_is_survived(agent_program: Path, bits: int) -> None:
    """The page says what it becomes as an input; its error is not a number, and how that is printed is left open."""
    expected = Expected(autoencoder().bytes())
    clean = np.linspace(-40, 40, CODED).astype("<f4")
    broken = clean.copy()
    broken.view("<u4")[3] = bits
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        one.runner.load(broken.tobytes())
        lines = one.runner.command("infer 1 0")
        (number,) = parse(lines[-1])
        assert np.isnan(number) or number == MOST_PRINTED
        one.runner.load(clean.tobytes())
        assert printed_as(one.runner.infer(1, 0)[1], expected.reconstruction(clean.tobytes()))


@pytest.mark.parametrize(
    ("task", "made"), [(IMAGES, trainable()), (FEATURES, small()), (RECONSTRUCTION, autoencoder())]
)
def test_the_sample_can_be_printed_and_inferred_again(agent_program: Path, task: int, made: Made) -> None:
    expected, rng = Expected(made.bytes()), random.Random(9)
    with session_of(agent_program, encode(expected.graph), task, SLOTS[task]) as one:
        for data in (drawn(expected, rng), drawn(expected, rng)):
            if task != RECONSTRUCTION:
                data = rng.randbytes(int(np.prod(expected.graph.in_shape)))
            one.runner.load(data)
            printed = [f"m-buffer-{data[at : at + 8].hex('-')}" for at in range(0, len(data), 8)]
            assert one.runner.command("db print") == printed
            before = one.runner.infer(1, 0)[1]
            assert one.runner.command("db print") == printed
            assert one.runner.infer(3, 2)[1] == before
            assert one.runner.command("db print") == printed


@pytest.mark.parametrize(
    ("task", "made", "size"),
    [(IMAGES, trainable(), 64), (FEATURES, small(), 96), (RECONSTRUCTION, autoencoder(), 4 * CODED)],
)
def test_a_sample_has_the_bytes_of_its_task(agent_program: Path, task: int, made: Made, size: int) -> None:
    expected = Expected(made.bytes())
    with session_of(agent_program, encode(expected.graph), task, SLOTS[task]) as one:
        for wrong in (0, 1, size - 1, size + 1, size // 4, 4 * size):
            assert one.runner.command(f"db load {wrong}") == [f"e-[{size} bytes]"]
        assert one.runner.command("infer 1 0") == ["e-[db load first]"]
        assert one.runner.command(f"db load {size}") == [f"m-[Expecting {size} bytes]"]
        assert one.runner.command("infer 1 0") == ["e-[db load first]"], "nothing has arrived"


@pytest.mark.parametrize(
    ("task", "made", "slots"),
    [(IMAGES, trainable(), 1), (FEATURES, small(), 1), (RECONSTRUCTION, autoencoder(), 5)],
)
def test_with_a_slot_too_few_there_is_no_network(agent_program: Path, task: int, made: Made, slots: int) -> None:
    graph = Expected(made.bytes()).graph
    size = int(np.prod(graph.in_shape)) * (4 if task == RECONSTRUCTION else 1)
    with session_of(agent_program, encode(graph), task, slots) as one:
        for command in (f"db load {size}", "db 00", "db print"):
            assert one.runner.command(command) == ["e-[no network]"]
        assert one.runner.command("infer") == ["e-[db load first]"]
        assert one.runner.command("results") == ["e-[infer first]"]
        assert one.runner.command("name") == ["m-name-dut-[trainrig harness]"]


@pytest.mark.parametrize("outputs", [CODED - 1, CODED + 1, 2])
def test_a_reconstruction_needs_as_many_outputs_as_inputs(agent_program: Path, outputs: int) -> None:
    blob = encode(Expected(autoencoder(outputs=outputs).bytes()).graph)
    with session_of(agent_program, blob, RECONSTRUCTION, 6) as one:
        assert one.runner.command(f"db load {4 * CODED}") == ["e-[no network]"]
        assert one.runner.command("infer 1 0")[0].startswith("e-[")


@pytest.mark.parametrize("task", [FEATURES, RECONSTRUCTION])
def test_a_network_in_bfp8_has_images_only(agent_program: Path, task: int) -> None:
    with session(agent_program, task=task, batch=6, slots=6) as one:
        if one.answer == {}:
            for size in (INPUTS, 4 * INPUTS):
                assert one.runner.command(f"db load {size}")[0].startswith("e-[")
            assert one.runner.command("infer 1 0")[0].startswith("e-[")
        else:
            assert "error" in one.answer


@pytest.mark.parametrize("task", [3, 4, 255])
def test_an_unknown_task_is_refused(agent_program: Path, task: int) -> None:
    with session(agent_program, task=task) as one:
        assert "error" in one.answer
        assert one.exchange(b"name%") == b"", "the commands stay off"


def test_fewer_slots_in_between_take_the_sample_away(agent_program: Path) -> None:
    expected = Expected(autoencoder().bytes())
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        one.runner.load(drawn(expected, random.Random(1)))
        one.runner.infer(1, 0)
        one.agent.receive(b"\0")
        assert "error" not in one.client.call("configure", **fields_for(5))
        for command in ("infer 1 0", "results", "db print"):
            assert one.runner.command(command)[0].startswith("e-["), command


def test_any_bytes_are_survived_by_a_reconstruction(agent_program: Path) -> None:
    expected, rng = Expected(autoencoder().bytes()), random.Random(13)
    words = [
        b"db ",
        b"load ",
        b"48",
        b"infer ",
        b"1 ",
        b"%",
        b"7fc00000ff800000",
        b"print",
        b"results",
        b" ",
        b"\0",
        b"-",
    ]
    with session_of(agent_program, encode(expected.graph), RECONSTRUCTION, 6) as one:
        for _ in range(1500):
            one.exchange(b"".join(rng.choice(words) for _ in range(rng.randrange(1, 9))))
        assert one.exchange(b"\0%name%").endswith(b"m-name-dut-[trainrig harness]\r\nm-ready\r\n")


def test_the_performance_mode_with_a_drawn_model(agent_program: Path) -> None:
    """The harness counts a microsecond for each reading of its counter, so every window is short and known."""
    expected, rng = Expected(trainable().bytes()), random.Random(21)
    samples = [rng.randbytes(64) for _ in range(5)]
    with session_of(agent_program, encode(expected.graph), IMAGES, 2) as one:
        windows = performance(one.runner, samples, 4, 1)
    assert [window.seconds for window in windows] == [4e-6] * 5 and all(window.marked for window in windows)
    assert median_throughput(windows) == pytest.approx(1e6)
    for window, sample in zip(windows, samples, strict=True):
        assert window.results == pytest.approx(expected.images(sample), abs=TOLERANCE)


def test_the_accuracy_mode_with_a_drawn_model(agent_program: Path) -> None:
    """Samples whose two best classes are apart by more than the rounding; every fourth has another label."""
    expected, rng = Expected(small(6).bytes()), random.Random(21)
    samples = [rng.randbytes(96) for _ in range(60)]
    wanted = np.array([expected.features(sample) for sample in samples])
    sorted_ = np.sort(wanted, axis=1)
    clear = sorted_[:, -1] - sorted_[:, -2] > 2 * TOLERANCE
    samples, wanted = [sample for sample, one in zip(samples, clear, strict=True) if one], wanted[clear]
    labels = (wanted.argmax(axis=1) + (np.arange(len(wanted)) % 4 == 0)) % 3
    with session_of(agent_program, encode(expected.graph), FEATURES, 2) as one:
        top, area = accuracy(one.runner, samples, labels)
    assert top == 100 * np.mean(wanted.argmax(axis=1) == labels) and 60 < top < 90
    areas = [area_under_roc(wanted[:, one], labels == one) for one in range(3)]
    assert area == pytest.approx(np.mean(areas), abs=0.02) and 0.5 < area < 1


def test_the_area_under_the_curve_by_hand() -> None:
    scores, positive = np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])
    assert area_under_roc(scores, positive) == 0.75
    assert area_under_roc(np.ones(4), positive) == 0.5
    assert area_under_roc(-scores, positive) == 0.25
