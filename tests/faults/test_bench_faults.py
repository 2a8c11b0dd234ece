"""Faults on the real path: what the link can mend costs a retry, what it cannot is blocked, and a flipped bit is found."""

import pytest

from hil.images import image_of
from hil.training.graph.file import places_in_file
from hil.training.networks import build

BYTES_OF_NETWORK = 110_000  # about where the samples of the first step begin on the line


IN_THE_GATE = ["uart_rx_drop:5000", "uart_tx_dup:1000", f"uart_rx_flip:{BYTES_OF_NETWORK + 7000}:0"]
AT_NIGHT = [
    "uart_rx_dup:5000", "uart_rx_flip:5000:3", "uart_rx_delay:5000:0.4", f"uart_rx_drop:{BYTES_OF_NETWORK + 3000}",
    "uart_tx_drop:900", "uart_tx_flip:1100:6", "uart_tx_delay:1000:0.4",
]  # fmt: skip


@pytest.mark.parametrize(
    "fault", IN_THE_GATE + [pytest.param(fault, marks=pytest.mark.tier("nightly")) for fault in AT_NIGHT]
)
def test_a_damaged_byte_costs_a_retry_and_no_bit(broken_trial, fault):
    outcome = broken_trial(steps=3, inject=[fault])
    assert (outcome.verdict, len(outcome.steps)) == ("pass", 3), outcome.reason
    if "drop" in fault or "flip" in fault:
        assert outcome.link.frames_repeated + outcome.link.damaged > 0, "the fault was not felt: it was not injected"


def test_a_port_that_vanishes_is_blocked_at_the_link(broken_trial):
    outcome = broken_trial(inject=["close_serial_after:1500"])
    assert outcome.verdict == "blocked"
    assert outcome.stage in ("link", "bench")
    assert "serial port" in outcome.reason or "agent" in outcome.reason


def test_a_bench_that_is_killed_is_blocked_and_named(broken_trial):
    outcome = broken_trial(inject=["exit_after:30000000"])
    assert (outcome.verdict, outcome.stage) == ("blocked", "bench")
    assert "ended with status -9" in outcome.reason


def test_a_flipped_bit_in_sram_is_found_at_its_weight(broken_trial):
    network = build("lenet5", 1)
    layer, (weights, _) = network.trained[2], list(places_in_file(network).values())[2]
    arena = image_of("stm32h7b3").symbols["__arena_start"]
    index = 12_345
    outcome = broken_trial(
        steps=8, inject=[f"ram_flip:{arena + weights + index}:6:60000000"]
    )  # instructions: four steps or so
    assert outcome.verdict == "fail"
    difference = outcome.difference
    assert (difference.layer, difference.index, difference.what) == (layer.name, index, "weight")
    assert abs(difference.board - difference.reference) > 30
    assert difference.step > 0, "the flip comes in mid-run"
