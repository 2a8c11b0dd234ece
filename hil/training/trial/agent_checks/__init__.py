"""Requests that no training sends: a trial with `requests` ends with them (docs/link.md)."""

from __future__ import annotations

from hil.training.trial.agent_checks.files import check_files
from hil.training.trial.agent_checks.order import check_order
from hil.training.trial.agent_checks.parts import check_parts
from hil.training.trial.agent_checks.samples import check_samples
from hil.training.trial.agent_checks.settings import check_settings
from hil.training.trial.agent_checks.tensors import check_tensors
from hil.training.trial.agent_checks.traces import check_traces
from hil.training.trial.lockstep import LockStep

__all__ = ["check_agent"]


def check_agent(trial: LockStep) -> None:
    """Check traces, tensors and refusals of the agent after a training; the network on it is another one afterwards.

    Raises:
        DeviceFault: an answer is not that of docs/link.md, or not that of the reference.
    """
    check_traces(trial)
    check_tensors(trial)
    check_samples(trial)
    check_order(trial)
    check_settings(trial)
    check_files(trial)
    check_parts(trial)
