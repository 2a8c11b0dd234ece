"""The engine in C against its reference: on QEMU, on this computer, on a board of yours."""

import numpy as np
from reference import HIDDEN, Mlp

from hil.comparison import ulp

STEPS = 40
SHAPES = {"w1": (HIDDEN, 2), "b1": (HIDDEN,), "w2": (2, HIDDEN), "b2": (2,)}


def words(dut, pattern):
    """Return the value of the next line that matches, printed as the bits of float32."""
    return next(dut.lines(pattern, dtypes={"value": np.float32}, bits=["value"]))["value"]


def test_training(hil_dut, hil_compare, hil_figure, expect_learning):
    hil_dut.serial.expect(r"ready mlp, (\d+) bytes of weights")
    size = int(hil_dut.serial.match[1])
    run = hil_compare(Mlp(), rtol=1e-4, atol=1e-6, by_tensor={"loss": ulp(64)})
    losses = []
    for step in range(STEPS):
        hil_dut.serial.write(b"tw")
        tensors = {"loss": words(hil_dut, rf"step {step} loss (?P<value>\S+)")}
        for name, shape in SHAPES.items():
            tensors[name] = words(hil_dut, rf"{name} (?P<value>.+)").reshape(shape)
        run.step(step, tensors)
        losses.append(tensors["loss"])
    hil_dut.serial.write(b"e")
    accuracy = next(hil_dut.lines(r"accuracy (?P<accuracy>\S+)"))["accuracy"]
    expect_learning(losses, falls_by=0.3, accuracy=accuracy, at_least=0.9)
    hil_figure("weight_bytes", size, "byte", provenance="counted", budget="at most 512 byte")
    hil_figure("accuracy", accuracy, provenance="counted", budget="at least 90 %")
