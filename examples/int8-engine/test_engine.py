"""The int8 engine against its reference, bit for bit, with data of the test sent through the agent."""

import numpy as np
from reference import Net, Training

LOAD, STEP, PREDICT = 0x20, 0x21, 0x22
STEPS = 40


def samples(rng, centres, count):
    """Return noisy copies of the centres of three classes, int8 (count, 16), and their labels, uint8."""
    label = rng.integers(0, 3, count).astype(np.uint8)
    return np.clip(centres[label] + rng.normal(0, 20, (count, 16)), -127, 127).astype(np.int8), label


def test_training(hil_dut, hil_compare, hil_figure, expect_learning):
    rng = np.random.default_rng(1)
    centres, net = rng.integers(-80, 81, (3, 16)), Net(rng)
    batches = [samples(rng, centres, 8) for _ in range(STEPS)]
    x, label = samples(rng, centres, 64)
    agent, state = hil_dut.agent, net.state()

    def accuracy():
        return float(np.mean(np.frombuffer(agent.ask(PREDICT, x.tobytes()), np.uint8) == label))

    agent.ask(LOAD, state["fc1"].tobytes() + state["fc2"].tobytes())
    before = accuracy()
    run = hil_compare(Training(net, batches), exact=True)
    for step, batch in enumerate(batches):
        reply = agent.ask(STEP, b"".join(each.tobytes() for each in batch))
        fc1, fc2 = np.split(np.frombuffer(reply, np.int8, offset=4), [12 * 16])
        loss = np.frombuffer(reply, "<i4", 1)[0]
        run.step(step, {"loss": loss, "fc1": fc1.reshape(12, 16), "fc2": fc2.reshape(3, 12)})
    expect_learning(accuracy=accuracy(), against=before, at_least=0.9)
    hil_figure("accuracy", accuracy(), provenance="counted", budget="at least 90 %")
