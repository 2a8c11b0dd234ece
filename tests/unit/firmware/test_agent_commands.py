"""The whole agent with the training engine, built for this computer: what requests do, and what nonsense does not."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import xxhash
from agent_client import CLASSES, INPUTS, NAMES, WEIGHTS, Client, network
from agent_link_model import ERRORS, IDS, MESSAGES, hello
from host_agent import Agent

from hil.link.messages import decode, encode, fixed_size


@pytest.fixture
def client(agent_program: Path) -> Iterator[Client]:
    """Return a client of a fresh agent, its session begun."""
    agent = Agent(agent_program)
    yield Client(agent)
    agent.close()


def test_a_whole_trial(client: Client) -> None:
    blob = network()
    assert client.load(blob) == {"network_digest": struct.unpack_from("<I", blob, 12)[0], "tensors": 1, "layers": 1}
    planned = client.configure()
    assert planned["arena_size"] == 1 << 16
    assert len(blob) < planned["arena_planned"] < 4096 + 1024
    assert client.call("digests") == {"digests": (xxhash.xxh32_intdigest(WEIGHTS, seed=0),)}
    for step in range(3):
        client.fill()
        reply = client.call("step", step=step, count=2)
        assert reply["step"] == step
        assert reply["sign"] in (-1, 0, 1)
        weights = client.call("read_tensor", tensor=0, offset=0, length=len(WEIGHTS))["data"]
        assert reply["digests"] == (xxhash.xxh32_intdigest(weights, seed=0),)
    assert weights != WEIGHTS
    assert client.events == [], "the marker belongs to runs"
    client.fill()
    evaluated = client.call("infer", count=2)
    assert len(evaluated["predictions"]) == 2
    assert evaluated["correct"] == sum(p == label for label, p in enumerate(evaluated["predictions"]))
    memory = client.call("memory")
    assert planned["arena_planned"] - 8 <= memory["arena_peak"] <= planned["arena_planned"]


def test_a_board_without_a_boot_loader_says_so_and_goes_on(client: Client) -> None:
    assert client.call("boot_loader") == {"error": "no_boot_loader", "a": 0, "b": 0}
    assert client.send(IDS["boot_loader"], b"x")[-1].body == struct.pack("<BII", ERRORS["bad_length"], 1, 0)
    assert client.call("echo", data=b"here") == {"data": b"here"}
    assert client.events == []


@pytest.mark.parametrize(("partition", "stages"), [(1, 1), (0, 2)])
def test_trace_gives_the_stages_of_one_sample_and_their_digests(client: Client, partition: int, stages: int) -> None:
    client.load(network())
    client.configure(partition=partition)
    client.fill()
    words = client.call("trace", slot=1, stage=0xFFFF, offset=0)["data"]
    values = [client.call("trace", slot=1, stage=stage, offset=0)["data"] for stage in range(stages)]
    assert [len(value) for value in values] == [CLASSES + 2] * stages, "logits, and their error where it is needed"
    assert words == struct.pack(f"<{stages}I", *(xxhash.xxh32_intdigest(value, seed=0) for value in values))
    assert client.call("trace", slot=1, stage=0, offset=3)["data"] == values[0][3:]
    assert "error" in client.call("trace", slot=2, stage=0, offset=0)


def test_requests_out_of_place_are_refused(client: Client) -> None:
    assert client.call("load_end")["error"] in ("no_network", "network_truncated")
    assert client.configure()["error"] == "no_network"
    assert client.call("digests")["error"] == "no_network"
    client.load(network())
    assert client.call("step", step=0, count=2)["error"] == "not_configured"
    assert client.call("part", step=0, **{"pass": 0}, first=0, count=1)["error"] == "not_configured"
    assert client.call("run", step=0, steps=1, count=1, idle_ms=0)["error"] == "not_configured"
    client.configure()
    assert client.call("step", step=0, count=2) == {"error": "slots_empty", "a": 0, "b": 2}
    client.fill()
    assert client.call("step", step=1, count=2) == {"error": "out_of_order", "a": 1, "b": 0}
    assert client.call("infer", count=1019)["error"] == "bad_slot"
    assert client.call("samples", slot=2, label=0, pixels=bytes(INPUTS))["error"] == "bad_slot"
    assert client.call("samples", slot=0, label=0, pixels=bytes(INPUTS - 1))["error"] == "bad_length"
    assert client.call("read_tensor", tensor=0, offset=60, length=5)["error"] == "bad_tensor"
    assert client.call("read_tensor", tensor=0, offset=0, length=1025)["error"] == "bad_tensor"
    assert client.call("load_begin", total=1 << 20)["error"] == "does_not_fit"


FIXED = sorted(r.id for r in MESSAGES.requests.values() if r.name not in ("hello", "echo"))


@pytest.mark.parametrize("request_type", FIXED)
def test_a_body_of_the_wrong_length_is_refused(client: Client, request_type: int) -> None:
    request = MESSAGES.requests[NAMES[request_type]]
    fixed = fixed_size(request.request)
    wrong = [] if any(kind == "bytes" or kind.endswith("[]") for _, kind in request.request) else [fixed + 1]
    for length in wrong + ([fixed - 1, 0] if fixed else []):
        answer = client.send(request_type, bytes(length))[-1]
        assert answer.body == struct.pack("<BII", ERRORS["bad_length"], length, fixed)


def test_an_unknown_request_is_refused_with_its_type(client: Client) -> None:
    assert client.send(0x2A, b"")[-1].body == struct.pack("<BII", ERRORS["unknown_request"], 0x2A, 0)


def test_a_new_session_forgets_the_network(client: Client) -> None:
    client.load(network())
    client.agent.receive(hello(0x177).encoded())
    client.seq = 0
    assert client.call("digests")["error"] == "no_network"


@pytest.mark.parametrize("seed", range(8))
def test_nonsense_is_answered_and_harms_nothing(client: Client, seed: int) -> None:
    rng = random.Random(seed)
    blob = network()
    client.load(blob)
    client.configure()
    for _ in range(400):
        others = [
            r for r in MESSAGES.requests.values() if r.name not in ("hello", "mlperf_tiny")
        ]  # whose answers are no frames
        request = rng.choice(others)
        small = {
            "u8": (0, 1, 2, 7, 255),
            "u16": (0, 1, 2, 3, 1018, 65535),
            "u32": (0, 1, 5, 128, 2**31, 2**32 - 1),
            "f32": (0.0, 0.01, float("nan")),
        }
        values = {
            name: rng.choice(small[kind]) if kind in small else rng.randbytes(rng.choice((0, 1, INPUTS, 64, 128)))
            for name, kind in request.request
        }
        if request.name == "load_begin" and rng.random() < 0.5:
            client.load(bytes(b ^ (rng.random() < 0.01) for b in blob))
        body = encode(request.request, values)[: rng.choice((None, None, None, rng.randrange(20)))]
        answer = client.send(request.id, body)[-1]
        if answer.type == IDS["error"]:
            assert answer.body[0] in MESSAGES.errors
        elif request.windowed:
            assert answer.type == IDS["ack"]
        else:
            decode(request.reply, answer.body)
    assert client.load(blob)["tensors"] == 1
