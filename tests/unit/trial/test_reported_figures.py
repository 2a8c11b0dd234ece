"""What the agent reports is held against second sources: every lie is refused under the name of its figure, and the truth never is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil import boards
from hil.errors import DeviceFault
from hil.images import image_of
from hil.link.pending_request import RequestTime
from hil.link.replies import MOST_LAPS, Identity, Stepped
from hil.link.replies import AgentMemory as Said
from hil.training.methods.elasticzo_int8 import ElasticZoInt8
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.figures import LeastCycles, products_inside
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.trial.prepare import prepare
from hil.training.trial.second_sources.checks import Checks, Timed
from hil.training.trial.second_sources.counter import (
    BESIDE,
    BOOKINGS,
    CYCCNT,
    ROUND,
    HostClock,
    ProbeCounter,
    check_bookings,
    check_cost,
    check_costs,
    check_counted,
)
from hil.training.trial.second_sources.cycles import STEP_PHASES, CycleCheck
from hil.training.trial.second_sources.figures import HOST_CLOCK, PROBE, Figures, check_identity
from hil.training.trial.second_sources.memory import MemoryCheck, least_arena
from hil.training.trial.watermarks import ARENA_PAINT, STACK_PAINT, through_probe
from hil.trial import TrialSpec
from tests.methods import on_graph

CLOCK_HZ = 280_000_000
LEAST = LeastCycles((50, 1, 10), {"perturb": 10, "forward": 61, "backward": 1, "update": 5})
LAYERS = ("conv1", "relu1", "fc1")
CYCLES = {"perturb": 20, "forward": 200, "backward": 30, "update": 40, "digest": 7}
BOARD = boards.load("stm32h7b3")
IMAGE = image_of("stm32h7b3")


def reply(steps=1, step=4, **others):
    cycles = {phase: steps * count for phase, count in CYCLES.items()}
    cycles |= {"total": sum(cycles.values())} | {name.removeprefix("cycles_"): count for name, count in others.items()}
    return Stepped(step, 0.0, 0.0, cycles, (1,), 1)


def refused(check, counts=True):
    figures = Figures()
    check(CycleCheck(figures, LEAST, LAYERS, CLOCK_HZ, counts))
    return set(figures.wrong)


def test_a_step_that_adds_up_is_believed():
    assert refused(lambda cycles: cycles.steps(reply(), 4)) == set()


@pytest.mark.parametrize(("told", "named"), [
    ({"step": 5}, {"step"}),
    ({"cycles_total": 0}, {"cycles_total"}),
    ({"cycles_total": 2**64 - 1}, {"cycles_total"}),
    ({"cycles_total": sum(CYCLES.values()) - 30}, {"cycles_total"}),
    ({"cycles_update": 0, "cycles_perturb": 60}, {"cycles_update"}),
    ({"cycles_forward": 60, "cycles_total": 157}, {"cycles_forward"}),
    ({"cycles_forward": 2**64 - 1, "cycles_total": sum(CYCLES.values()) - 201}, {"cycles_forward", "cycles_total"}),
    ({f"cycles_{phase}": 0 for phase in (*CYCLES, "total")}, {f"cycles_{phase}" for phase in CYCLES}),
])  # fmt: skip
def test_a_step_that_lies_is_named(told, named):
    assert refused(lambda cycles: cycles.steps(reply(**told), 4)) == named


def test_a_phase_that_the_method_does_not_have_takes_nothing():
    figures = Figures()
    least = LeastCycles((1,), {"perturb": 0, "forward": 1, "backward": 1, "update": None})
    CycleCheck(figures, least, ("fc1",), CLOCK_HZ, True).steps(reply(), 4)
    assert list(figures.wrong) == ["cycles_perturb"]


def test_a_firmware_without_a_counter_reports_zeros():
    zeros = {f"cycles_{phase}": 0 for phase in (*CYCLES, "total")}
    assert refused(lambda cycles: cycles.steps(reply(**zeros), 4), counts=False) == set()


@pytest.mark.parametrize(("forward", "backward", "named"), [
    ((150, 10, 40), (0, 10, 20), set()),
    ((10, 40, 150), (0, 10, 20), {"profile"}),  # rotated by a layer: the sums are right
    ((150, 10, 30), (0, 10, 20), {"profile"}),
    ((150, 10, 40), (0, 10, 10), {"profile"}),
    ((150, 50), (10, 20), {"profile"}),
    ((), (), {"profile"}),
])  # fmt: skip
def test_layers_add_up_and_have_what_their_products_take(forward, backward, named):
    assert refused(lambda cycles: cycles.profile((forward, backward), reply())) == named


LAP = tuple(CYCLES[phase] for phase in STEP_PHASES)


@pytest.mark.parametrize(("laps", "steps", "named"), [
    ([LAP] * 5, 5, set()),
    ([LAP] * 3, 5, {"laps"}),
    ([], 5, {"laps"}),
    ([LAP] * 6, 5, {"laps"}),
    ([LAP[:3]] * 5, 5, {"laps"}),
    ([(0, 0, 0, 0)] * 5, 5, {"laps"}),
    ([tuple(n * each for each in LAP) for n in range(1, 6)], 5, {"laps"}),  # cumulative
    ([LAP] * MOST_LAPS, 100, set()),
    ([tuple(n * each for each in LAP) for n in range(1, MOST_LAPS + 1)], 100, {"laps"}),
])  # fmt: skip
def test_laps_are_as_many_as_steps_and_add_up(laps, steps, named):
    assert refused(lambda cycles: cycles.laps(laps, reply(steps), steps)) == named


@pytest.mark.parametrize(("stretches", "made", "named"), [
    ([("perturb", 20), ("forward", 200), ("backward", 30), ("update", 40)], 4, set()),
    ([("perturb", 20), ("forward", 150), ("backward", 30), ("forward", 50), ("update", 40)], 5, set()),
    ([("perturb", 60), ("forward", 200), ("backward", 30), ("update", 0)], 4, {"cycles_perturb", "cycles_update"}),
    ([("perturb", 20)], 4, {"stretches"}),
    ([("perturb", 1)] * 96, 300, set()),
])  # fmt: skip
@pytest.mark.parametrize("total_is_right", [False, True])
def test_stretches_are_the_phases(stretches, made, named, total_is_right):
    assert refused(lambda cycles: cycles.stretches(made, stretches, CYCLES, total_is_right)) == named


@pytest.mark.parametrize(("total_is_right", "named"), [(True, {"stretches"}), (False, {"cycles_forward"})])
def test_stretches_that_lose_cycles_are_wrong_where_the_counter_agrees_with_the_total(total_is_right, named):
    lost = [("perturb", 20), ("forward", 150), ("backward", 30), ("update", 40)]
    assert refused(lambda cycles: cycles.stretches(4, lost, CYCLES, total_is_right)) == named


@settings(max_examples=30, deadline=None)
@given(variant=st.sampled_from(["adaptive", "model-node", "block2"]))
def test_an_update_takes_what_its_stores_take(variant):
    """Four weights a word, one store a cycle: less was booked where the counter was started after the update."""
    subject = prepare(TrialSpec("stm32h7b3", variant, "resnet-tiny", "poor-mans-training", batch=1, evaluate=0)).method
    trained = sum(tensor.elements for tensor in subject.plan.tensors)
    assert trained // 8 < subject.figures.least_cycles().phases["update"] <= trained


def counted(cycles, gone_on):
    figures = Figures()
    check_counted(figures, cycles, gone_on % ROUND, "cycles in step 0")
    return figures


@given(st.integers(10_000_000, 2**40), st.integers(0, BESIDE))
@settings(max_examples=200)
def test_a_true_count_is_within_what_the_counter_went_on_by_whatever_its_rounds(cycles, beside):
    assert counted(cycles, cycles + beside).wrong == {}


@given(st.integers(10_000_000, 2**31), st.sampled_from([0.5, 0.94, 1.06, 2.0]))
def test_a_count_of_six_per_cent_more_or_less_is_not(cycles, factor):
    wrong = counted(int(factor * cycles), cycles + 14_000)
    assert list(wrong.wrong) == ["cycles_total"] and wrong.sources["cycles"] == [PROBE]
    assert f"{int(factor * cycles):,}" in wrong.wrong["cycles_total"]


class Memory:
    """Memory of a board as a probe reads it: painted, but for what was used; a counter that may go on."""

    def __init__(self, arena, stack, going=0):
        self.arena, self.stack, self.count, self.going = arena, stack, 1000, going

    def read(self, address, size):
        at = IMAGE.symbols
        if address == CYCCNT:
            self.count += self.going
            return self.count.to_bytes(4, "little")
        start, end, paint = (
            (at["__arena_start"], at["__arena_end"], ARENA_PAINT) if at["__arena_start"] <= address < at["__arena_end"]
            else (at["__stack_bottom"], at["__stack_top"], STACK_PAINT)
        )  # fmt: skip
        whole = np.resize(np.frombuffer(paint, np.uint8), end - start).copy()
        if paint == ARENA_PAINT:
            whole[: self.arena] = 0
        else:
            whole[len(whole) - self.stack :] = 0
        return whole[address - start : address - start + size].tobytes()


def test_a_counter_that_goes_on_in_sleep_is_of_no_use():
    assert ProbeCounter(Memory(0, 0), BOARD, IMAGE).stands_still
    assert not ProbeCounter(Memory(0, 0, going=7), BOARD, IMAGE).stands_still


SUBJECT = ElasticZoInt8(build("lenet5", 1), ElasticZoSettings.of_variant("cls1", 5, batch=8, seed=1))
PLAN = SUBJECT.plan.memory(8)
WHOLE, AT = PLAN.total, IMAGE.symbols
STATIC = AT["__static_end"] - AT["__static_start"] + AT["__dma_end"] - AT["__dma_start"]


def memory(before=(WHOLE, 2000), after=None, **told):
    """Return what is refused of an agent that has used so much arena and stack, and tells something else."""
    figures, after = Figures(), after or before
    check = MemoryCheck(figures, IMAGE, PLAN, Memory(*before))
    said = {
        "static_bytes": STATIC, "arena_base": AT["__arena_start"], "arena_size": AT["__arena_end"] - AT["__arena_start"], "arena_peak": before[0],
        "stack_base": AT["__stack_bottom"], "stack_size": AT["__stack_top"] - AT["__stack_bottom"], "stack_peak": before[1],
    }  # fmt: skip
    used = check.compare(
        Said(**said | told), check.stack_before(), through_probe(Memory(*after).read, IMAGE), stepped=True
    )
    return set(figures.wrong), used


def test_true_watermarks_are_believed_also_where_the_stack_grows_meanwhile():
    assert memory()[0] == set()
    assert memory(after=(WHOLE, 2100), stack_peak=2050)[0] == set()


SIZE = AT["__stack_top"] - AT["__stack_bottom"]


@pytest.mark.parametrize(("case", "named"), [
    ({"stack_peak": 1000}, {"stack_peak"}),
    ({"stack_peak": 4000}, {"stack_peak"}),
    ({"stack_peak": 0}, {"stack_peak"}),
    ({"before": (WHOLE, SIZE), "stack_peak": 2000}, {"stack_peak"}),  # unpainted at the bottom
    ({"before": (WHOLE, SIZE), "stack_peak": SIZE}, {"stack_peak"}),
    ({"arena_peak": WHOLE // 2}, {"arena_peak"}),
    ({"arena_peak": WHOLE + 8}, {"arena_peak"}),
    ({"before": (WHOLE // 2, 2000)}, {"arena_peak"}),  # both read what was painted again
    ({"static_bytes": STATIC - 2048}, {"static_bytes"}),
    ({"arena_size": 1}, {"arena_size"}),
    ({"stack_base": 1}, {"stack_base"}),
])  # fmt: skip
def test_false_watermarks_are_named(case, named):
    assert memory(**case)[0] == named


def test_the_larger_of_both_is_used():
    assert memory(stack_peak=1000)[1].stack_peak == 2000
    assert memory(stack_peak=4000)[1].stack_peak == 4000


def test_paint_where_every_step_writes_was_put_there_again():
    for arena, named in ((WHOLE, []), (WHOLE // 2, ["arena_peak"])):
        figures = Figures()
        MemoryCheck(figures, IMAGE, PLAN, Memory(arena, 2000)).after_step(0)
        assert list(figures.wrong) == named


def test_without_a_probe_the_plan_alone_knows_of_the_arena():
    figures = Figures()
    check = MemoryCheck(figures, IMAGE, PLAN, None)
    check.after_step(0)
    said = {
        "static_bytes": STATIC, "arena_base": AT["__arena_start"], "arena_size": AT["__arena_end"] - AT["__arena_start"], "arena_peak": 5000,
        "stack_base": AT["__stack_bottom"], "stack_size": SIZE, "stack_peak": 2000,
    }  # fmt: skip
    check.compare(Said(**said), check.stack_before(), None, stepped=True)
    assert list(figures.wrong) == ["arena_peak"]
    assert [figure for figure, sources in figures.sources.items() if not sources] == ["stack_peak"]


def test_what_a_step_must_write_lies_just_below_the_plan_s_end():
    assert WHOLE - 1300 <= least_arena(PLAN) <= WHOLE


COSTS = (18,) * BOOKINGS


@pytest.mark.parametrize(("costs", "gone_on", "named"), [
    (COSTS, 60_000, False),
    (tuple(100 * cost for cost in COSTS), 60_000, True),
    ((2**32 - 1,) * BOOKINGS, 60_000, True),
    ((0,) * BOOKINGS, 60_000, True),
    (COSTS[:3], 60_000, True),
    ((), 60_000, True),
])  # fmt: skip
def test_costs_of_readings_lie_within_what_the_counter_went_on_by(costs, gone_on, named):
    figures = Figures()
    if check_bookings(figures, costs):
        check_costs(figures, costs, gone_on)
    assert ("bookings" in figures.wrong) == named


def test_a_layer_is_no_shorter_than_the_readings_that_are_part_of_it():
    figures = Figures()
    check_cost(figures, 18, 16, 3536, "layer relu4 forward")
    assert not figures.wrong
    check_cost(figures, 1800, 16, 3536, "layer relu4 forward")
    assert "1,800" in figures.wrong["bookings"] and "relu4" in figures.wrong["bookings"]


@pytest.mark.parametrize(("factor", "runs", "named", "confirmed"), [
    (1.0, 4, False, True),
    (1.0, 1, False, True),
    (0.94, 4, True, True),
    (0.5, 1, True, False),
    (2.0, 1, True, True),
    (1.06, 4, True, True),
])  # fmt: skip
def test_on_silicon_the_host_s_clock_tells(factor, runs, named, confirmed):
    figures = Figures()
    clock = HostClock(figures, CLOCK_HZ)
    for _ in range(runs):
        clock.run(int(factor * 2 * CLOCK_HZ), 2 + 0.03, 2 + 0.03)
    assert ("cycles_total" in figures.wrong) == named
    assert (figures.sources.get("cycles") == [HOST_CLOCK]) == confirmed


def test_runs_too_short_for_the_host_s_clock_confirm_nothing():
    figures = Figures()
    HostClock(figures, CLOCK_HZ).run(int(0.94 * 0.05 * CLOCK_HZ), 0.05 + 0.03, 0.05 + 0.03)
    assert figures.sources == {} and figures.wrong == {}


@pytest.mark.parametrize(("least_s", "most_s", "counted_s", "named"), [
    (0.0, 4.1, 4.0, False), (0.0, 4.1, 2.0, False), (0.0, 3.5, 4.0, True), (4.0, 4.1, 4.0, False), (4.0, 4.1, 2.0, True),
])  # fmt: skip
def test_a_frame_that_was_sent_again_makes_the_host_s_clock_an_interval(least_s, most_s, counted_s, named):
    figures = Figures()
    HostClock(figures, CLOCK_HZ).run(int(counted_s * CLOCK_HZ), least_s, most_s)
    assert ("cycles_total" in figures.wrong) == named
    assert (figures.sources.get("cycles") == [HOST_CLOCK]) == (least_s == counted_s == 4.0)


@pytest.mark.parametrize(("took_s", "counted_s", "named", "confirmed"), [
    (4.1, 4.0, False, True), (5.5, 4.0, False, False), (3.5, 4.0, True, True), (4.1, 8.0, True, True),
])  # fmt: skip
def test_behind_a_network_a_late_reply_refutes_no_count(took_s, counted_s, named, confirmed):
    """A correct board would fail if the delay of its reply counted as its own time; no reply comes before it was sent."""
    figures = Figures()
    HostClock(figures, CLOCK_HZ, networked=True).run(int(counted_s * CLOCK_HZ), took_s, took_s)
    assert ("cycles_total" in figures.wrong) == named
    assert (HOST_CLOCK in figures.sources.get("cycles", [])) == confirmed


class Copies:
    """A board to which copies of an earlier frame are on their way, of 60,000 cycles each, and whose request is sent again some times."""

    def __init__(self, late, again):
        self.late, self.took, self.count = late, RequestTime(0.5, 2.0, again), 0

    def settle(self):
        self.count, self.late = self.count + 60_000 * self.late, 0

    def step(self):
        self.settle()
        self.count += OF_A_STEP + 20_000 * (1 + self.took.again)

    def around(self, call):
        before = self.count
        return call(), self.count - before


OF_A_STEP = 4_000_000


@given(st.integers(0, 40), st.integers(0, 20))
def test_copies_of_a_frame_are_no_cycles_of_a_step(late, again):
    board = Copies(late, again)
    timed = Timed(board, board)
    timed(board.step)
    figures = Figures()
    check_counted(figures, OF_A_STEP, timed.gone_on, "cycles in step 0", timed.frames)
    assert figures.wrong == {} and (timed.least_s, timed.most_s) == (0.5, 2.0)


IDENTITY = Identity("stm32h7b3", AT["__image_start"], 0, 1024, CLOCK_HZ, "dwt")


@pytest.mark.parametrize(("told", "named"), [
    ({}, ""), ({"counter": "none"}, ""), ({"clock_hz": 2**32 - 1}, "clock_hz"), ({"clock_hz": 2 * CLOCK_HZ}, "clock_hz"), ({"clock_hz": 0}, "clock_hz"),
    ({"counter": "systick"}, "counter"), ({"image_base": 0}, "image_base"),
])  # fmt: skip
def test_clock_and_counter_are_the_catalogue_s(told, named):
    figures = Figures()
    if not named:
        check_identity(figures, replace(IDENTITY, **told), BOARD, IMAGE)
        return
    with pytest.raises(DeviceFault, match=f"^{named}: the agent reports"):
        check_identity(figures, replace(IDENTITY, **told), BOARD, IMAGE)
    assert list(figures.wrong) == [named]


def test_padded_taps_are_no_products():
    assert (
        products_inside(
            SimpleNamespace(macs=9, in_shape=(3, 3, 1), out_shape=(1, 1, 1), kernel=(3, 3), stride=(1, 1), pad=(0, 0))
        )
        == 9
    )
    assert (
        products_inside(
            SimpleNamespace(macs=81, in_shape=(3, 3, 1), out_shape=(3, 3, 1), kernel=(3, 3), stride=(1, 1), pad=(1, 1))
        )
        == 49
    )
    assert (
        products_inside(
            SimpleNamespace(macs=40, in_shape=(1, 1, 4), out_shape=(1, 1, 10), kernel=(0, 0), stride=(0, 0), pad=(0, 0))
        )
        == 40
    )


def test_what_a_step_takes_at_least_follows_the_method():
    of = {
        variant: ElasticZoInt8(
            build("lenet5", 1), ElasticZoSettings.of_variant(variant, 5, batch=8, seed=1)
        ).figures.least_cycles()
        for variant in ("full-zo", "cls1", "full-bp")
    }
    assert of["full-zo"].phases["backward"] == 0 and of["full-bp"].phases["perturb"] == 0
    assert of["cls1"].phases["perturb"] > 0 and of["cls1"].forward[0] > of["full-bp"].forward[0], "two passes, and one"
    zeroth = on_graph(build("resnet-tiny", 1), GraphSettings(queries=2)).figures.least_cycles()
    back = on_graph(build("resnet-tiny", 1), GraphSettings(method="bp")).figures.least_cycles()
    assert zeroth.forward[-1] > back.forward[-1] and back.phases["perturb"] is None


@pytest.mark.parametrize(("wall_s", "tick", "beside", "named"), [
    (0.0405, 280_000, 20_000, set()),
    (0.0005, 280_000, 20_000, {"sleep"}),  # of 40 ms, by the host's clock
    (0.0405, 64_000, 20_000, {"sleep"}),  # a millisecond of another clock
    (0.0405, None, 20_000, set()),  # not by SysTick
    (0.0405, 280_000, 11_000_000, {"sleep"}),  # a busy loop counts
])  # fmt: skip
def test_a_sleep_is_as_long_as_was_asked(wall_s, tick, beside, named):
    figures, said = Figures(), reply()
    board = SimpleNamespace(
        figures=figures,
        host_clock=object(),
        _device=SimpleNamespace(clock_hz=CLOCK_HZ),
        counter=SimpleNamespace(cycles_a_tick=lambda: tick),
    )
    timed = SimpleNamespace(frames=1, gone_on=said.cycles["total"] + beside, most_s=wall_s)
    Checks.sleep(board, said, timed, 40)
    assert set(figures.wrong) == named and set(figures.sources["sleep"]) == {HOST_CLOCK, PROBE}
