"""Steps, parts and runs out of their order, and with other numbers of samples than there are."""

from __future__ import annotations

from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.lockstep import LockStep

MOST_STEPS = 2**16 - 1  # of a run


def check_order(trial: LockStep) -> None:
    """Offer the agent steps that it must refuse, and parts of one that is never ended."""
    device, slots, step = trial.device, trial.p.slots, trial.next_step
    batch, passes = trial.p.settings.batch, trial.p.method.request.passes()
    trial.configure(trial.settings)  # no sample is there
    expect(device, ("out_of_order", step + 1, step), "step", step=step + 1, count=1)
    expect(device, ("bad_slot", 0, slots), "step", step=step, count=0)
    expect(device, ("bad_slot", slots + 1, slots), "infer", count=slots + 1)
    expect(device, ("slots_empty", 0, slots), "step", step=step, count=slots)
    if slots < batch:
        expect(device, ("bad_slot", slots, batch), "run", step=step, steps=1, count=1, idle_ms=0)
    else:
        most = 1 if getattr(trial.settings, "consumed", 0) and slots == 1 else MOST_STEPS
        expect(device, ("bad_slot", 0, most), "run", step=step, steps=0, count=1, idle_ms=0)
    if trial.p.method.request.streams():
        _check_parts(trial, passes)


def _check_parts(trial: LockStep, passes: int) -> None:
    device, step, batch = trial.device, trial.next_step, trial.p.settings.batch
    images, labels, _ = trial.next_batch()

    def part(error: tuple[str, int, int] | None, number: int, first: int) -> None:
        device.samples(images[:1], labels[:1])
        expect(device, error, "part", step=step, first=first, count=1, **{"pass": number})

    part(("bad_slot", passes, passes), passes, 0)
    part(("out_of_order", 1, 0), 0, 1)
    if passes > 1:
        part(("parts_missing", 0, batch), 1, 0)
    part(None, 0, 0)
    if batch == 1:
        part(("bad_slot", 2, 1), 0, 1)
    else:
        part(None, 0, 1)
        part(("out_of_order", 1, 2), 0, 1)
    done = min(batch, 2)
    error = ("parts_missing", done if passes == 1 else 0, batch + 1)
    expect(device, error, "step", step=step, count=batch + 1)
    expect(device, ("parts_missing", done, batch), "infer", count=1)
    if passes > 1:
        part(None, 1, 0)
        part(("out_of_order", 0, 1), 0, 0)
        if passes > 2 and done > 1:
            part(("parts_missing", 1, done), 2, 0)
    trial.configure(trial.settings)
