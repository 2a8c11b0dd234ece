"""Checkpoints in the board's flash, by the agent's code on this computer under sanitizers: a power cut loses the slot that was being written, no more."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
import xxhash
from agent_client import WEIGHTS, Client
from host_agent import Agent

CAMPAIGN, WORDS = 0xCAFE, ("slot", "sequence", "campaign", "step", "digest", "layout")


def slots(client: Client) -> list[dict[str, int]]:
    words = client.call("checkpoints")["slots"]
    return [dict(zip(WORDS, words[at : at + 6], strict=True)) for at in range(0, len(words), 6)]


def digest(client: Client) -> int:
    digests = client.call("digests")["digests"]
    return xxhash.xxh32_intdigest(struct.pack(f"<{len(digests)}I", *digests))


def train(client: Client, step: int) -> int:
    """Train a step and return the digest after it."""
    client.fill()
    assert "error" not in client.call("step", step=step, count=2)
    return digest(client)


def save(client: Client, step: int) -> dict[str, Any]:
    return client.call("save_checkpoint", campaign=CAMPAIGN, step=step)


class Boards:
    """One board after another with the same flash: each is the one before, switched off and on."""

    def __init__(self, program: Path, path: Path) -> None:
        self._program, self.path, self._running = program, path, list[Agent]()

    def on(self, cut: int = 0) -> Client:
        self._running.append(Agent(self._program, slots=self.path, cut=cut))
        return Client(self._running[-1])

    def close(self) -> None:
        for agent in self._running:
            agent.close()


@pytest.fixture
def boards(agent_program: Path, tmp_path: Path) -> Any:
    made = Boards(agent_program, tmp_path / "slots.bin")
    yield made
    made.close()


def test_the_two_newest_are_there_after_a_power_cut(boards: Boards) -> None:
    client = boards.on()
    assert client.call("checkpoints") == {"room": 512 - 64, "slots": ()}
    client.prepare()
    digests = []
    for step in range(4):
        digests.append(train(client, step))
        assert save(client, step + 1) == {"sequence": step + 1, "slot": step % 2, "bytes": len(WEIGHTS)}
    client = boards.on()
    found = slots(client)
    assert [(one["slot"], one["sequence"], one["campaign"], one["step"], one["digest"]) for one in found] == [
        (0, 3, CAMPAIGN, 3, digests[2]), (1, 4, CAMPAIGN, 4, digests[3]),
    ]  # fmt: skip
    client.prepare(first_step=3)
    assert digest(client) not in digests
    for one in found:
        assert client.call("load_checkpoint", sequence=one["sequence"]) == {
            "campaign": CAMPAIGN,
            "step": one["step"],
            "digest": one["digest"],
        }
        assert digest(client) == one["digest"]
    client.call("load_checkpoint", sequence=3)
    assert train(client, 3) == digests[3], "it trains on as if nothing had been"


def test_a_power_cut_in_any_operation_loses_that_slot_only(boards: Boards) -> None:
    client = boards.on()
    client.prepare()
    digests = [train(client, 0)]
    save(client, 1)
    digests.append(train(client, 1))
    save(client, 2)
    before = boards.path.read_bytes()
    cut = 0
    while True:
        cut += 1
        boards.path.write_bytes(before)
        client = boards.on(cut)
        client.prepare(first_step=2)
        client.call("load_checkpoint", sequence=2)
        third = train(client, 2)
        try:
            assert save(client, 3)["sequence"] == 3
            break  # there are no more operations than that
        except AssertionError as ended:
            assert not str(ended), ended  # the process is gone without a word of the sanitizers
        client = boards.on()
        found = {one["sequence"]: one["digest"] for one in slots(client)}
        assert found.pop(2) == digests[1]
        assert found in ({}, {3: third}), "the slot is whole or it does not count"
        client.prepare(first_step=2)
        client.call("load_checkpoint", sequence=2)
        assert train(client, 2) == third
    assert cut > 1 + len(WEIGHTS) // 16 + 2


def test_a_slot_with_any_byte_changed_does_not_count(boards: Boards) -> None:
    client = boards.on()
    client.prepare()
    for step in range(2):
        train(client, step)
        save(client, step + 1)
    data = boards.path.read_bytes()
    for at in [*range(512, 512 + 36), *range(512 + 64, 512 + 64 + len(WEIGHTS))]:
        boards.path.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        assert [one["sequence"] for one in slots(boards.on())] == [1]


def test_the_sequence_number_goes_round(boards: Boards) -> None:
    client = boards.on()
    client.prepare()
    save(client, 1)
    data = bytearray(boards.path.read_bytes())
    struct.pack_into("<I", data, 4, 0xFFFFFFFF)
    struct.pack_into("<I", data, 32, zlib.crc32(data[:32]))
    boards.path.write_bytes(data)
    client = boards.on()
    client.prepare()
    assert [save(client, step)["sequence"] for step in (2, 3)] == [0, 1]
    assert [(one["slot"], one["sequence"]) for one in slots(client)] == [(0, 1), (1, 0)]


def test_what_cannot_be_is_refused_and_changes_nothing(boards: Boards) -> None:
    client = boards.on()
    assert save(client, 1) == {"error": "no_network", "a": 0, "b": 0}
    client.prepare()
    start = digest(client)
    assert client.call("load_checkpoint", sequence=1) == {"error": "no_checkpoint", "a": 1, "b": 0}
    client.fill()
    client.call("part", step=0, **{"pass": 0}, first=0, count=2)
    assert save(client, 1)["error"] == "parts_missing"
    assert client.call("load_checkpoint", sequence=1)["error"] == "parts_missing"
    assert not boards.path.exists()
    client.prepare()
    assert digest(client) == start


def test_a_board_without_such_flash_says_so(agent_program: Path) -> None:
    agent = Agent(agent_program)
    client = Client(agent)
    assert client.call("checkpoints") == {"room": 0, "slots": ()}
    client.prepare()
    assert save(client, 1) == {"error": "no_room", "a": len(WEIGHTS), "b": 0}
    agent.close()
