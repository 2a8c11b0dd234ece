"""`hil bench rig`: rates of the reference, the link and the board, and the start-up time."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hil.benchmarks.rows import BenchmarkRow, show
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.training.benchmarks import first_step, method_rates, one_core
from hil.training.benchmarks.emulator import bare_rows, processor_seconds
from hil.training.data import batches
from hil.training.reference.methods import reference_of
from hil.training.trial import TrialSpec
from hil.training.trial.board import opened_board
from hil.training.trial.device import Device
from hil.training.trial.prepare import Prepared, prepare

STEPS = 20
ECHO_BYTES, ECHOES = 1024, 100


def main(options: argparse.Namespace) -> int:
    """Run all benchmarks on the board of the options, and print their rows."""
    prepared = prepare(TrialSpec(board=options.board, variant="cls1"))
    rows = [*_reference(prepared), *_one_core(), *method_rates.rows(), *_board(prepared), *_first_step(prepared)]
    return show(rows, options.json)


def _reference(prepared: Prepared) -> Iterator[BenchmarkRow]:
    reference = reference_of(prepared.method)
    order = batches(prepared.data, prepared.spec.batch, prepared.spec.seed)
    reference.step(*_batch(prepared, next(order)))
    started = time.perf_counter()
    for _ in range(STEPS):
        reference.step(*_batch(prepared, next(order)))
    note = f"LeNet-5 cls1, batch {prepared.spec.batch}, NumPy"
    yield BenchmarkRow("reference steps", STEPS / (time.perf_counter() - started), "steps/s", note)


def _one_core() -> Iterator[BenchmarkRow]:
    found = one_core.rates()
    for name, rate in found.items():
        what, _, arithmetic = name.partition(", ")
        shown = "PyTorch, FP32 SGD" if name == one_core.TORCH else f"reference, {what}"
        unit = "batches/s" if what == one_core.EVALUATION else "steps/s"
        plain, note = found.get(what), f"LeNet-5, batch {one_core.BATCH}, one core"
        if arithmetic and rate and plain:
            note += f", {arithmetic}: {rate / plain:.1f} times NumPy's"
        yield BenchmarkRow(shown, rate, unit, note)


def _batch(prepared: Prepared, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return prepared.data.train_images[chosen], prepared.data.train_labels[chosen]


def _board(prepared: Prepared) -> Iterator[BenchmarkRow]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Rig(Bench()) as rig,
        opened_board(rig, prepared.board, prepared.image, Path(folder)) as dut,
    ):
        started = time.perf_counter()
        dut.flash()
        device = Device(dut.agent, prepared.board, prepared.image)
        note = f"{prepared.board.name}, {dut.reality}"
        yield BenchmarkRow("connect, flash, greet", time.perf_counter() - started, "s", note)
        yield from _link(prepared, device)
        yield from _training(prepared, device, dut.endpoints.process)


def _first_step(prepared: Prepared) -> Iterator[BenchmarkRow]:
    """Measure boards with a virtual board only: an attached board would be flashed without its owner's consent."""
    if prepared.board.stand_in == "virtual":
        note = f"{prepared.board.name}, virtual; imports included; the image is already in flash"
        yield BenchmarkRow("start to first training step", first_step.seconds(prepared.board.name), "s", note)


def _link(prepared: Prepared, device: Device) -> Iterator[BenchmarkRow]:
    data = bytes(range(256)) * (ECHO_BYTES // 256)
    started = time.perf_counter()
    for _ in range(ECHOES):
        device.echo(data)
    echo = 2 * ECHO_BYTES * ECHOES / (time.perf_counter() - started)
    line = prepared.board.baud / 10
    note = f"one frame at a time; line rate {line:,.0f} bytes/s each way"
    yield BenchmarkRow("link, echo both ways", echo, "bytes/s (wall)", note)
    started = time.perf_counter()
    device.load(prepared.blob)
    sent = len(prepared.blob) / (time.perf_counter() - started)
    note = f"windowed; {sent / line:.2f} of the line rate (a virtual line keeps virtual time)"
    yield BenchmarkRow("link, network upload", sent, "bytes/s (wall)", note)


def _training(prepared: Prepared, device: Device, stand_in: int | None) -> Iterator[BenchmarkRow]:
    device.configure(prepared.method.request.configuration(prepared.settings, prepared.slots, 0))
    order = batches(prepared.data, prepared.spec.batch, prepared.spec.seed)
    before = processor_seconds(stand_in) if stand_in else 0.0
    cycles, stepping, started = 0, 0.0, time.perf_counter()
    for step in range(STEPS):
        device.samples(*_batch(prepared, next(order)))
        begun = time.perf_counter()
        cycles += device.step(step, prepared.spec.batch).cycles["total"]
        stepping += time.perf_counter() - begun
    wall = time.perf_counter() - started
    note = f"{prepared.board.name} cls1, batch {prepared.spec.batch}, samples streamed"
    yield BenchmarkRow("board steps", STEPS / wall, "steps/s (wall)", note)
    note = "counter of the board; on the virtual board one cycle per instruction (modelled)"
    yield BenchmarkRow("cycles a step", cycles / STEPS, "cycles", note)
    note = "while the board trains, with counting on; a count on the virtual board only"
    yield BenchmarkRow("instructions", cycles / stepping, "instructions/s", note)
    if stand_in and prepared.board.stand_in == "virtual":
        rate = cycles / (processor_seconds(stand_in) - before)
        yield BenchmarkRow("instructions, whole process", rate, "instructions/s", "the same steps by processor time")
        yield from bare_rows()
