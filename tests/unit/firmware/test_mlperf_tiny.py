"""MLPerf Tiny's serial commands: on the agent's code built for this computer, beside the reference."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_client import CLASSES, INPUTS, Client, network
from agent_link_model import IDS, Frame, frames, hello
from host_agent import Agent
from mlperf_runner import expected_results, parse
from mlperf_session import Session, session

from hil.training.graph.file import decode

TOLERANCE = 0.0011  # the board rounds a float32 to three decimals, the oracle a float64


@pytest.fixture
def listening(agent_program: Path) -> Iterator[Session]:
    with session(agent_program) as one:
        assert one.answer == {}
        yield one


def test_name_and_profile_are_what_their_runner_looks_for(listening: Session) -> None:
    assert listening.runner.command("name") == ["m-name-dut-[trainrig harness]"]
    assert listening.runner.command("profile") == ["m-profile-[trainrig]", "m-model-[tiny01]"]
    assert listening.runner.command("timestamp") == ["m-lap-us-0"]
    assert listening.runner.command("start") == ["e-[Unknown command: start]"]
    assert listening.runner.command("") == []


def test_inference_is_the_references_forward_pass(listening: Session) -> None:
    rng = random.Random(5)
    seen = set()
    for _ in range(20):
        data = bytes(rng.randrange(256) for _ in range(INPUTS))
        listening.runner.load(data)
        stamps, results = listening.runner.infer(3, 2)
        assert results == pytest.approx(expected_results(decode(network()), data), abs=TOLERANCE)
        assert parse(listening.runner.command("results")[0]) == results and len(results) == CLASSES
        assert len(stamps) == 2 and stamps[1] - stamps[0] == 3, "the harness counts a cycle of a microsecond a reading"
        seen.add(tuple(results))
    assert len(seen) > 15


def test_the_input_can_be_printed_and_inferred_again(listening: Session) -> None:
    data = bytes([0x80, 0xFF, *range(1, INPUTS - 1)])
    listening.runner.load(data)
    before = listening.runner.infer(1, 0)[1]
    printed = [f"m-buffer-{data[at : at + 8].hex('-')}" for at in range(0, INPUTS, 8)]
    assert listening.runner.command("db print") == printed
    assert listening.runner.infer(2, 0)[1] == before


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("results", "e-[infer first]"),
        ("infer 1 0", "e-[db load first]"),
        ("infer 0", "e-[infer N W]"),
        ("infer x", "e-[infer N W]"),
        ("infer 1 -1", "e-[infer N W]"),
        ("infer 99999999999", "e-[infer N W]"),
        ("db load 17", "e-[16 bytes]"),
        ("db load", "e-[16 bytes]"),
        ("db", "e-[db load first]"),
        ("db 00", "e-[db load first]"),
    ],
)
def test_what_makes_no_sense_is_answered_with_an_error(listening: Session, command: str, answer: str) -> None:
    assert listening.runner.command(command) == [answer]


def test_hexadecimal_digits_come_in_pairs(listening: Session) -> None:
    listening.runner.command("db load 16")
    assert listening.runner.command("db 0") == ["e-[no hex]"]
    assert listening.runner.command("db 0g") == ["e-[no hex]"]
    assert listening.runner.command("db aAfF") == []
    assert listening.runner.command("db " + "00" * 20) == ["m-load-done"], "the rest is left aside"
    assert listening.runner.command("db print")[0] == "m-buffer-aa-ff-00-00-00-00-00-00"
    assert listening.runner.command("db 00") == []


def test_without_two_slots_there_is_no_room_for_an_input(agent_program: Path) -> None:
    with session(agent_program, slots=1) as one:
        for command in ("db load 16", "db 00", "db print"):
            assert one.runner.command(command) == ["e-[no network]"]
        assert one.runner.command("infer") == ["e-[db load first]"]
        assert one.runner.command("results") == ["e-[infer first]"]


def test_in_energy_mode_a_timestamp_is_a_falling_edge(agent_program: Path) -> None:
    with session(agent_program, energy=True) as one:
        assert one.client.events == ["marker 1"]
        assert one.runner.command("timestamp") == []
        assert one.events == ["marker 0", "marker 1"]
        one.runner.load(bytes(INPUTS))
        stamps, _ = one.runner.infer(1, 0)
        assert stamps == [] and one.events == ["marker 0", "marker 1"] * 3
        one.exchange(b"\0" + hello(0x78).encoded())
        assert one.events[-1] == "marker 0"


def test_commands_are_answered_only_when_they_were_asked_for(agent_program: Path) -> None:
    agent = Agent(agent_program)
    assert agent.receive(b"name%") == (b"", [])
    client = Client(Agent(agent_program))
    client.prepare()
    assert client.agent.receive(b"name%profile%")[0] == b""
    client.agent.close()
    agent.close()


def test_the_link_goes_on_beside_the_commands_and_a_new_session_ends_them(listening: Session) -> None:
    listening.runner.command("name")
    # The decoder holds what it heard: the zero of any sender that begins with one ends it, answered as noise is.
    noise, _ = listening.agent.receive(b"\0")
    assert [frame.type for frame in frames(noise)] == [IDS["nak"]]
    assert listening.client.call("digests").keys() == {"digests"}
    assert listening.runner.command("name")
    answers, _ = listening.agent.receive(b"\0" + hello(0x79).encoded())
    assert [frame.type for frame in frames(answers)] == [IDS["nak"], IDS["hello"] | 0x80]
    assert listening.agent.receive(b"name%") == (b"", [])


def test_noise_before_a_command_and_portions_of_one_do_not_matter(listening: Session) -> None:
    assert listening.exchange(b"\xf0\x81\0\x07name%").endswith(b"m-name-dut-[trainrig harness]\r\nm-ready\r\n")
    assert listening.exchange(b"na") == b"" and listening.exchange(b"me") == b""
    assert listening.exchange(b"%") == b"m-name-dut-[trainrig harness]\r\nm-ready\r\n"
    assert listening.exchange(b"name%\r\nname%").count(b"m-ready") == 2
    assert listening.exchange(b"x" * 500 + b"%") == b"e-[Unknown command: " + b"x" * 80 + b"]\r\nm-ready\r\n"


def test_any_bytes_are_survived(listening: Session) -> None:
    rng = random.Random(11)
    words = [
        b"db ",
        b"load ",
        b"16",
        b"infer ",
        b"1 ",
        b"%",
        b"00ff",
        b"print",
        b"results",
        b" ",
        b"\0",
        b"\x80",
        b"name",
        b"-",
        b"9" * 12,
    ]
    for _ in range(3000):
        listening.exchange(b"".join(rng.choice(words) for _ in range(rng.randrange(1, 9))))
    assert listening.exchange(b"\0%name%").endswith(b"m-name-dut-[trainrig harness]\r\nm-ready\r\n")


def test_another_network_in_between_takes_the_input_away(listening: Session) -> None:
    listening.runner.load(bytes(INPUTS))
    listening.runner.infer(1, 0)
    listening.agent.receive(b"\0")
    listening.client.call("load_begin", total=len(network()))
    assert listening.runner.command("infer 1 0") == ["e-[db load first]"]
    assert listening.runner.command("results") == ["e-[infer first]"]


def test_the_frame_of_a_hello_may_hold_a_terminator(listening: Session) -> None:
    """Its nonce is drawn: a `%` in it is a command to who listens; what that breaks the host asks for again."""
    nonce = int.from_bytes(b"ab%c", "little")
    listening.exchange(b"\0" + hello(nonce).encoded())
    answers, _ = listening.agent.receive(b"\0" + hello(nonce).encoded())
    assert [frame.type for frame in frames(answers)] == [IDS["hello"] | 0x80]
    assert isinstance(frames(answers)[0], Frame)
