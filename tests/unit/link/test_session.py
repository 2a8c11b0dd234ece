"""The host's side of a session against an agent that was written from docs/link.md alone."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from simulated_agent import ECHO, FAULT, RX_WINDOW, SAMPLES, STEP, Clock, DeadPort, SimulatedAgent, wire

from hil.errors import Blocked, DeviceFault, RigError
from hil.link.failures import Faulted, Refused, Silent
from hil.link.flow_control import REPEAT_AFTER_S
from hil.link.pending_request import POLL_AFTER_S
from hil.link.session import Session

NONCE = 0x12345678


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("transport", "wire", "xon_xoff"):
        monkeypatch.setattr(f"hil.link.{module}.steady_s", clock.monotonic)
    monkeypatch.setattr("hil.link.wire.time", clock)
    return clock


def sample(slot: int, size: int) -> dict[str, object]:
    return {"slot": slot, "label": slot % 10, "pixels": bytes((slot + i) % 256 for i in range(size))}


def sample_body(values: dict[str, object]) -> bytes:
    return struct.pack("<HH", values["slot"], values["label"]) + values["pixels"]


action = st.one_of(
    st.tuples(st.just("echo"), st.integers(0, 300)),
    st.tuples(st.just("stream"), st.integers(0, 12)),
    st.tuples(st.just("step"), st.just(0)),
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), trouble=st.sampled_from([0.0, 0.1, 0.35]), actions=st.lists(action, max_size=8))
@example(seed=435020, trouble=0.35, actions=[("echo", 0)])  # all copies of request 1 are lost, but the last: no reset
def test_every_request_is_executed_once_and_in_order(
    clock: Clock, seed: int, trouble: float, actions: list[tuple[str, int]]
) -> None:
    agent = SimulatedAgent(clock, seed, trouble)
    session = Session(agent, NONCE)
    asked: list[tuple[int, bytes]] = []
    try:
        assert session.hello(deadline_s=60.0)["rx_window"] == RX_WINDOW
        ask(session, agent, actions, asked)
    except Silent:  # the session gives up about once in 200 of such lines
        assert trouble > 0.1 and agent.executed == asked[: len(agent.executed)]
    assert agent.hellos <= 1


def ask(
    session: Session, agent: SimulatedAgent, actions: list[tuple[str, int]], asked: list[tuple[int, bytes]]
) -> None:
    """Carry out the actions, and note in `asked` what the agent is to execute before it is sent."""
    for number, (what, size) in enumerate(actions):
        if what == "echo":
            data = bytes([number]) + bytes(size)
            asked.append((ECHO, data))
            assert session.request("echo", data=data) == {"data": data}
        elif what == "step":
            asked.append((STEP, struct.pack("<IH", number, 8)))
            reply = session.request("step", step=number, count=8)
            assert (reply["step"], reply["loss_minus"], reply["sign"]) == (number, 2.0, -1)
        else:
            bodies = [sample(slot, 784) for slot in range(size)]
            asked += [(SAMPLES, sample_body(values)) for values in bodies]
            session.stream("samples", bodies)
        assert agent.executed == asked  # a request is over only when the agent has taken it


def test_a_bad_line_is_bad(clock: Clock) -> None:
    """The test above would prove nothing if nothing were lost on the line."""
    repeated = naks = damaged = 0
    for seed in range(10):
        agent = SimulatedAgent(clock, seed, trouble=0.35)
        session = Session(agent, NONCE)
        session.hello(deadline_s=60.0)
        bodies = [sample(slot, 784) for slot in range(12)]
        session.stream("samples", bodies)
        session.request("step", step=0, count=12)
        assert agent.executed[:-1] == [(SAMPLES, sample_body(values)) for values in bodies]
        repeated += session.counters.frames_repeated
        naks += session.counters.naks
        damaged += session.counters.damaged
    assert repeated > 50
    assert naks > 10
    assert damaged > 10


@pytest.mark.parametrize("trouble", [0.0, 0.3])
def test_sequence_numbers_wrap(clock: Clock, trouble: float) -> None:
    agent = SimulatedAgent(clock, 3, trouble)
    session = Session(agent, NONCE)
    session.hello(deadline_s=60.0)
    agent.start_at(0xFFFA)
    session._seq = 0xFFFA  # the only way to get here by the front door is 65,529 requests
    bodies = [sample(slot, 100) for slot in range(9)]
    session.stream("samples", bodies)
    assert session.request("echo", data=b"over") == {"data": b"over"}
    assert agent.executed == [(SAMPLES, sample_body(values)) for values in bodies] + [(ECHO, b"over")]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 1020), min_size=1, max_size=30))
def test_what_is_on_its_way_stays_within_the_window(clock: Clock, sizes: list[int]) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    session.stream("samples", [sample(slot, size) for slot, size in enumerate(sizes)])
    assert agent.most_on_the_way <= RX_WINDOW


def test_the_window_is_used(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    session.stream("samples", [sample(slot, 784) for slot in range(20)])
    assert agent.most_on_the_way > 2 * 784
    assert session.counters.frames_repeated == 0
    assert session.counters.frames_sent == 21


def test_a_new_session_begins_anew_on_a_running_agent(clock: Clock) -> None:
    agent = SimulatedAgent(clock, 5, 0.2)
    for nonce in (1, 2, 3):
        session = Session(agent, nonce)
        session.hello(deadline_s=60.0)
        assert session.request("echo", data=bytes([nonce])) == {"data": bytes([nonce])}
    assert agent.executed == [(ECHO, b"\x01"), (ECHO, b"\x02"), (ECHO, b"\x03")]


def test_a_refused_sample_ends_the_stream(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    agent.bad_slots = {1}
    session = Session(agent, NONCE)
    session.hello()
    with pytest.raises(Refused) as refused:
        session.stream("samples", [sample(slot, 784) for slot in range(20)])
    assert (refused.value.request, refused.value.code, refused.value.a) == ("samples", "bad_slot", 1)
    assert len(agent.executed) < 20
    assert session.request("echo", data=b"still here") == {"data": b"still here"}


def test_a_body_that_no_frame_holds_is_refused_here_and_costs_no_number(clock: Clock) -> None:
    """Sent, the agent would drop it as damaged, and the line would be blamed."""
    agent = SimulatedAgent(clock, 1, 0.0)
    session = Session(agent, NONCE)
    session.hello()
    with pytest.raises(RigError, match="^the body of samples has 1,028 bytes, of at most 1,024: split it.$"):
        session.stream("samples", [sample(0, 1024)])
    with pytest.raises(RigError, match="^the body of echo has 1,025 bytes"):
        session.request("echo", data=bytes(1025))
    session.stream("samples", [sample(0, 1020)])
    assert agent.executed == [(SAMPLES, sample_body(sample(0, 1020)))]


def test_a_lost_request_costs_one_repeat(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    agent.inward.trouble, started = 1.0, clock.now
    agent.inward._harmed = lambda data: b""
    send = agent.inward.send

    def only_once(data: bytes) -> None:
        send(data)
        agent.inward.trouble = 0.0

    agent.inward.send = only_once
    assert session.request("echo", data=b"x") == {"data": b"x"}
    assert session.counters.frames_repeated == 1
    assert REPEAT_AFTER_S <= clock.now - started < 1.5 * REPEAT_AFTER_S


def test_a_long_step_is_waited_for(clock: Clock) -> None:
    agent = SimulatedAgent(clock, step_s=30.0)
    session = Session(agent, NONCE)
    session.hello()
    assert session.request("step", step=7, count=1)["step"] == 7
    assert session.counters.frames_repeated <= 30.0 / POLL_AFTER_S
    assert agent.executed == [(STEP, struct.pack("<IH", 7, 1))]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(late_s=st.floats(0.0, 3.0), size=st.integers(1, 6))
def test_after_settling_no_copy_is_on_its_way(clock: Clock, late_s: float, size: int) -> None:
    """The answer to the first copy of a late frame ends the stream, and the others are still to come."""
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    agent.inward.latest = clock.now + late_s
    session.stream("samples", [sample(slot, 784) for slot in range(size)])
    sent = session.counters.frames_sent
    session.settle()
    assert not agent.inward.queue and not agent._pending
    assert session.counters.frames_sent - sent == (session.counters.frames_repeated > 0), (
        "nothing is sent where nothing was repeated"
    )


def test_copies_are_left_without_settling(clock: Clock) -> None:
    """The test above would prove nothing if there were none."""
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    agent.inward.latest = clock.now + 1.0
    agent.inward.send, send = (
        lambda data: (send(data), setattr(agent.inward, "latest", agent.inward.latest + 0.1)),
        agent.inward.send,
    )
    session.stream("samples", [sample(0, 784)])
    assert agent.inward.queue


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), trouble=st.sampled_from([0.0, 0.1, 0.2]), step_s=st.floats(0.0, 5.0))
def test_a_step_took_between_least_and_most(clock: Clock, seed: int, trouble: float, step_s: float) -> None:
    agent = SimulatedAgent(clock, seed, trouble, step_s=step_s)
    session = Session(agent, NONCE)
    session.hello(deadline_s=60.0)
    for number in range(3):
        try:
            session.request("step", step=number, count=8)
        except Blocked:
            assume(False)  # the line was too bad
        took = session.request_time
        assert took.least_s - 1.1 <= step_s <= took.most_s, "each way the line is late by half a second at most"
        if not took.again:
            assert took.least_s == took.most_s


def test_a_long_step_makes_no_slow_line(clock: Clock) -> None:
    agent = SimulatedAgent(clock, step_s=30.0)
    session = Session(agent, NONCE)
    session.hello()
    session.request("step", step=0, count=1)
    mute(agent)
    started = clock.now
    with pytest.raises(Blocked):
        session.request("echo", data=b"")
    assert clock.now - started < 12.0


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at_s=st.floats(0.1, 40.0), seed=st.integers(0, 2**32))
def test_a_board_that_is_reset_in_a_long_step_is_named_long_before_the_step_s_deadline(
    clock: Clock, at_s: float, seed: int
) -> None:
    agent = SimulatedAgent(clock, seed, step_s=60.0)
    session = Session(agent, NONCE)
    session.hello()
    session.request("echo", data=b"x")
    reset_at, run = clock.now + at_s, agent._run

    def run_or_reset() -> None:
        if clock.now > reset_at and agent._later:
            agent._nonce, agent._expected, agent._last_good, agent._kept = None, 0, 0, None
            agent._busy_until, agent._later, agent._pending = 0.0, b"", b""
        run()

    agent._run = run_or_reset
    with pytest.raises(Blocked, match="the board was reset"):
        session.request("step", 3600.0, step=0, count=1)
    assert clock.now - reset_at < 10 + at_s + 5, "after ten seconds, or twice as long as before"


def test_a_long_step_is_not_taken_for_a_reset(clock: Clock) -> None:
    agent = SimulatedAgent(clock, step_s=200.0)
    session = Session(agent, NONCE)
    session.hello()
    assert session.request("step", 3600.0, step=7, count=1)["step"] == 7
    assert agent.executed == [(STEP, struct.pack("<IH", 7, 1))] and agent.hellos == 1


def mute(agent: SimulatedAgent) -> None:
    agent.outward.send = lambda data: None


def test_silence_blocks(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    mute(agent)
    with pytest.raises(Blocked, match="the agent did not answer 'hello'") as blocked:
        session.hello()
    assert blocked.value.stage == "link"


def test_silence_in_the_middle_blocks(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    mute(agent)
    started = clock.now
    with pytest.raises(Blocked, match="during 'samples'"):
        session.stream("samples", [sample(0, 10)])
    with pytest.raises(Blocked, match="did not answer 'echo'"):
        session.request("echo", data=b"")
    assert clock.now - started < 30.0


def test_noise_is_no_answer(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    agent.outward.send = lambda data, send=agent.outward.send: send(b"\x05nois\0e\0")
    with pytest.raises(Blocked):
        session.request("echo", data=b"x")
    assert session.counters.damaged > 0


@pytest.mark.parametrize("protocol", [5, 9])
def test_another_protocol_version_blocks_with_both_numbers(clock: Clock, protocol: int) -> None:
    session = Session(SimulatedAgent(clock, protocol=protocol), NONCE)
    with pytest.raises(Blocked, match=rf"the agent uses protocol {protocol}, this trainrig uses 6: flash"):
        session.hello()


@pytest.mark.parametrize("when", ["write", "in_waiting", "read"])
def test_a_port_that_is_gone_blocks(clock: Clock, when: str) -> None:
    with pytest.raises(Blocked, match="the serial port is gone"):
        Session(DeadPort(when), NONCE).hello()


def test_a_dead_stand_in_speaks_first(clock: Clock) -> None:
    def dead() -> None:
        raise Blocked("bench", "the stand-in has ended")

    with pytest.raises(Blocked, match="the stand-in has ended"):
        Session(DeadPort("read"), NONCE, alive=dead).hello()


def test_a_stand_in_whose_end_is_known_a_moment_later_speaks_first(clock: Clock) -> None:
    """Its port goes when its process does, and the process that drives it tells so a moment later."""
    began = clock.now

    def dead() -> None:
        if clock.now > began + 1.0:
            raise Blocked("bench", "the stand-in has ended")

    with pytest.raises(Blocked, match="the stand-in has ended"):
        Session(DeadPort("write"), NONCE, alive=dead).hello()


def test_a_fault_frame_is_the_devices_fault(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    mute(agent)
    said = struct.pack("<BIIII", 3, 0x08001234, 0x08000001, 0x8200, 0x2400DEAD)
    agent.outward.queue.append((0.0, wire(FAULT, 0, 0, said)))
    with pytest.raises(DeviceFault, match=r"0x08001234.*0x8?0*8200|0x08001234.*0x2400DEAD") as raised:
        session.request("echo", data=b"x")
    fault = raised.value
    assert isinstance(fault, Faulted)
    assert (fault.kind, fault.pc, fault.lr, fault.cfsr, fault.address) == (
        3,
        0x08001234,
        0x08000001,
        0x8200,
        0x2400DEAD,
    )


def test_the_answer_of_another_session_is_not_ours(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    agent.outward.queue.append((0.0, wire(ECHO | 0x80, (NONCE + 1) & 0xFF, 1, b"not yours")))
    agent.outward.queue.append((0.0, wire(ECHO | 0x80, NONCE & 0xFF, 7, b"another number")))
    assert session.request("echo", data=b"mine") == {"data": b"mine"}


def test_a_reply_of_the_wrong_size_blocks(clock: Clock) -> None:
    agent = SimulatedAgent(clock)
    session = Session(agent, NONCE)
    session.hello()
    with pytest.raises(Blocked, match="does not fit the protocol"):
        session.request("memory")  # the simulated agent echoes the empty body
