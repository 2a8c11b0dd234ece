"""The live line: what it shows on a terminal, and that it shows nothing elsewhere."""

from io import StringIO

from rich.console import Console

from hil.training.trial.lockstep_outcome import StepRow
from hil.training.trial.progress import ProgressLine
from hil.trial import TrialSpec

SPEC = TrialSpec("stm32h7b3", "cls1", steps=4, batch=8)


def shown(terminal, draw, **options):
    out = StringIO()
    with ProgressLine(SPEC, Console(file=out, force_terminal=terminal, width=140, **options)) as line:
        draw(line)
    return out.getvalue()


def train(line):
    line.stage("train")
    for step in range(3):
        line.step(StepRow(step, 16, 8, 16, 8, 16, 8, 1, True, True, 0, {}))


def test_step_loss_and_time_left_are_shown():
    text = shown(True, train)
    assert "stm32h7b3 cls1: train" in text
    assert "3/4" in text
    assert "loss 1.500" in text, "the mean of both passes, a sample"
    assert "steps/s" in text and "left" in text


def test_every_phase_is_shown_and_how_far_it_is():
    def draw(line):
        for name in ("flash", "load", "evaluate"):
            line.stage(name)
        line.part(16, 500)
        line.stage("latency")

    text = shown(True, draw)
    for name in ("flash", "load", "evaluate", "latency"):
        assert f"stm32h7b3 cls1: {name}" in text


def test_a_phase_that_is_over_before_the_next_drawing_is_shown_at_its_end():
    def draw(line):
        train(line)
        line.stage("latency")

    text = shown(True, draw).partition("stm32h7b3 cls1: latency")[0]
    assert "3/4" in text and "loss 1.500" in text


def test_an_evaluation_in_the_midst_of_training_keeps_the_count_of_steps():
    def draw(line):
        train(line)
        line.part(16, 500)

    assert "16/500" not in shown(True, draw)


def test_a_log_and_a_quiet_run_get_no_line():
    assert shown(False, train) == "" == shown(True, train, quiet=True)
