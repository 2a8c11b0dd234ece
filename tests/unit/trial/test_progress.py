"""The live line: what it shows on a terminal, and that it shows nothing elsewhere."""

from io import StringIO

from rich.console import Console

from hil.trial import TrialSpec
from hil.trial.outcome import StepRow
from hil.trial.progress import ProgressLine


def shown(terminal):
    out = StringIO()
    spec = TrialSpec("stm32h7b3", "cls1", steps=4, batch=8)
    with ProgressLine(spec, Console(file=out, force_terminal=terminal, width=120)) as line:
        for step in range(3):
            line(StepRow(step, 16, 8, 16, 8, 16, 8, 1, True, True, 0, {}))
    return out.getvalue()


def test_step_loss_and_time_left_are_shown():
    text = shown(terminal=True)
    assert "stm32h7b3 cls1" in text
    assert "3/4" in text
    assert "loss 1.500" in text, "the mean of both passes, a sample"
    assert "steps/s" in text


def test_a_log_gets_no_line():
    assert shown(terminal=False) == ""
