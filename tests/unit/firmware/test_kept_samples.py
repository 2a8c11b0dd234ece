"""Samples that stay on the board, by the agent's code on this computer under sanitizers: they train as samples that are sent, and what is not there is refused."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xxhash
from agent_client import CLASSES, INPUTS, Client, network
from agent_link_model import IDS, hello
from host_agent import FLASH_BASE, FLASH_SIZE, Agent

COUNT, EACH = 7, 2 + INPUTS
PLACES = ("ram", "flash")
AT = FLASH_BASE + 4096 + 3  # an odd address: only bytes are read there


def label_of(sample: int) -> int:
    return sample % CLASSES


def pixels_of(sample: int) -> bytes:
    return bytes((sample * 91 + i * 13) % 256 for i in range(INPUTS))  # as Client.fill has them


SET = b"".join(struct.pack("<H", label_of(n)) + pixels_of(n) for n in range(COUNT))


@pytest.fixture
def client(agent_program: Path, tmp_path: Path) -> Iterator[Client]:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(bytes(AT - FLASH_BASE) + SET)
    agent = Agent(agent_program, flash=flash)
    yield Client(agent)
    agent.close()


def keep(client: Client, place: str, data: bytes = SET) -> dict[str, Any]:
    if place == "ram":
        assert client.call("load_begin", total=len(data)) == {}
        assert client.call("load_data", offset=0, data=data) == {}
    return client.call("keep", address=0 if place == "ram" else AT, total=len(data))


@pytest.mark.parametrize("place", PLACES)
def test_the_digest_is_that_of_the_bytes_that_are_there(client: Client, place: str) -> None:
    assert keep(client, place) == {"digest": xxhash.xxh32_intdigest(SET)}


@pytest.mark.parametrize("place", PLACES)
def test_steps_on_kept_samples_are_those_on_samples_that_are_sent(
    agent_program: Path, client: Client, place: str
) -> None:
    other = Agent(agent_program)
    sent = Client(other)
    keep(client, place)
    for each in (client, sent):
        each.prepare()
    for step, (one, two) in enumerate([(0, 1), (6, 2), (3, 3), (5, 0)]):
        assert client.call("kept_samples", slot=0, numbers=(one, two)) == {}
        for slot, sample in enumerate((one, two)):
            sent.call("samples", slot=slot, label=label_of(sample), pixels=pixels_of(sample))
        ours, theirs = (each.call("step", step=step, count=2) for each in (client, sent))
        ours, theirs = ({k: v for k, v in one.items() if not k.startswith("cycles")} for one in (ours, theirs))
        assert ours == theirs
    assert client.call("kept_samples", slot=1, numbers=(4,)) == {}  # slots may be filled in any way
    client.call("samples", slot=0, label=label_of(5), pixels=pixels_of(5))
    sent.call("samples", slot=1, label=label_of(4), pixels=pixels_of(4))
    sent.call("samples", slot=0, label=label_of(5), pixels=pixels_of(5))
    assert client.call("infer", count=2) == sent.call("infer", count=2)
    other.close()


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_there_is_refused(client: Client, place: str) -> None:
    assert client.call("kept_samples", slot=0, numbers=(0,)) == {"error": "no_network", "a": 0, "b": 0}
    client.load(network())
    assert client.call("kept_samples", slot=0, numbers=(0,)) == {"error": "not_configured", "a": 0, "b": 0}
    client.prepare()
    assert client.call("kept_samples", slot=0, numbers=(0,)) == {"error": "bad_slot", "a": 0, "b": 0}  # nothing is kept
    keep(client, place)
    client.prepare()
    fill = client.call
    assert fill("kept_samples", slot=0, numbers=(COUNT,)) == {"error": "bad_slot", "a": COUNT, "b": COUNT}
    assert fill("kept_samples", slot=0, numbers=(2**32 - 1,)) == {"error": "bad_slot", "a": 2**32 - 1, "b": COUNT}
    assert fill("kept_samples", slot=1, numbers=(0, 1)) == {"error": "bad_slot", "a": 2, "b": 2}
    assert fill("kept_samples", slot=65535, numbers=(0, 1)) == {"error": "bad_slot", "a": 65535, "b": 2}
    assert fill("kept_samples", slot=0, numbers=()) == {"error": "bad_length", "a": 0, "b": 0}
    part = client.send(IDS["kept_samples"], bytes(2 + 7))[-1]  # one number and three bytes of the next
    assert struct.unpack("<BII", part.body)[1:] == (7, 4)


def test_a_label_of_no_class_is_refused_when_its_sample_is_taken(client: Client) -> None:
    keep(client, "ram", SET[:EACH] + struct.pack("<H", CLASSES) + pixels_of(1))
    client.prepare()
    assert client.call("kept_samples", slot=0, numbers=(0,)) == {}
    assert client.call("kept_samples", slot=0, numbers=(1,)) == {"error": "bad_slot", "a": CLASSES, "b": CLASSES}


def test_samples_in_ram_are_in_front_of_the_arena_and_counted_with_it(client: Client) -> None:
    client.prepare()
    plain = client.configure()
    size = client.call("memory")["arena_size"]
    keep(client, "ram")
    assert client.call("load_begin", total=size) == {"error": "does_not_fit", "a": size + 128, "b": size}
    client.load(network())
    assert client.configure() == plain | {"arena_planned": plain["arena_planned"] + 128}  # 126 bytes in multiples of 8
    client.fill()
    client.call("step", step=0, count=2)
    memory = client.call("memory")
    assert 128 + len(network()) <= memory["arena_peak"] <= plain["arena_planned"] + 128
    assert memory["arena_size"] == size


def test_samples_stay_whatever_network_is_loaded_and_go_with_the_session(client: Client) -> None:
    keep(client, "ram")
    for _ in range(3):
        client.prepare()
        assert client.call("kept_samples", slot=0, numbers=(6, 5)) == {}
    client.agent.receive(hello(0x78).encoded())
    client.agent.receive(hello(0x77).encoded())
    client.seq = 0
    client.prepare()
    assert client.call("kept_samples", slot=0, numbers=(0,)) == {"error": "bad_slot", "a": 0, "b": 0}


def test_samples_that_were_not_sent_whole_or_lie_beyond_the_flash_are_refused(client: Client) -> None:
    end = FLASH_BASE + FLASH_SIZE
    assert client.call("keep", address=0, total=4) == {"error": "no_network", "a": 0, "b": 0}  # nothing is being loaded
    client.call("load_begin", total=len(SET))
    client.call("load_data", offset=0, data=SET[:-1])
    assert client.call("keep", address=0, total=len(SET)) == {"error": "bad_length", "a": len(SET) - 1, "b": len(SET)}
    assert client.call("keep", address=end - 4, total=5) == {"error": "does_not_fit", "a": 5, "b": 4}
    assert client.call("keep", address=FLASH_BASE - 1, total=1) == {"error": "does_not_fit", "a": 1, "b": 0}
    assert client.call("keep", address=end - 4, total=4)["digest"] == xxhash.xxh32_intdigest(bytes(4))
    client.prepare()
    client.load(network())
    assert client.call("keep", address=0, total=len(SET)) == {
        "error": "no_network",
        "a": 0,
        "b": 0,
    }  # a network is there


def test_one_byte_that_differs_changes_the_digest(agent_program: Path, tmp_path: Path) -> None:
    for at in (0, 1, 2, len(SET) // 2, len(SET) - 1):
        flash = tmp_path / f"flash{at}.bin"
        flash.write_bytes(bytes(AT - FLASH_BASE) + SET[:at] + bytes([SET[at] ^ 1]) + SET[at + 1 :])
        agent = Agent(agent_program, flash=flash)
        assert keep(Client(agent), "flash")["digest"] != xxhash.xxh32_intdigest(SET)
        agent.close()
    cut = tmp_path / "cut.bin"  # as a power cut leaves it: erased beyond
    cut.write_bytes(bytes(AT - FLASH_BASE) + SET[: len(SET) // 2] + b"\xff" * (len(SET) - len(SET) // 2))
    agent = Agent(agent_program, flash=cut)
    assert keep(Client(agent), "flash")["digest"] != xxhash.xxh32_intdigest(SET)
    agent.close()
