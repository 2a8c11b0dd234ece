"""What the application logs is all that is judged: no agent, no probe, no change to it."""

STEPS = 40


def test_the_log(hil_dut, expect_learning):
    log, losses = hil_dut.serial, []
    log.expect(r"\*\*\* Booting engine build (\S+) \*\*\*")
    for step in range(STEPS):
        found = log.expect([rf"<inf> train: step {step} loss (\d\S+)\r\n", r"<(?:wrn|err)> ([^\r\n]+)\r\n"])
        assert found == 0, f"in place of step {step} the log has '{log.match[1].decode()}'"
        losses.append((step, float(log.match[1])))
    end = next(hil_dut.lines(r"\[[\d:.,]+\] <inf> train: finished, accuracy (?P<accuracy>\S+)"))
    expect_learning(losses, falls_by=0.4, accuracy=end["accuracy"], at_least=0.9)
