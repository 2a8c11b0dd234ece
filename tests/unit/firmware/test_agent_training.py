"""What `configure`, `part`, `step`, `run`, `laps`, `profile` and `trace` do and refuse, over the link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_client import CLASSES, SETTINGS, Client, network
from agent_link_model import MESSAGES, hello
from host_agent import Agent

from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.settings import configure_fields, sent


@pytest.fixture
def client(agent_program: Path) -> Iterator[Client]:
    """Return a client of a fresh agent, its session begun."""
    agent = Agent(agent_program)
    yield Client(agent)
    agent.close()


REFUSED = [
    ({"partition": 2}, "partition"), ({"b_zo": 0}, "b_zo"), ({"b_zo": 8}, "b_zo"), ({"b_bp": 0}, "b_bp"), ({"b_bp": 8}, "b_bp"),
    ({"r_max": 0}, "r_max"), ({"r_max": 128}, "r_max"), ({"loss": 2}, "loss"), ({"scope": 2}, "scope"), ({"perturb": 2}, "perturb"),
    ({"perturb": 1, "r_max": 64}, "perturb"), ({"logit_error": 2}, "logit_error"), ({"loss_fraction": 1}, "loss_fraction"),
    ({"loss": 1, "loss_fraction": 7}, "loss_fraction"), ({"loss": 2, "loss_fraction": 1}, "loss"),
    ({"method": 10}, "method"), ({"batch": 0}, "batch"), ({"slots": 0}, "slots"), ({"slots": 3}, "slots"),
    ({"scope": 1, "slots": 1}, "slots"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "field"), REFUSED)
def test_configure_names_the_field_that_it_refuses(client: Client, changes: dict[str, int], field: str) -> None:
    client.load(network())
    values = SETTINGS | changes
    order = list(sent(ElasticZoSettings.table))
    assert client.configure(**changes) == {"error": "bad_setting", "a": order.index(field), "b": values[field]}
    extreme = {"perturb": 1, "r_max": 63, "scope": 1, "loss": 1, "logit_error": 1, "loss_fraction": 6}
    assert client.configure(**extreme)["arena_planned"] > 0


def test_settings_of_another_length_are_refused(client: Client) -> None:
    client.load(network())
    fields = configure_fields(ElasticZoSettings.table, SETTINGS)
    size = 1 + len(fields["settings"])
    for settings in (b"", fields["settings"][:-1], fields["settings"] + b"\0"):
        refused = {"error": "bad_length", "a": 1 + len(settings), "b": size}
        assert client.call("configure", **fields | {"settings": settings}) == refused


def test_configure_goes_on_at_its_first_step(client: Client) -> None:
    client.prepare(first_step=4_000_000_000)
    client.fill()
    assert client.call("step", step=0, count=2) == {"error": "out_of_order", "a": 0, "b": 4_000_000_000}
    assert client.call("step", step=4_000_000_000, count=2)["step"] == 4_000_000_000
    client.configure(b_zo=3, first_step=4_000_000_001)
    client.fill()
    assert client.call("step", step=4_000_000_001, count=2)["sign"] in (-1, 0, 1)


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("loss", [0, 1])
def test_a_batch_larger_than_the_slots_comes_in_parts(agent_program: Path, partition: int, loss: int) -> None:
    replies = []
    for slots in (5, 2):
        agent = Agent(agent_program)
        client = Client(agent)
        client.prepare(batch=5, slots=slots, partition=partition, loss=loss)
        for step in range(3):
            for number in range(1 + partition if slots < 5 else 0):
                for first in range(0, 5, slots):
                    count = min(slots, 5 - first)
                    client.fill(first, count)
                    place = {"pass": number, "first": first, "count": count}
                    assert client.call("part", step=step, **place) == {"done": first + count}
            if slots == 5:
                client.fill(0, 5)
            reply = client.call("step", step=step, count=5)
        replies.append({name: value for name, value in reply.items() if not name.startswith("cycles")})
        agent.close()
    assert replies[0] == replies[1]


def test_parts_out_of_place_are_refused(client: Client) -> None:
    client.prepare(batch=3, slots=2)
    client.fill()

    def part(number: int, first: int, count: int, step: int = 0) -> dict[str, Any]:
        return client.call("part", step=step, **{"pass": number}, first=first, count=count)

    assert part(0, 0, 2, step=1) == {"error": "out_of_order", "a": 1, "b": 0}
    assert part(0, 1, 2) == {"error": "out_of_order", "a": 1, "b": 0}
    assert part(0, 0, 3) == {"error": "bad_slot", "a": 3, "b": 2}
    assert part(2, 0, 2) == {"error": "bad_slot", "a": 2, "b": 2}
    assert part(1, 0, 2) == {"error": "parts_missing", "a": 0, "b": 3}
    assert part(0, 0, 2) == {"done": 2}
    assert part(0, 2, 1) == {"error": "slots_empty", "a": 0, "b": 1}
    client.fill()
    assert client.call("infer", count=2) == {"error": "parts_missing", "a": 2, "b": 3}
    assert client.call("trace", slot=0, stage=0, offset=0)["error"] == "parts_missing"
    assert client.call("step", step=0, count=2) == {"error": "parts_missing", "a": 0, "b": 2}
    assert part(0, 2, 2) == {"error": "bad_slot", "a": 4, "b": 3}
    assert part(1, 0, 2) == {"done": 2}
    assert client.call("step", step=0, count=2)["step"] == 0
    assert client.call("run", step=1, steps=1, count=1, idle_ms=0) == {"error": "bad_slot", "a": 2, "b": 3}


def test_a_run_is_its_steps_between_two_edges_of_the_marker(agent_program: Path) -> None:
    replies = []
    for steps in (1, 4):
        agent = Agent(agent_program)
        client = Client(agent)
        client.prepare()
        for step in range(0, 4, steps):
            client.fill()
            reply = client.call("run", step=step, steps=steps, count=2, idle_ms=250)
        assert client.events == ["sleep 250", "marker 1", "marker 0", "sleep 250"] * (4 // steps)
        assert len(client.call("laps")["cycles"]) == 4 * steps
        replies.append({name: value for name, value in reply.items() if not name.startswith("cycles")})
        assert client.call("step", step=4, count=2) == {"error": "slots_empty", "a": 0, "b": 2}
        agent.close()
    assert replies[0] == replies[1]


def test_a_window_lies_between_two_falling_edges_where_pulses_are_asked_for(client: Client) -> None:
    client.prepare()
    client.fill()
    assert client.call("marker", pulses=1) == {}
    client.call("run", step=0, steps=2, count=2, idle_ms=9)
    pulse = ["marker 0", "marker 1"]
    assert client.events == ["marker 1", "sleep 9", *pulse, *pulse, "sleep 9"]
    client.call("marker", pulses=0)
    client.fill()
    client.call("run", step=2, steps=1, count=2, idle_ms=9)
    assert client.events[7:] == ["marker 0", "sleep 9", "marker 1", "marker 0", "sleep 9"]


def test_pulses_end_with_the_session(client: Client) -> None:
    client.call("marker", pulses=1)
    client.agent.receive(hello(0x78).encoded())
    assert client.agent.receive(hello(0x79).encoded())[1] == [], "the marker is low already"


def test_the_stretches_of_a_step_are_its_lap_in_the_order_of_the_phases(client: Client) -> None:
    assert client.call("stretches") == {"made": 0, "stretches": ()}
    client.prepare(partition=0)
    client.fill()
    client.call("run", step=0, steps=3, count=2, idle_ms=0)
    reply, phases = client.call("stretches"), MESSAGES.enums["phase"]
    names = {number: name for name, number in phases.items()}
    found = [(names[each >> 56], each & (1 << 56) - 1) for each in reply["stretches"]]
    assert [name for name, _ in found] == ["backward", *["forward", "backward"] * 2, "update"] and reply["made"] == 6
    lap = dict(zip(("perturb", "forward", "backward", "update"), client.call("laps")["cycles"][8:12], strict=True))
    assert {name: sum(cycles for which, cycles in found if which == name) for name in phases} == lap


def test_a_refused_run_moves_no_marker(client: Client) -> None:
    client.prepare()
    client.fill()
    assert client.call("run", step=1, steps=2, count=2, idle_ms=9) == {"error": "out_of_order", "a": 1, "b": 0}
    assert client.call("run", step=0, steps=0, count=2, idle_ms=9) == {"error": "bad_slot", "a": 0, "b": 65535}
    assert client.call("run", step=0, steps=2, count=3, idle_ms=9) == {"error": "bad_slot", "a": 3, "b": 2}
    assert client.events == []


def test_cycles_add_up_and_profile_and_laps_share_them_out(client: Client) -> None:
    assert client.call("laps") == {"cycles": ()}
    assert client.call("profile") == {"cycles": ()}
    client.prepare(partition=0)
    client.fill()
    reply = client.call("run", step=0, steps=200, count=2, idle_ms=0)
    phases = ("perturb", "forward", "backward", "update", "digest")
    assert reply["cycles_total"] == sum(reply[f"cycles_{phase}"] for phase in phases)
    forward, backward = client.call("profile")["cycles"]
    assert (forward, backward) == (reply["cycles_forward"], reply["cycles_backward"])
    laps = client.call("laps")["cycles"]
    assert len(laps) == 4 * 32, "the first so many steps"
    assert laps == laps[:4] * 32, "the harness counts one cycle a reading"
    assert [200 * cycles for cycles in laps[:4]] == [reply[f"cycles_{phase}"] for phase in phases[:4]]
    assert client.call("bookings") == {"cycles": (1,) * 101}
    client.fill()
    client.call("trace", slot=0, stage=0, offset=0)
    client.call("infer", count=2)
    assert client.call("profile")["cycles"] == (forward, backward), "what does not train leaves no trace there"


def test_a_traced_sample_is_one_of_its_group(client: Client) -> None:
    client.prepare(scope=1, batch=3, slots=3, partition=0)
    client.fill(0, 2)
    together = [client.call("trace", slot=slot, stage=0, offset=0)["data"] for slot in range(2)]
    assert client.call("trace", slot=2, stage=0, offset=0) == {"error": "slots_empty", "a": 2, "b": 2}
    assert together[0][CLASSES:] == together[1][CLASSES:], "one exponent for the group"
    apart = []
    for slot in range(2):
        client.configure(partition=0)
        client.fill(slot, 1)
        apart.append(client.call("trace", slot=0, stage=0, offset=0)["data"])
    assert together != apart, "alone, a sample has an exponent of its own"
