"""A network in tflite8 over the link: what the requests do, what they refuse, and the same numbers as the reference."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agent_client import Client, network
from host_agent import FLASH_BASE, FLASH_SIZE, Agent

from hil.training.graph.file import encode
from hil.training.graph.graph import Graph
from hil.training.methods.deepzero import DeepZero
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.int8_bp import Int8Bp
from hil.training.methods.poor_mans_training import PoorMansTraining
from hil.training.methods.settings import configure_fields, sent
from hil.training.networks.drawing import Drawing, calibration_images
from hil.training.networks.quantize import quantize
from hil.training.reference.methods import training_loop
from hil.training.reference.methods.deepzero import DeepZeroReference

METHODS = {"poor-mans": PoorMansTraining, "deepzero": DeepZero, "bp": Int8Bp}
CHOSEN = GraphSettings(eta=0.5, queries=3, batch=1, perturb="adaptive", seed=7)
NO_NETWORK, WRONG_FORMAT = {"error": "no_network", "a": 0, "b": 0}, {"error": "network_layer", "a": 0, "b": 5}


def made_graph() -> Graph:
    """Return a network with every kind of layer that is trained, and an input larger than a frame."""
    net = Drawing("small", (19, 19, 3), 3, 11)
    net.conv(3, 2, 1, 4, "relu6")
    net.bottleneck(3, 1, 6, 4, residual=True)
    net.mean()
    net.fully_connected(3)
    return quantize(net.graph, calibration_images((19, 19, 3), 11))


GRAPH = made_graph()
PICTURES, LABELS = calibration_images((19, 19, 3), 12, 3), np.array([0, 1, 2])


def request(chosen: GraphSettings, slots: int, first_step: int = 0) -> dict[str, object]:
    """Return the fields of `configure`."""
    return chosen.request_fields(chosen.method, slots, first_step)


def put(client: Client, slot: int, sample: int) -> None:
    """Send a sample in pieces."""
    pixels = PICTURES[sample].tobytes()
    for offset in range(0, len(pixels), 500):
        part = {"slot": slot, "label": int(LABELS[sample]), "offset": offset, "pixels": pixels[offset : offset + 500]}
        assert client.call("sample_part", **part) == {}


def load(client: Client, blob: bytes) -> dict[str, int]:
    """Load a file, in frames."""
    client.call("load_begin", total=len(blob))
    for offset in range(0, len(blob), 1000):
        client.call("load_data", offset=offset, data=blob[offset : offset + 1000])
    return client.call("load_end")


@pytest.fixture
def client(agent_program: Path, tmp_path: Path) -> Iterator[Client]:
    """Return a client of a fresh agent with the file in its flash, its session begun."""
    path = tmp_path / "flash.bin"
    path.write_bytes(bytes(64) + encode(GRAPH))
    agent = Agent(agent_program, path)
    yield Client(agent)
    agent.close()


def idle_coordinates(reference: object, step: int) -> int:
    """Return the coordinates of the last layer that a step of a sparse DeepZero leaves out; 0 for other methods."""
    if not isinstance(reference, DeepZeroReference):
        return 0
    (layer,) = reference.trained
    return int(layer.coordinates - len(reference.active(step, layer)))


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"method": "deepzero", "sparsity": 250, "train": "last"},
        {"wise": "model"},
        {"fused": 1, "perturb": "weight"},
        {"method": "bp"},
        {"method": "bp", "train": "pointwise", "momentum": 0.9, "consumed": 1, "fused": 1},
    ],
)
def test_steps_over_the_link_are_those_of_the_reference(
    client: Client, flash: bool, changes: dict[str, object]
) -> None:
    blob = encode(GRAPH)
    chosen = GraphSettings(**{**CHOSEN.__dict__, **changes})
    loaded = client.call("use_flash", address=FLASH_BASE + 64, total=len(blob)) if flash else load(client, blob)
    assert loaded == {"network_digest": struct.unpack_from("<I", blob, 12)[0], "tensors": 10, "layers": 7}
    configured = client.call("configure", **request(chosen, 1))
    reference = training_loop(chosen.method)(GRAPH, chosen)
    counted = METHODS[chosen.method](GRAPH, chosen).figures.step_work()
    assert configured["tensors"] == len(reference.weights)
    for step in range(2):
        put(client, 0, step)
        done = client.call("step", step=step, count=1)
        expected = reference.step(PICTURES[step : step + 1], LABELS[step : step + 1])
        assert tuple(done["digests"]) == expected.digests
        assert (done["loss_plus"], done["loss_minus"], done["sign"]) == (expected.loss_plus, expected.loss_minus, 0)
        work = client.call("work")
        idle = idle_coordinates(reference, step)
        assert work["layer_runs"] == counted.layer_runs - idle
        assert work["macs"] == counted.macs - idle * GRAPH.layers[-1].macs
        assert work["bookings"] > work["layer_runs"], "each run is booked, and the loss, the update, the digests"
    assert client.call("digests") == {"digests": done["digests"]}
    put(client, 0, 2)
    _, right, digest = reference.evaluate_chunk(PICTURES[2:], LABELS[2:])
    evaluated = client.call("infer", count=1)
    assert (evaluated["correct"], evaluated["logits_digest"]) == (right, digest)
    assert 0 < client.call("memory")["arena_peak"] <= configured["arena_planned"]


def test_a_run_is_its_steps_and_tells_its_laps(client: Client) -> None:
    client.call("use_flash", address=FLASH_BASE + 64, total=len(encode(GRAPH)))
    client.call("configure", **request(CHOSEN, 1))
    put(client, 0, 0)
    client.events.clear()
    ran = client.call("run", step=0, steps=3, count=1, idle_ms=4)
    assert client.events == ["sleep 4", "marker 1", "marker 0", "sleep 4"]
    laps = client.call("laps")["cycles"]
    assert len(laps) == 4 * 3 and sum(laps) + ran["cycles_digest"] == ran["cycles_total"]
    profile = client.call("profile")["cycles"]
    assert len(profile) == 2 * len(GRAPH.layers) and sum(profile) == ran["cycles_forward"] + ran["cycles_backward"]
    assert len(client.call("bookings")["cycles"]) == 101
    reference = training_loop("poor-mans")(GRAPH, CHOSEN)
    for _ in range(3):
        expected = reference.step(PICTURES[:1], LABELS[:1])
    assert tuple(ran["digests"]) == expected.digests


@pytest.mark.parametrize("changes", [{}, {"direction": "batch"}, {"method": "deepzero", "sparsity": 253}])
def test_parts_of_a_batch_are_the_batch(client: Client, changes: dict[str, object]) -> None:
    load(client, encode(GRAPH))
    chosen = GraphSettings(**{**CHOSEN.__dict__, "batch": 3, **changes})
    client.call("configure", **request(chosen, 2))
    for first, count in ((0, 2), (2, 1)):
        for slot in range(count):
            put(client, slot, first + slot)
        place = {"pass": 0, "first": first, "count": count}
        assert client.call("part", step=0, **place) == {"done": first + count}
        put(client, 0, 0)
        assert client.call("infer", count=1)["error"] == "parts_missing"
    expected = training_loop(chosen.method)(GRAPH, chosen).step(PICTURES, LABELS)
    assert client.call("step", step=0, count=2) == {"error": "parts_missing", "a": 3, "b": 2}
    assert tuple(client.call("step", step=0, count=3)["digests"]) == expected.digests


def test_tensors_are_read_and_written_as_bytes(client: Client) -> None:
    client.call("use_flash", address=FLASH_BASE + 64, total=len(encode(GRAPH)))
    client.call("configure", **request(CHOSEN, 1))
    first = GRAPH.layers[0].own
    assert first is not None
    weights, bias = first.weights.tobytes(), first.bias.astype("<i4").tobytes()
    assert client.call("read_tensor", tensor=0, offset=2, length=9)["data"] == weights[2:11]
    assert client.call("read_tensor", tensor=1, offset=0, length=16)["data"] == bias
    assert client.call("read_tensor", tensor=1, offset=0, length=17)["error"] == "bad_tensor"
    assert client.call("write_tensor", tensor=0, offset=2, data=b"\x05\x80") == {"error": "bad_tensor", "a": 0, "b": 3}
    changed = GRAPH.with_parameters({0: (np.full_like(first.weights, 3), first.bias + 7)})
    own = changed.layers[0].own
    assert own is not None
    for tensor, values in enumerate((own.weights.tobytes(), own.bias.astype("<i4").tobytes())):
        assert client.call("write_tensor", tensor=tensor, offset=0, data=values) == {}
    reference = training_loop("poor-mans")(changed, CHOSEN)
    put(client, 0, 0)
    stages = client.call("trace", slot=0, stage=0xFFFF, offset=0)["data"]
    expected = reference.trace(reference.weights, PICTURES[:1], LABELS[:1], 0)
    assert len(stages) == 4 * len(expected)
    assert client.call("trace", slot=0, stage=0, offset=100)["data"] == expected[0].data[100:1100]
    assert tuple(client.call("step", step=0, count=1)["digests"]) == reference.step(PICTURES[:1], LABELS[:1]).digests


def test_a_format_refuses_what_is_asked_of_the_other(client: Client) -> None:
    assert client.call("configure", **request(CHOSEN, 1)) == NO_NETWORK
    assert client.call("work") == NO_NETWORK
    client.load(network())
    assert client.call("configure", **request(CHOSEN, 1)) == WRONG_FORMAT
    load(client, encode(GRAPH))
    assert client.configure() == WRONG_FORMAT
    assert client.call("load_end") == NO_NETWORK
    assert client.call("digests")["error"] == "not_configured"
    client.prepare()
    assert client.call("step", step=0, count=1)["error"] == "slots_empty"


@pytest.mark.parametrize("version", [0, 1, 2, 3, 5])
def test_a_file_of_another_version_is_refused(client: Client, version: int) -> None:
    """Whatever stands after it: neither engine reads on."""
    other = {"error": "network_version", "a": version, "b": 4}
    for blob in (network(), encode(GRAPH)):
        assert load(client, blob[:4] + struct.pack("<H", version) + blob[6:]) == other
    assert client.call("digests") == NO_NETWORK


def test_flash_is_read_where_it_is_only(client: Client) -> None:
    size = len(encode(GRAPH))
    left = {"error": "does_not_fit", "a": size, "b": 100}
    assert client.call("use_flash", address=FLASH_BASE + FLASH_SIZE - 100, total=size) == left
    assert client.call("use_flash", address=FLASH_BASE - 4, total=size) == left | {"b": 0}
    assert client.call("use_flash", address=FLASH_BASE + 66, total=size) == {"error": "network_layer", "a": 255, "b": 6}
    assert client.call("use_flash", address=FLASH_BASE, total=size) == {"error": "network_magic", "a": 0, "b": 0}
    assert client.call("configure", **request(CHOSEN, 1)) == NO_NETWORK


REFUSED = [
    ({"method": 10}, "method"), ({"train": 5}, "train"), ({"blocks": 0}, "blocks"), ({"blocks": 16}, "blocks"), ({"train": 2, "train_bias": 0}, "train_bias"),
    ({"perturb": 3}, "perturb"), ({"wise": 2}, "wise"), ({"method": 1, "wise": 1}, "wise"), ({"difference": 1}, "difference"),
    ({"direction": 2}, "direction"), ({"method": 1, "direction": 1}, "direction"), ({"method": 2, "direction": 1}, "direction"),
    ({"gns": 2}, "gns"), ({"qas": 2}, "qas"), ({"queries": 0}, "queries"), ({"queries": 128}, "queries"), ({"consumed": 2}, "consumed"), ({"fused": 2}, "fused"),
    ({"eta": 0.0}, "eta"), ({"eta": -1.0}, "eta"), ({"eta": float("inf")}, "eta"), ({"eta": float("nan")}, "eta"), ({"eta": 2.0**21}, "eta"),
    ({"batch": 0}, "batch"), ({"slots": 0}, "slots"), ({"slots": 2}, "slots"),
    ({"momentum": 1.0}, "momentum"), ({"momentum": -0.5}, "momentum"), ({"momentum": float("inf")}, "momentum"), ({"momentum": float("nan")}, "momentum"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "field"), REFUSED)
def test_configure_names_the_field_that_it_refuses(client: Client, changes: dict[str, float], field: str) -> None:
    client.call("use_flash", address=FLASH_BASE + 64, total=len(encode(GRAPH)))
    table = GraphSettings.table
    chosen = {name: setting.number(getattr(CHOSEN, name)) for name, setting in table.items()}
    values = chosen | {"slots": 1, "first_step": 0} | changes
    order = list(sent(table))
    floats = field in ("eta", "momentum")
    value = struct.unpack("<I", struct.pack("<f", values[field]))[0] if floats else values[field]
    assert client.call("configure", **configure_fields(table, values)) == {
        "error": "bad_setting",
        "a": order.index(field),
        "b": value,
    }


def test_pieces_of_a_sample_come_in_order(client: Client) -> None:
    client.call("use_flash", address=FLASH_BASE + 64, total=len(encode(GRAPH)))
    client.call("configure", **request(GraphSettings(**{**CHOSEN.__dict__, "batch": 2}), 2))
    pixels = PICTURES[0].tobytes()

    def part(slot: int, offset: int, end: int, label: int = 0) -> dict[str, object]:
        return client.call("sample_part", slot=slot, label=label, offset=offset, pixels=pixels[offset:end])

    assert part(0, 0, 500) == {}
    assert part(0, 600, 700) == {"error": "out_of_order", "a": 600, "b": 500}
    assert part(1, 500, 700) == {"error": "out_of_order", "a": 500, "b": 0}
    assert part(0, 500, 1083) == {}
    assert part(1, 0, 0)["error"] == "bad_length"
    assert part(2, 0, 500) == {"error": "bad_slot", "a": 2, "b": 2}
    assert part(1, 0, 500, label=3)["error"] == "bad_slot"
    assert client.call("infer", count=2) == {"error": "slots_empty", "a": 1, "b": 2}
    assert "error" not in client.call("infer", count=1)


def test_a_consumed_sample_is_there_once(client: Client) -> None:
    client.call("use_flash", address=FLASH_BASE + 64, total=len(encode(GRAPH)))
    chosen = GraphSettings(**{**CHOSEN.__dict__, "consumed": 1})
    client.call("configure", **request(chosen, 1))
    put(client, 0, 0)
    assert client.call("run", step=0, steps=2, count=1, idle_ms=0) == {"error": "bad_slot", "a": 2, "b": 1}
    client.call("trace", slot=0, stage=0xFFFF, offset=0)
    assert client.call("trace", slot=0, stage=0xFFFF, offset=0)["error"] == "slots_empty"
    put(client, 0, 0)
    expected = training_loop("poor-mans")(GRAPH, chosen).step(PICTURES[:1], LABELS[:1])
    assert tuple(client.call("run", step=0, steps=1, count=1, idle_ms=0)["digests"]) == expected.digests


def test_settings_that_train_the_same_keep_what_was_trained(client: Client) -> None:
    client.call("use_flash", address=FLASH_BASE + 64, total=len(encode(GRAPH)))
    client.call("configure", **request(CHOSEN, 1))
    before = client.call("digests")["digests"]
    put(client, 0, 0)
    trained = client.call("step", step=0, count=1)["digests"]
    assert trained != before
    other = GraphSettings(**{**CHOSEN.__dict__, "eta": 0.1, "batch": 3, "queries": 9, "wise": "model"})
    client.call("configure", **request(other, 2, 1))
    assert client.call("digests")["digests"] == trained
    client.call("configure", **request(GraphSettings(**{**CHOSEN.__dict__, "train": "bias"}), 1))
    client.call("configure", **request(CHOSEN, 1))
    assert client.call("digests")["digests"] == before
